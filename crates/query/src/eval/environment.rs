//! What a query may know of the world besides its documents, and how much it may use of it.
//!
//! Plain data: the caller reads the clock and owns the randomness.

use crate::Setting;
use crate::ast::Query;

/// What compiling a query needs besides the query and its parameters.
#[derive(Clone, Copy)]
pub struct Environment<'e> {
    /// The time of the query, in ticks of 100 ns since 1970-01-01T00:00:00Z.
    pub now_ticks: i64,
    /// A random number of `[0, 1)`; asked once per compilation, to seed the query's `RAND`.
    pub random: &'e dyn Fn() -> f64,
    /// What a run may use.
    pub limits: Limits,
    /// The container's computed properties.
    pub computed: &'e [ComputedProperty],
    /// What the container says of the values in its documents.
    pub setting: &'e Setting,
}

/// A computed property: a name on the document's root, and the query that gives its value.
#[derive(Clone, Debug)]
pub struct ComputedProperty {
    /// The name it is referred to by.
    pub name: String,
    /// `SELECT VALUE … FROM …` over the document.
    pub query: Query,
}

/// Bounds on what one run may use. Each is answered by an error that names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many rows may be made from one document, those of joins and subqueries included.
    pub steps_per_document: u64,
    /// How large any one value that an expression builds may become.
    pub value_bytes: usize,
    /// How much a run may hold for sorting, grouping and `DISTINCT`.
    pub held_bytes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { steps_per_document: 1_000_000, value_bytes: 4 << 20, held_bytes: 1 << 30 }
    }
}
