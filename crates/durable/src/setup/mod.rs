//! The container before the first orchestration: how it should be, how it is made, and whether one that is there will do.
//!
//! `layout` and `throughput` say how a container should be, `definition` prints that, `findings` judges an account and a
//! container, `index` answers for it what an index policy covers, and `diagnosis` reads what `findings` judges.

mod definition;
mod diagnosis;
mod findings;
mod index;
mod layout;
mod throughput;

pub use definition::ContainerDefinition;
pub use diagnosis::{Diagnosis, diagnose};
pub use findings::{Finding, FindingKind, FindingLevel};
pub use throughput::Throughput;

pub(crate) use findings::{Described, inspect};
pub(crate) use layout::{PARTITION_KEY, properties};
