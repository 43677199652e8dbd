//! A compiled query as the engine uses it: whole, or part by part when an index drives the scan.
//!
//! Running a query from its first document to its last is [`Execution`]'s business.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::block::{Block, ENOUGH, MORE};
use super::collect::{self, Collector, KeyedRow, Progress};
use super::environment::{Environment, Limits};
use super::error::{CompileError, EvalError};
use super::execution::Execution;
use super::interrupt::Interrupt;
use super::placed::{Place, PlacedRun};
use super::rows::Rows;
use super::scope::{Document, Run, Scope};
use super::user_functions::{Functions, UserFunctions};
use super::{compile, val::Val};
use crate::Parameters;
use crate::ast::Query;
use crate::raw::{PathScan, RawJson};
use crate::value::Value;

/// A query ready to run; cheap to clone, and free to run on many threads at once.
///
/// ```
/// use cosmonaut_query::eval::{Environment, Limits, Program, Rows};
/// use cosmonaut_query::{Parameters, Setting, parse};
///
/// let query = parse("SELECT c.name FROM c WHERE c.age > @age ORDER BY c.age")?;
/// let parameters: Parameters = [("@age", 30.0)].into_iter().collect();
/// let environment = Environment {
///     now_ticks: 0,
///     random: &|| 0.5,
///     limits: Limits::default(),
///     computed: &[],
///     setting: &Setting::default(),
/// };
/// let program = Program::compile(&query, &parameters, &environment)?;
///
/// let mut rows = Rows::new();
/// let mut execution = program.start();
/// execution.push(br#"{"name":"Ada","age":36}"#, 1, &mut rows)?;
/// execution.push(br#"{"name":"Bob","age":25}"#, 2, &mut rows)?;
/// execution.push(br#"{"name":"Cy","age":31}"#, 3, &mut rows)?;
/// execution.finish(&mut rows)?;
/// assert_eq!(rows.iter().collect::<Vec<_>>(), [br#"{"name":"Cy"}"#.as_slice(), br#"{"name":"Ada"}"#]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Program {
    inner: Arc<Inner>,
    interrupt: Interrupt,
    functions: Functions,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) block: Block,
    pub(super) paths: PathScan,
    pub(super) limits: Limits,
    pub(super) reads_documents: bool,
    pub(super) random: AtomicU64,
    pub(super) user_functions: Vec<String>,
}

impl Program {
    /// Compiles a query with the values of its parameters.
    pub fn compile(
        query: &Query,
        parameters: &Parameters,
        environment: &Environment<'_>,
    ) -> Result<Program, CompileError> {
        let inner = compile::compile(query, parameters, environment)?;
        Ok(Program { inner: Arc::new(inner), interrupt: Interrupt::never(), functions: Functions::default() })
    }

    /// The same program, whose runs are stopped by [`EvalError::Interrupted`] when `interrupt` says so.
    pub fn interrupted_by(&self, interrupt: Interrupt) -> Program {
        Program { interrupt, ..self.clone() }
    }

    /// The same program with somebody who runs its user-defined functions.
    pub fn with_functions(&self, functions: Arc<dyn UserFunctions>) -> Program {
        Program { functions: Functions(Some(functions)), ..self.clone() }
    }

    /// The names of the user-defined functions that it calls, each once.
    pub fn user_functions(&self) -> &[String] {
        &self.inner.user_functions
    }

    /// Starts a run over a sequence of documents.
    pub fn start(&self) -> Execution {
        Execution::new(self.clone(), Collector::default())
    }

    /// Starts a run over documents that come in the order of the query's `ORDER BY`, so that nothing has to be held.
    pub fn start_presorted(&self) -> Execution {
        Execution::new(self.clone(), Collector::presorted(Progress::default()))
    }

    /// Continues a run of a query for which [`Program::is_streaming`] is true, or of one whose documents come presorted.
    pub fn resume(&self, progress: Progress) -> Execution {
        Execution::new(self.clone(), Collector::presorted(progress))
    }

    /// Starts a run of a query with `GROUP BY` or `DISTINCT` that keeps rows after a place: a number of them, or fewer if
    /// these have more than a number of bytes. `OFFSET`, `LIMIT` and `TOP` are left to the caller.
    pub fn start_placed(&self, after: Option<Place>, wanted: (usize, usize)) -> PlacedRun {
        PlacedRun::new(self.clone(), after, wanted)
    }

    /// Whether the document yields at least one row before grouping and cutting; for a query without `JOIN`, whether it
    /// satisfies the condition.
    pub fn matches(&self, document: &[u8]) -> Result<bool, EvalError> {
        self.with_scope(document, |scope| Ok(self.inner.block.each_row(scope, &mut |_| ENOUGH)?.is_break()))
    }

