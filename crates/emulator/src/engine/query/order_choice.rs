//! Queries with `ORDER BY`: an index is read in that order where it pays, else the few candidates are sorted.
//!
//! Both ways give the same rows in the same order and end pages at the same positions, so each page chooses anew.

use std::ops::Bound;

use super::feeder::View;
use super::page::PageRun;
use super::parts::Parts;
use super::scored;
use super::sort_candidates;
use super::source;
use super::walk::{after_prefix, along_composite, along_path, equal_prefix};
use crate::Failure;
use crate::engine::RegionId;
use crate::index::{Coverage, Filter, Numbers, OrderPart, Span, span_at};

/// How many candidates are always sorted rather than searched for along an index.
///
/// One in tests, so that their small containers see both ways.
const FEW: usize = if cfg!(test) { 1 } else { 1000 };

/// How a page gets its order.
enum Way {
    /// Along the index of one path.
    Path(OrderPart),
    /// Along a composite index.
    Composite(Vec<OrderPart>),
    /// By sorting candidates.
    Sort,
}

/// Fills the page from the one partition that the query concerns.
pub(super) fn run(page: &mut PageRun<'_>, mut parts: Parts, region: RegionId) -> Result<(), Failure> {
    if let Some(resume) = &page.request.resume {
        let start = resume.position(page.ties_descending());
        parts.left.iter_mut().filter(|part| part.position.is_none()).for_each(|part| {
            part.position.clone_from(&start);
        });
    }
    if let Some(score) = &page.compiled.score
        && scored::run(page, &parts, region, score)?
    {
        return Ok(());
    }
    let Some(part) = parts.left.front() else { return Ok(()) };
    let way = page.look(part, region, |page, view| choose(page, view))?;
    match way {
        Way::Sort => sort_candidates::run(page, &parts, region),
        Way::Path(order) => {
            page.each_part(parts, region, |page, view, from| {
                // The policy may have been replaced since the last look.
                match view.state.index().coverage(&order.path.0) {
                    Coverage::Indexed => along_path(page, view, &order, from),
                    Coverage::Excluded | Coverage::Unkept => Err(excluded()),
                }
            })
        }
        Way::Composite(order) => page.each_part(parts, region, |page, view, from| {
            let (composite, backwards) = view.state.index().composite(&order).ok_or_else(no_composite)?;
            along_composite(page, view, composite, backwards, from)
        }),
    }
}

/// Which way is cheapest, or why the order cannot be had.
fn choose(page: &mut PageRun<'_>, view: View<'_>) -> Result<Way, Failure> {
    let index = view.state.index();
    let Some(order) = &page.compiled.order else { return Ok(Way::Sort) };
    let way = match &order[..] {
        [only] => match index.coverage(&only.path.0) {
            Coverage::Excluded => return Err(excluded()),
            Coverage::Unkept => return Ok(Way::Sort),
            Coverage::Indexed => Way::Path(only.clone()),
        },
        _ => index.composite(order).map(|_| Way::Composite(order.clone())).ok_or_else(no_composite)?,
    };
    if pays_to_sort_by(page, view, &way) {
        return Ok(Way::Sort);
    }
    match &way {
        Way::Path(part) if !page.tally.used.paths.contains(&part.path) => {
            page.tally.used.paths.push(part.path.clone());
        }
        Way::Composite(order) => page.tally.composite = Some(order.iter().map(describe).collect()),
        Way::Path(_) | Way::Sort => {}
    }
    Ok(way)
}

/// Whether candidates are so few that looking at all of them is cheaper than going along the index of a path.
pub(super) fn pays_to_sort(page: &mut PageRun<'_>, view: View<'_>, order: &OrderPart) -> bool {
    pays_to_sort_by(page, view, &Way::Path(order.clone()))
}

fn pays_to_sort_by(page: &mut PageRun<'_>, view: View<'_>, way: &Way) -> bool {
    // Sorting looks at every candidate. A walk looks at as many documents as it takes to come upon a page of them, if
    // they are spread evenly: so the two cost the same when candidates² = page × documents.
    let page_rows = page.output.wanted().min(view.state.len());
    let most = page_rows.saturating_mul(view.state.len()).isqrt().max(FEW);
    let found = source::candidates(view, &mut page.tally.used);
    let candidates = found.as_ref().map_or(usize::MAX, Numbers::estimate);
    candidates <= most && candidates < length(way, view, page.compiled.filter.as_ref(), candidates)
}

/// How many documents a walk passes at most because of what the filter demands of its paths; not counted further than
/// to see that they are more than `enough`.
fn length(way: &Way, view: View<'_>, filter: Option<&Filter>, enough: usize) -> usize {
    let index = view.state.index();
    match way {
        Way::Sort => usize::MAX,
        Way::Path(order) => {
            let span = filter.map_or(Span::ALL, |filter| span_at(filter, &order.path));
            if span == Span::ALL {
                return view.state.len();
            }
            index.at(&order.path.0).map_or(0, |terms| terms.count(&span, enough))
        }
        Way::Composite(order) => index.composite(order).map_or(0, |(composite, _)| {
            let prefix = equal_prefix(filter, composite);
            let after = after_prefix(&prefix);
            let high = after.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
            composite.count((Bound::Included(&prefix), high), enough)
        }),
    }
}

fn describe(part: &OrderPart) -> String {
    format!("{} {}", part.path, if part.descending { "DESC" } else { "ASC" })
}

fn excluded() -> Failure {
    Failure::bad_request(errors("The index path corresponding to the specified order-by item is excluded."))
}

fn no_composite() -> Failure {
    Failure::bad_request(errors(
        "The order by query does not have a corresponding composite index that it can be served from.",
    ))
}

/// As the service words what its query engine refuses.
fn errors(message: &str) -> String {
    format!("Message: {{\"Errors\":[\"{message}\"]}}")
}
