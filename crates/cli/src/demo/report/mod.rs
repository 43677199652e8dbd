//! The report: one HTML page that needs nothing else, neither a network nor a script, to be whole.

mod figure;
mod html;
mod page;
mod plots;

use super::summary::{Run, Summary};
use crate::runtime;

/// The report of a run.
pub(crate) fn page(run: &Run, summary: &Summary) -> String {
    page::page(summary, &plots::figures(run, summary), runtime::time_of_day())
}
