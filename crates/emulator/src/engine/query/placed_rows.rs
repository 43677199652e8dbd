//! `GROUP BY` and `DISTINCT`: which rows a page has, and where the next page goes on.
//!
//! Rows come by place (see [`Place`]), and a continuation is the place of the last row. Documents that change between two
//! pages move no row, so a row or group that is there all the time is given exactly once, and nothing is given twice.
//! Each page shows what its documents are when it is read: a group that was given before some of them came is not given
//! again. With `ORDER BY`, this holds if rows show what they are sorted by.
//!
//! Where the rows show the value of an indexed path, documents are read in the order of that path and only as far as the
//! page goes. Otherwise each page reads all of them.

use cosmonaut_query::eval::{EvalError, Place, PlacedRow, PlacedRows, PlacedRun, Rows};
use cosmonaut_query::raw::RawJson;

use super::feeder::{Batch, Candidate, Flow, Found};
use super::order_choice;
use super::page::{PageRun, eval_error};
use super::parts::{Part, Parts};
use super::request::PageSize;
use super::resume::Directions;
use super::token::{Key, Token};
use super::walk::{along_path, begin};
use crate::Failure;
use crate::engine::RegionId;
use crate::index::{Coverage, IndexPath, OrderPart, Step, Term, sort_key};
use crate::pace::Next;

/// Fills the page.
pub(super) fn run(page: &mut PageRun<'_>, parts: &Parts, region: RegionId) -> Result<(), Failure> {
    let after = page.token.and_then(|token| token.after.clone());
    let start = |page: &PageRun<'_>| {
        let wanted = (page.output.wanted(), page.output.wanted_bytes());
        page.compiled.program.start_placed(after.clone(), wanted)
    };
    let mut run = start(page);
    let followed = match path_to_follow(page, parts, region)? {
        Some((part, order)) => follow(page, part, region, &order, &mut run)?,
        None => Followed::Lost,
    };
    if let Followed::Lost = followed {
        run = start(page);
        read_all(page, parts, region, &mut run)?;
    }
    page.tally.matched = page.tally.cost.documents;
    let mut found = run.finish().map_err(eval_error)?;
    found.has_more |= matches!(followed, Followed::ToTheNextPage);
    let ended = if let Followed::UntilTime(lead) = followed { Some(lead) } else { None };
    fill(page, found, ended, after)
}

/// Whoever wants more rows than this does not want all of them at once.
const MANY: usize = 1000;

/// A continuation with a longer lead would be no header that a server reads.
const LONGEST_LEAD: usize = 64 << 10;

/// The place after all rows of a lead.
const LAST: [u8; 16] = [u8::MAX; 16];

/// How far documents were read along a path.
enum Followed {
    /// All of them.
    ToTheEnd,
    /// As far as the page goes.
    ToTheNextPage,
    /// As far as there was time: this lead is done.
    UntilTime(Box<[u8]>),
    /// The path is not indexed, or not any more.
    Lost,
}

/// The path along which documents are read, if the page then reads fewer of them.
fn path_to_follow<'p>(
    page: &mut PageRun<'_>,
    parts: &'p Parts,
    region: RegionId,
) -> Result<Option<(&'p Part, OrderPart)>, Failure> {
    let Some(path) = page.compiled.lead.clone() else { return Ok(None) };
    let [part] = parts.left.as_slices().0 else { return Ok(None) };
    let order = OrderPart { path, descending: false };
    let wanted = page.output.wanted().min(MANY);
    let follows = page.look(part, region, |page, view| {
        let index = view.state.index();
        // A page that has everything reads everything.
        let has_more = page.token.is_some()
            || index.at(&order.path.0).is_some_and(|terms| terms.has_more_terms_than(wanted));
        let is_indexed = index.coverage(&order.path.0) == Coverage::Indexed;
        Ok(is_indexed && has_more && !order_choice::pays_to_sort(page, view, &order))
    })?;
    Ok(follows.then_some((part, order)))
}

/// Reads documents in the order of a path until the window is full or time is over.
fn follow(
    page: &mut PageRun<'_>,
    part: &Part,
    region: RegionId,
    order: &OrderPart,
    run: &mut PlacedRun,
) -> Result<Followed, Failure> {
    if !page.tally.used.paths.contains(&order.path) {
        page.tally.used.paths.push(order.path.clone());
    }
    let after = page.token.and_then(|token| token.after.as_ref());
    let first = after.and_then(|after| Term::from_sort_key(&after.lead));
    let is_done = |lead: &[u8]| after.is_some_and(|after| *after.lead == *lead && after.hash == LAST);
    let mut position = first.map(|term| begin(Key::Term(term), page.ties_descending()));
    let mut done: Option<Box<[u8]>> = None;
    let mut text = Vec::new();
    loop {
        // The policy may have been replaced since the last look.
        let mut is_indexed = true;
        let batch = page.next_batch(part, region, position.as_ref(), |page, view, from| {
            is_indexed = view.state.index().coverage(&order.path.0) == Coverage::Indexed;
            if is_indexed { along_path(page, view, order, from) } else { Ok(Batch::default()) }
        })?;
        if !is_indexed {
            return Ok(Followed::Lost);
        }
        for found in batch.found {
            let (documents, is_undefined) = match found {
                Found::One(Candidate { document, key, .. }) => {
                    (vec![document], matches!(key, Key::Values(_)))
                }
                Found::Group(documents, _) => (documents, false),
            };
            for document in documents {
                document.write_text(&mut text);
                let lead = lead_of(&text, &order.path);
                // One with a value comes with its value.
                if (is_undefined && !lead.is_empty()) || is_done(&lead) {
                    continue;
                }
                if run.is_beyond(&lead) {
                    return Ok(Followed::ToTheNextPage);
                }
                let next = page.request.pace.next();
                match (next, &done) {
                    (Next::Stop, _) => return Err(eval_error(EvalError::Interrupted)),
                    (Next::EndPage, Some(last)) if **last != *lead => {
                        return Ok(Followed::UntilTime(last.clone()));
                    }
                    (Next::EndPage | Next::GoOn, _) => {}
                }
                page.tally.load(&document);
                run.push(&text, &lead).map_err(eval_error)?;
                done = Some(lead);
            }
        }
        page.spend(part, region);
        match batch.next {
            Some(at) => position = Some(at),
            None => return Ok(Followed::ToTheEnd),
        }
    }
}

