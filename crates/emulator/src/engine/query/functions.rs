//! The user-defined functions of a container, as queries need them.

use std::fmt;
use std::sync::Arc;

use cosmonaut_query::eval::{Program, UserFunctions};

use crate::Failure;

/// The functions that users have defined in a container.
pub trait QueryFunctions: UserFunctions {
    /// Whether there is one of this name.
    fn has(&self, name: &str) -> bool;

    /// Why a call has failed, if one has.
    fn failure(&self) -> Option<Failure>;
}

/// Those that a query may call.
#[derive(Clone, Default)]
pub struct Callable(pub Option<Arc<dyn QueryFunctions>>);

impl Callable {
    /// The program with its functions; 400 if one of them is not there.
    pub(super) fn in_program(&self, program: Program) -> Result<Program, Failure> {
        let Some(first) = program.user_functions().first() else { return Ok(program) };
        let Some(functions) = &self.0 else {
            return Err(Failure::not_implemented(format!("running the user-defined function udf.{first}")));
        };
        match program.user_functions().iter().find(|name| !functions.has(name)) {
            Some(name) => Err(Failure::bad_request(format!(
                "Message: {}",
                serde_json::json!({ "Errors": [format!("The user defined function '{name}' does not exist.")] })
            ))),
            None => Ok(program.with_functions(Arc::<dyn QueryFunctions>::clone(functions))),
        }
    }

    /// What to answer where a query failed: why a function did, if one did.
    pub(super) fn told(&self, failure: Failure) -> Failure {
        self.0.as_ref().and_then(|functions| functions.failure()).unwrap_or(failure)
    }
}

impl fmt::Debug for Callable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Callable" } else { "Callable::none" })
    }
}
