//! One run of a stored procedure or trigger: its function, and after it what it has asked for, until nothing is left.

use std::rc::Rc;

use rquickjs::{Function, Object};
use serde::Serialize;

use super::error::ScriptError;
use super::host::{SharedHost, install};
use super::sandbox::{Inside, Sandbox};
use super::watch::Watch;

/// The largest body that a script may set, in characters.
const MOST_BODY: usize = 4 << 20;

/// The most that a script may log, in characters. It goes into a header, where a character may take nine.
const MOST_LOG: usize = 4096;

/// What a script is run as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// A stored procedure.
    Procedure,
    /// A trigger before a write.
    Pre,
    /// A trigger after a write.
    Post,
}

/// What a script finds when it begins.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Setting<'a> {
    pub(crate) kind: Kind,
    /// The container's link by resource ids, with a slash at its end.
    pub(crate) self_link: &'a str,
    /// The container's link by names.
    pub(crate) alt_link: &'a str,
    /// Whether what it logs is kept.
    pub(crate) logging: bool,
    /// The body of the request, as JSON text.
    pub(crate) request: Option<&'a str>,
    /// The body of the response, as JSON text.
    pub(crate) response: Option<&'a str>,
    /// `Create`, `Replace`, `Upsert` or `Delete`, in a trigger.
    pub(crate) operation: Option<&'a str>,
    /// How much the container holds, as the service writes it.
    pub(crate) usage: &'a str,
    /// How much it may hold.
    pub(crate) quota: &'a str,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ended {
    /// The request's body as the script has left it.
    pub(crate) request: Option<String>,
    /// The response's body.
    pub(crate) response: Option<String>,
}

/// Runs a script; `arguments` is a JSON array. What it has logged is told even if it fails.
pub(crate) fn run(
    id: &str,
    source: &str,
    arguments: Option<&str>,
    setting: &Setting<'_>,
    host: &SharedHost,
    watch: &Rc<Watch>,
) -> (Result<Ended, ScriptError>, String) {
    let mut logged = String::new();
    let ended = Sandbox::new(Rc::clone(watch)).and_then(|sandbox| {
        sandbox.with(|inside| {
            let entry = inside.prepare(install(inside, host, watch)?, &config(setting))?;
            let ended = run_inside(inside, &entry, id, source, arguments);
            if setting.logging {
                logged = text_of(&entry, "logged").unwrap_or_default();
            }
            ended
        })
    });
    (ended, logged)
}

fn run_inside<'js>(
    inside: &Inside<'js, '_>,
    entry: &Object<'js>,
    id: &str,
    source: &str,
    arguments: Option<&str>,
) -> Result<Ended, ScriptError> {
    let main = inside.compile(id, source)?;
    let start: Function<'js> = inside.own(entry.get("start"))?;
    let step: Function<'js> = inside.own(entry.get("step"))?;
    inside.outcome::<rquickjs::Value<'js>>(entry, id, start.call((main, arguments)))?;
    loop {
        while inside.ctx.execute_pending_job() {
            inside.check()?;
        }
        let went_on: bool = inside.outcome(entry, id, step.call(()))?;
        if !went_on {
            break;
        }
    }
    inside.check()?;
    // Writing a body may run more of the script.
    let body = |name: &str| {
        let read: Function<'js> = inside.own(entry.get(name))?;
        inside.outcome::<Option<String>>(entry, id, read.call(()))
    };
    Ok(Ended { request: body("request")?, response: body("response")?.map(well_formed) })
}

/// JSON text as every client reads it. Texts of JavaScript may have half of a surrogate pair, for which a mark stands here.
fn well_formed(json: String) -> String {
    if !json.contains("\\u") {
        return json;
    }
    let mut written = String::with_capacity(json.len());
    let mut rest = json.as_str();
    while let Some((before, escape)) = rest.find('\\').map(|at| rest.split_at(at)) {
        written.push_str(before);
        let (kept, behind) = match (surrogate(escape), escape.get(6..).and_then(surrogate)) {
            (None, _) => escape.split_at_checked(2).unwrap_or((escape, "")),
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => escape.split_at(12),
            (Some(_), _) => ("\u{fffd}", &escape[6..]),
        };
        written.push_str(kept);
        rest = behind;
    }
    written + rest
}

/// The half of a pair that the escape at the beginning of a text stands for.
fn surrogate(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok().filter(|unit| (0xd800..=0xdfff).contains(unit))
}

fn text_of<'js>(entry: &Object<'js>, name: &str) -> Option<String> {
    let read: Function<'js> = entry.get(name).ok()?;
    read.call::<_, Option<String>>(()).ok().flatten()
}

fn config(setting: &Setting<'_>) -> String {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Config<'a> {
        #[serde(flatten)]
        setting: &'a Setting<'a>,
        most_body: usize,
        most_log: usize,
    }
    let config = Config { setting, most_body: MOST_BODY, most_log: MOST_LOG };
    serde_json::to_string(&config).unwrap_or_default()
}