/// Reads all candidates, or as many as it takes if any rows do.
fn read_all(
    page: &mut PageRun<'_>,
    parts: &Parts,
    region: RegionId,
    run: &mut PlacedRun,
) -> Result<(), Failure> {
    let compiled = page.compiled;
    let enough = page.output.last_wanted().filter(|_| compiled.takes_any_rows());
    let directions = compiled.directions();
    let directions = Directions { keys: &directions, ties_descending: page.ties_descending() };
    let resume = page.request.resume.as_ref();
    let mut text = Vec::new();
    for part in &parts.left {
        page.each_candidate(part, region, &mut |tally, document| {
            let (kept, bytes) = run.kept();
            if enough.is_some_and(|enough| kept >= enough) && bytes <= PageSize::MAX_BYTES {
                return Ok(Flow::Done);
            }
            tally.load(document);
            document.write_text(&mut text);
            let lead = if directions.keys.is_empty() {
                compiled.lead.as_ref().map_or_else(Box::default, |path| lead_of(&text, path))
            } else {
                let Some(keys) = compiled.program.order_keys(&text).map_err(eval_error)? else {
                    return Ok(Flow::Next);
                };
                if resume.is_some_and(|resume| resume.leaves_out(&keys, document.number, &directions)) {
                    return Ok(Flow::Next);
                }
                sort_key(keys.iter().zip(directions.keys.iter().copied())).into()
            };
            run.push(&text, &lead).map_err(eval_error)?;
            Ok(Flow::Next)
        })?;
    }
    Ok(())
}

/// Puts the first rows on the page. Which ones is decided by place; a page without `ORDER BY` shows them as they were
/// found.
fn fill(
    page: &mut PageRun<'_>,
    found: PlacedRows,
    ended: Option<Box<[u8]>>,
    after: Option<Place>,
) -> Result<(), Failure> {
    let (mut reached, mut nths, mut fits) = (after, Vec::new(), true);
    for PlacedRow { place, row, nth } in found.rows {
        let before = page.output.rows.len();
        fits = row.is_none_or(|row| page.output.take(&row));
        if !fits {
            break;
        }
        nths.extend((page.output.rows.len() > before).then_some(nth));
        reached = Some(place);
    }
    let program = &page.compiled.program;
    if !program.is_ordered() {
        page.output.rows = sorted_by(&page.output.rows, &nths);
    }
    if page.output.is_done() {
        return Ok(());
    }
    if fits
        && !found.has_more
        && let Some(lead) = &ended
    {
        reached = Some(Place { lead: lead.clone(), hash: LAST });
    }
    // As with documents, a page of distinct rows that is full may be the last one.
    let may_be_last = !program.is_grouped() && page.output.is_full();
    if !fits || found.has_more || ended.is_some() || may_be_last {
        if reached.as_ref().is_some_and(|place| place.lead.len() > LONGEST_LEAD) {
            return Err(Failure::bad_request(
                "the rows of the next page have no place that a continuation token could tell: distinct rows are sorted by \
                 values of more than 64 KiB (sort by something shorter, or ask for larger pages)",
            ));
        }
        let progress = page.output.progress;
        page.continuation = Some(Token { after: reached, progress, ..Token::default() });
    }
    Ok(())
}

fn sorted_by(rows: &Rows, nths: &[u64]) -> Rows {
    let mut order: Vec<(u64, &[u8])> = nths.iter().copied().zip(rows.iter()).collect();
    order.sort_unstable_by_key(|(nth, _)| *nth);
    let mut sorted = Rows::new();
    order.iter().for_each(|(_, row)| sorted.push(row));
    sorted
}

/// What leads the places of a document's rows; nothing for one without a value at the path.
fn lead_of(text: &[u8], path: &IndexPath) -> Box<[u8]> {
    let found = path.0.iter().try_fold(RawJson::new(text), |value, step| match step {
        Step::Member(name) => value.member(name),
        Step::Element => None,
    });
    found.and_then(Term::of_raw).map_or_else(Box::default, |term| term.sort_key())
}