    /// Appends the rows of one document, as if it were the only one, without `ORDER BY`, `DISTINCT`, `OFFSET`, `LIMIT` and
    /// `TOP`.
    pub fn project(&self, document: &[u8], out: &mut Rows) -> Result<(), EvalError> {
        let block = &self.inner.block;
        self.with_scope(document, |scope| {
            if block.grouping.is_some() {
                collect::subquery_rows(block, scope)?.iter().for_each(|row| out.push(row));
                return Ok(());
            }
            let _ = block.each_row(scope, &mut |bound| {
                let before = out.byte_len();
                out.push_with(|row| block.projection.write(&bound, row))?;
                bound.run.row(out.byte_len() - before)?;
                MORE
            })?;
            Ok(())
        })
    }

    /// Appends the rows of one document with their `ORDER BY` keys, unsorted. They may take a part of what a run may hold.
    pub fn keyed_rows(&self, document: &[u8], out: &mut Vec<KeyedRow>) -> Result<(), EvalError> {
        /// The caller may hold the rows of other documents.
        const PART: usize = 4;
        let block = &self.inner.block;
        self.with_scope(document, |scope| {
            let (limit, mut held) = (scope.run.limits.held_bytes / PART, 0);
            let _ = block.each_row(scope, &mut |bound| {
                let keyed = collect::keyed_row(block, &bound)?;
                bound.run.row(keyed.as_ref().map_or(0, |keyed| keyed.row.len()))?;
                let bytes = keyed.as_ref().map_or(0, KeyedRow::held_bytes);
                bound.run.work(bytes)?;
                held += bytes;
                if held > limit {
                    return Err(EvalError::TooMuchHeld { limit });
                }
                out.extend(keyed);
                MORE
            })?;
            Ok(())
        })
    }

    /// The `ORDER BY` keys of the document's first row; none if it has no row.
    pub fn order_keys(&self, document: &[u8]) -> Result<Option<Vec<Value>>, EvalError> {
        let mut keys = None;
        let block = &self.inner.block;
        self.with_scope(document, |scope| {
            let _ = block.each_row(scope, &mut |bound| {
                keys = Some(
                    block
                        .order
                        .iter()
                        .map(|o| Ok(o.key.eval(&bound)?.to_value()))
                        .collect::<Result<_, _>>()?,
                );
                ENOUGH
            })?;
            Ok(())
        })?;
        Ok(keys)
    }

    /// The value of a `SELECT VALUE` over one document, as a computed property has it; undefined if there is no row.
    pub fn value_of(&self, document: &[u8]) -> Result<Value, EvalError> {
        let mut rows = Rows::new();
        self.project(document, &mut rows)?;
        match rows.len() {
            0 => Ok(Value::Undefined),
            1 => Ok(rows.get(0).map_or(Value::Undefined, |row| Val::from_raw(RawJson::new(row)).to_value())),
            _ => Err(EvalError::SubqueryRows),
        }
    }

    /// Whether each document's rows can be emitted as it is read, and a run can be resumed from its [`Progress`].
    pub fn is_streaming(&self) -> bool {
        !(self.is_grouped() || self.is_ordered() || self.is_distinct())
    }

    /// Whether rows are grouped: by `GROUP BY`, or as one group by aggregates.
    pub fn is_grouped(&self) -> bool {
        self.inner.block.grouping.is_some()
    }

    /// Whether all rows make one group, and so one row.
    pub fn is_one_group(&self) -> bool {
        self.inner.block.grouping.as_ref().is_some_and(|grouping| grouping.keys.is_empty())
    }

    /// Whether the query computes aggregates over its rows.
    pub fn has_aggregates(&self) -> bool {
        self.inner.block.grouping.as_ref().is_some_and(|grouping| !grouping.aggregates.is_empty())
    }

    /// Whether the query has an `ORDER BY`.
    pub fn is_ordered(&self) -> bool {
        !self.inner.block.order.is_empty()
    }

    /// Whether the query has `DISTINCT`.
    pub fn is_distinct(&self) -> bool {
        self.inner.block.distinct
    }

    /// Whether the query has a `FROM`. One without yields its row from [`Execution::finish`] alone.
    pub fn reads_documents(&self) -> bool {
        self.inner.reads_documents
    }

    /// Rows to pass over, from `OFFSET`.
    pub fn offset(&self) -> u64 {
        self.inner.block.offset
    }

    /// The most rows to emit, from `LIMIT` or `TOP`.
    pub fn limit(&self) -> Option<u64> {
        self.inner.block.limit
    }

    pub(super) fn block(&self) -> &Block {
        &self.inner.block
    }

    /// Calls `body` with a fresh step budget and a scope that holds the document alone.
    pub(super) fn with_scope<T>(
        &self,
        document: &[u8],
        body: impl FnOnce(Scope<'_>) -> Result<T, EvalError>,
    ) -> Result<T, EvalError> {
        let text = RawJson::new(document);
        let document = Document { text, slots: self.inner.paths.extract(text) };
        let run = Run {
            limits: self.inner.limits,
            random: &self.inner.random,
            steps: Cell::new(0),
            unseen: Cell::new(0),
            interrupt: &self.interrupt,
            functions: &self.functions,
            words: Default::default(),
        };
        body(Scope { run: &run, document: &document, vars: None, group: None })
    }
}
