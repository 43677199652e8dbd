//! The engine that runs scripts: one for each run, with limits on memory, stack and time, and nothing of the host in it.

use std::rc::Rc;

use rquickjs::context::{EvalOptions, intrinsic};
use rquickjs::{CatchResultExt, Context, Ctx, Function, Object, Runtime, Value};
use serde::Deserialize;

use super::big_integers::has_big_integer;
use super::error::ScriptError;
use super::watch::Watch;

/// The most memory that a script may use.
const MEMORY: usize = 64 << 20;

/// The deepest stack. Threads that run scripts have twice as much at least.
const STACK: usize = 768 << 10;

/// What is made unreachable before a script begins.
const GUARD: &str = include_str!("guard.js");
const API: &str = include_str!("api.js");

/// The names under which frames of these files are in traces.
pub(super) const OWN_FILES: [&str; 2] = ["cosmonaut-guard.js", "cosmonaut-api.js"];

/// What the language has of its own, without what waits, what tells the time finely, and what sees the collector.
type Language = (
    intrinsic::Date,
    intrinsic::Eval,
    intrinsic::RegExpCompiler,
    intrinsic::RegExp,
    intrinsic::Json,
    intrinsic::Proxy,
    intrinsic::MapSet,
    intrinsic::TypedArrays,
    intrinsic::Promise,
);

/// An engine with nothing in it.
pub(crate) struct Sandbox {
    // The context goes before its runtime.
    context: Context,
    runtime: Runtime,
    watch: Rc<Watch>,
}

/// What a script threw, as the script's side tells it.
#[derive(Deserialize)]
pub(super) struct Thrown {
    pub(super) title: String,
    pub(super) number: Option<f64>,
    #[serde(default)]
    pub(super) stack: String,
}

impl Sandbox {
    pub(crate) fn new(watch: Rc<Watch>) -> Result<Self, ScriptError> {
        let runtime = Runtime::new().map_err(|_| ScriptError::Memory)?;
        runtime.set_memory_limit(MEMORY);
        runtime.set_max_stack_size(STACK);
        let looking = Rc::clone(&watch);
        runtime.set_interrupt_handler(Some(Box::new(move || looking.must_stop())));
        Self::in_runtime(runtime, watch)
    }

    /// Another one that has its own of all there is, but for the memory and the watch: those they share.
    pub(super) fn beside(&self) -> Result<Self, ScriptError> {
        Self::in_runtime(self.runtime.clone(), Rc::clone(&self.watch))
    }

    fn in_runtime(runtime: Runtime, watch: Rc<Watch>) -> Result<Self, ScriptError> {
        let context = Context::custom::<Language>(&runtime).map_err(|_| ScriptError::Memory)?;
        Ok(Self { context, runtime, watch })
    }

    /// Works inside the engine.
    pub(super) fn with<T>(
        &self,
        work: impl for<'js> FnOnce(&Inside<'js, '_>) -> Result<T, ScriptError>,
    ) -> Result<T, ScriptError> {
        self.context.with(|ctx| work(&Inside { ctx, watch: &self.watch }))
    }
}

/// The engine while something is done in it.
pub(super) struct Inside<'js, 's> {
    pub(super) ctx: Ctx<'js>,
    watch: &'s Rc<Watch>,
}

