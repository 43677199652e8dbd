//! Queries whose rows are given as their documents are read: no order, no groups, nothing distinct.

use super::page::PageRun;
use super::parts::Parts;
use super::source;
use crate::Failure;
use crate::engine::RegionId;

/// Fills the page from the parts, one after the other.
pub(super) fn run(page: &mut PageRun<'_>, parts: Parts, region: RegionId) -> Result<(), Failure> {
    page.each_part(parts, region, |page, view, from| {
        source::read(view, page.compiled, from, &mut page.tally.used, page.room)
    })
}
