//! Counts of texts that an index has: documents, words, and documents with a term.
//!
//! Clients ask for them before they rank documents, so this is answered without reading all texts. A query that counts
//! anything else is not answered here.

use cosmonaut_query::ast::{Collection, Expr, ExprKind, Literal, Query, SelectItem, SelectSpec};
use cosmonaut_query::eval::{Environment, EvalError, Limits, Program, Rows};
use cosmonaut_query::{Parameters, Setting, access};

use super::compiled::Compiled;
use super::feeder::CHUNK;
use super::index_filter;
use super::page::{PageRun, eval_error};
use super::parts::Parts;
use super::searches::Slices;
use crate::engine::{Document, RegionId, ReplicaState};
use crate::index::{Filter, Hits, IndexPath, Phrase};
use crate::pace::Next;
use crate::{Failure, Timestamp};

/// What is counted.
enum Counted {
    Documents,
    Words(IndexPath),
    Hits(IndexPath, cosmonaut_query::value::Value),
}

/// The one row of the query; none if it counts anything that the index does not know.
pub(super) fn compute(
    page: &mut PageRun<'_>,
    parts: &Parts,
    region: RegionId,
) -> Result<Option<Rows>, Failure> {
    let compiled = page.compiled;
    let ([part], Some(wanted)) = (parts.left.as_slices().0, wanted(compiled)) else { return Ok(None) };
    if part.keys != part.range.range || parts.left.len() > 1 {
        return Ok(None);
    }
    let can_count = page.look(part, region, |_, view| Ok(view.key.is_none()))?;
    let slices = page.slices(part, region);
    if !can_count || !counts_all(slices, page.now)? {
        return Ok(None);
    }
    let mut numbers = Vec::new();
    for wanted in &wanted {
        let Some(count) = count(page, slices, wanted)? else { return Ok(None) };
        numbers.push(count);
    }
    page.spend(part, region);
    row(&compiled.query, &numbers).map(Some)
}

/// What a query counts, in the order of its text.
fn wanted(compiled: &Compiled) -> Option<Vec<Counted>> {
    let Query {
        select, from: Some(from), filter: None, group_by, order_by: None, offset_limit: None, ..
    } = &compiled.query
    else {
        return None;
    };
    let whole = matches!(&from.source.collection, Collection::Path { segments, .. } if segments.is_empty());
    let plain = from.joins.is_empty() && !from.source.iterate && group_by.is_empty();
    let SelectSpec::List(items) = &select.spec else { return None };
    if !whole || !plain || select.distinct || select.top.is_some() {
        return None;
    }
    let mut counted = Vec::new();
    let known = items.iter().all(|item| gather(&item.expr, compiled, &mut counted).is_some());
    let texts = counted.iter().any(|counted| !matches!(counted, Counted::Documents));
    (known && texts).then_some(counted)
}

/// Adds what an expression counts; none if it is made of anything else.
fn gather(expr: &Expr, compiled: &Compiled, counted: &mut Vec<Counted>) -> Option<()> {
    match &expr.kind {
        ExprKind::Array(elements) => {
            elements.iter().try_for_each(|element| gather(element, compiled, counted))
        }
        ExprKind::Object(members) => {
            members.iter().try_for_each(|(_, member)| gather(member, compiled, counted))
        }
        ExprKind::Call(name, arguments) => {
            let [argument] = &arguments[..] else { return None };
            counted.push(match name.to_ascii_uppercase().as_str() {
                "COUNT" if matches!(argument.kind, ExprKind::Literal(Literal::Number(_))) => {
                    Counted::Documents
                }
                "SUM" => Counted::Words(words_of(argument, compiled)?),
                "COUNTIF" => hits_of(argument, compiled)?,
                _ => return None,
            });
            Some(())
        }
        _ => None,
    }
}

fn words_of(argument: &Expr, compiled: &Compiled) -> Option<IndexPath> {
    let ExprKind::Call(name, arguments) = &argument.kind else { return None };
    if !name.eq_ignore_ascii_case("_FullTextWordCount") {
        return None;
    }
    let defined = ExprKind::Call("IS_DEFINED".to_owned(), arguments.clone());
    match condition(Expr { kind: defined, span: argument.span }, compiled)? {
        Filter::Span(path, _) => Some(path),
        _ => None,
    }
}

fn hits_of(argument: &Expr, compiled: &Compiled) -> Option<Counted> {
    match condition(argument.clone(), compiled)? {
        Filter::Text(mut text) if text.terms.len() == 1 => Some(Counted::Hits(text.path, text.terms.pop()?)),
        _ => None,
    }
}