impl<'js> Inside<'js, '_> {
    /// What a script finds: the functions that the host calls. `host` has those that it calls itself.
    pub(super) fn prepare(&self, host: Object<'js>, config: &str) -> Result<Object<'js>, ScriptError> {
        let [guard, api] = OWN_FILES;
        let guarded: Function<'js> = self.own(self.eval(GUARD, guard))?;
        let watch = Rc::clone(self.watch);
        let look =
            self.own(Function::new(self.ctx.clone(), move |ctx: Ctx<'js>| match watch.must_stop_here() {
                true => Err(rquickjs::Exception::throw_message(&ctx, "the script was stopped")),
                false => Ok(()),
            }))?;
        let is_proxy = self.own(Function::new(self.ctx.clone(), |value: Value<'js>| value.is_proxy()))?;
        let () = self.own(guarded.call((look, is_proxy)))?;
        let made: Function<'js> = self.own(self.eval(API, api))?;
        self.own(made.call((host, config)))
    }

    /// The function of a script's source, which takes the list of arguments.
    pub(super) fn compile(&self, id: &str, source: &str) -> Result<Function<'js>, ScriptError> {
        if has_big_integer(source) {
            return Err(ScriptError::Syntax(NO_BIG_INTEGERS.to_owned()));
        }
        if has_long_pattern(source) {
            return Err(ScriptError::Syntax(NO_LONG_PATTERNS.to_owned()));
        }
        let text = format!("{OPENING}{source}\n;\nreturn fn.apply(undefined, arguments[0]);\n}})");
        let file = file_of(id);
        match self.eval(&text, &file).catch(&self.ctx) {
            Ok(main) => Ok(main),
            Err(error) => {
                self.check()?;
                Err(ScriptError::syntax(error, &text, &file))
            }
        }
    }

    fn eval(&self, source: &str, file: &str) -> rquickjs::Result<Function<'js>> {
        let mut options = EvalOptions::default();
        options.strict = false;
        options.filename = Some(file.to_owned());
        self.ctx.eval_with_options(source, options)
    }

    /// What a call of a script came to: its value, or what it threw.
    pub(super) fn outcome<T>(
        &self,
        entry: &Object<'js>,
        id: &str,
        result: rquickjs::Result<T>,
    ) -> Result<T, ScriptError> {
        let result = result.map_err(|error| match error {
            rquickjs::Error::Exception => Some(self.ctx.catch()),
            _ => None,
        });
        self.check()?;
        result.map_err(|thrown| match thrown {
            Some(value) => self.described(entry, id, value),
            None => ScriptError::Memory,
        })
    }

    fn described(&self, entry: &Object<'js>, id: &str, thrown: Value<'js>) -> ScriptError {
        let told = entry.get::<_, Function<'js>>("describe").and_then(|describe| describe.call((thrown,)));
        let Ok(told) = told else {
            let _ = self.ctx.catch();
            return self.check().err().unwrap_or(ScriptError::Memory);
        };
        ScriptError::told(told, &file_of(id))
    }

    /// What only fails if there is too little memory or time.
    pub(super) fn own<T>(&self, result: rquickjs::Result<T>) -> Result<T, ScriptError> {
        result.or_else(|_| {
            let _ = self.ctx.catch();
            self.check()?;
            Err(ScriptError::Memory)
        })
    }

    /// Fails if the script was stopped.
    pub(super) fn check(&self) -> Result<(), ScriptError> {
        match self.watch.stopped() {
            Some(why) => Err(ScriptError::Stopped(why)),
            None => Ok(()),
        }
    }
}

/// What stands before a script's source: it is the value of a variable.
const OPENING: &str = "(function __docDbMain() { var fn = ";

/// The name of a script's file in traces.
fn file_of(id: &str) -> String {
    format!("{}.js", id.replace('\0', ""))
}

const NO_BIG_INTEGERS: &str = "Exception = SyntaxError: Integers of any length, such as 1n, are not available; nor is text \
                               that looks like one behind a slash that may divide or begin a regular expression";

const NO_LONG_PATTERNS: &str = "Exception = SyntaxError: The source has too many bars, classes such as \\p{L}, or lines of \
                                characters other than those of ASCII for its regular expressions: divide them into \
                                several lines or scripts";

/// So many alternatives or ranges of a regular expression are compiled in no time: it takes their number squared.
const MOST_PARTS: usize = 16_384;

/// So many classes of characters by their properties are compiled in no time.
const MOST_CLASSES: usize = 2_048;

/// Whether a source may have regular expressions that take long to compile, which nothing stops. Each stands in one line,
/// and whoever writes programs has less in one.
fn has_long_pattern(source: &str) -> bool {
    if source.len() <= MOST_CLASSES || !source.contains('/') {
        return false;
    }
    let classes = source.matches("\\p").count() + source.matches("\\P").count();
    let lines = source.split(['\n', '\r', '\u{2028}', '\u{2029}']).filter(|line| line.contains('/'));
    let work = |line: &str| {
        let bars = line.bytes().filter(|byte| *byte == b'|').count();
        let wide = if line.contains('[') { line.chars().filter(|c| !c.is_ascii()).count() } else { 0 };
        bars.saturating_mul(bars).saturating_add(wide.saturating_mul(wide))
    };
    classes > MOST_CLASSES || lines.map(work).fold(0, usize::saturating_add) > MOST_PARTS * MOST_PARTS
}
