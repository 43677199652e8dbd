//! What searches are made of: how near vectors are, what words a text has, and how well it fits the words looked for.
//!
//! Values in, numbers out: where vectors and texts come from, and how an index finds them, is not known here.

mod bm25;
mod calls;
mod edits;
mod language;
mod stemmer;
mod stop_words;
mod term;
mod vector;
mod words;

pub use bm25::{Corpus, TermCount, bm25};
pub(crate) use calls::{ScoreCall, is_score, is_similarity, metric_of, named_metric, names_metric};
pub use language::Language;
pub use term::Term;
pub use vector::{Metric, read_vector};
pub use words::Words;