/// What an index could be asked for a condition of the query.
fn condition(expr: Expr, compiled: &Compiled) -> Option<Filter> {
    let query = Query { filter: Some(expr), ..compiled.query.clone() };
    let names: Vec<&str> = compiled.computed.iter().map(String::as_str).collect();
    let filter = access::access(&query, &compiled.parameters).filter?;
    index_filter::from_access(&filter, &names, &compiled.setting)
}

/// Whether every document counts: those that are not indexed, or whose time has ended, would be counted differently.
fn counts_all(slices: Slices<'_>, now: Timestamp) -> Result<bool, Failure> {
    let mut after = None;
    loop {
        let (all, last) = slices.look(|state| {
            let documents: Box<dyn Iterator<Item = &Document>> = match after {
                Some(number) => Box::new(state.documents_after(number)),
                None => Box::new(state.documents()),
            };
            let (mut all, mut last) = (true, None);
            for document in documents.take(CHUNK) {
                all &= document.indexed && state.is_live(document, now);
                last = Some(document.number);
            }
            (all, last)
        })?;
        if !all || last.is_none() {
            return Ok(all);
        }
        after = last;
    }
}

/// A count; none if the index cannot tell.
fn count(page: &mut PageRun<'_>, slices: Slices<'_>, counted: &Counted) -> Result<Option<usize>, Failure> {
    let language = |path: &IndexPath| index_filter::language_at(path, &page.compiled.setting);
    match counted {
        Counted::Documents => slices.look(|state| Some(state.len())),
        Counted::Words(path) => {
            let language = language(path);
            note(page, path);
            let words = slices.look(|state| Some(state.index().texts(path, language)?.total_words()))?;
            Ok(words.map(|words| usize::try_from(words).unwrap_or(usize::MAX)))
        }
        Counted::Hits(path, term) => {
            let language = language(path);
            note(page, path);
            match slices.hits(path, language, term)? {
                None => Ok(None),
                Some(Hits::Exactly(count)) => Ok(Some(count)),
                Some(Hits::Among(numbers, phrase)) => count_phrase(page, slices, &numbers, &phrase).map(Some),
            }
        }
    }
}

/// How many of some documents have a phrase.
fn count_phrase(
    page: &mut PageRun<'_>,
    slices: Slices<'_>,
    numbers: &[u64],
    phrase: &Phrase,
) -> Result<usize, Failure> {
    let go_on = || match page.request.pace.next() {
        Next::Stop => Err(eval_error(EvalError::Interrupted)),
        Next::GoOn | Next::EndPage => Ok(()),
    };
    let (mut count, mut text) = (0, Vec::new());
    for numbers in numbers.chunks(CHUNK) {
        let shared = |state: &ReplicaState| {
            numbers.iter().filter_map(|number| state.share(*number).cloned()).collect::<Vec<_>>()
        };
        for document in slices.look(shared)? {
            page.tally.load(&document);
            document.write_text(&mut text);
            count += usize::from(phrase.is_in(&text, go_on)?);
        }
    }
    Ok(count)
}

fn note(page: &mut PageRun<'_>, path: &IndexPath) {
    page.tally.used.lookups += 1;
    if !page.tally.used.paths.contains(path) {
        page.tally.used.paths.push(path.clone());
    }
}

/// The query's row with numbers in the places of its counts.
fn row(query: &Query, numbers: &[usize]) -> Result<Rows, Failure> {
    let SelectSpec::List(items) = &query.select.spec else { return Ok(Rows::new()) };
    let mut numbers = numbers.iter().copied();
    let items = items
        .iter()
        .map(|item| SelectItem { expr: filled(&item.expr, &mut numbers), alias: item.alias.clone() });
    let mut counted = query.clone();
    (counted.from, counted.select.spec) = (None, SelectSpec::List(items.collect()));
    let (random, setting) = (|| 0.0, Setting::default());
    let environment = Environment {
        now_ticks: 0,
        random: &random,
        limits: Limits::default(),
        computed: &[],
        setting: &setting,
    };
    let program = Program::compile(&counted, &Parameters::new(), &environment)
        .map_err(|error| Failure::bad_request(error.to_string()))?;
    let mut rows = Rows::new();
    program.start().finish(&mut rows).map_err(eval_error)?;
    Ok(rows)
}

fn filled(expr: &Expr, numbers: &mut impl Iterator<Item = usize>) -> Expr {
    let kind = match &expr.kind {
        ExprKind::Array(elements) => {
            ExprKind::Array(elements.iter().map(|element| filled(element, numbers)).collect())
        }
        ExprKind::Object(members) => ExprKind::Object(
            members.iter().map(|(name, member)| (name.clone(), filled(member, numbers))).collect(),
        ),
        _ => ExprKind::Literal(Literal::Number(numbers.next().unwrap_or_default() as f64)),
    };
    Expr { kind, span: expr.span }
}
