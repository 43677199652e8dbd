//! Scripts of a container: stored procedures, triggers and user-defined functions, and running the first of them.

use cosmonaut::options::ExecuteOptions;
use cosmonaut::{Etag, RawItem, Response, StoredProcedure, SystemMembers, Trigger, UserDefinedFunction};
use http::Method;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::Ask;
use super::item_text::{key_of_json, text_of};
use crate::answer::Refusal;
use crate::door;

/// A script as the page writes it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Script {
    id: String,
    body: String,
    /// When a trigger runs: `Pre` or `Post`.
    trigger_type: Option<String>,
    /// For what it runs: `All`, `Create`, `Replace`, …
    trigger_operation: Option<String>,
    etag: Option<String>,
}

impl Script {
    fn stored_procedure(self) -> StoredProcedure {
        StoredProcedure::new(self.id, self.body)
    }

    fn function(self) -> UserDefinedFunction {
        UserDefinedFunction::new(self.id, self.body)
    }

    fn trigger(self) -> Trigger {
        let when = self.trigger_type.unwrap_or_else(|| "Pre".to_owned());
        let operation = self.trigger_operation.unwrap_or_else(|| "All".to_owned());
        Trigger::new(self.id, when.into(), operation.into(), self.body)
    }
}

/// How a stored procedure is run.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    pk: String,
    /// A JSON array.
    arguments: String,
}

/// One call for each kind of script, which the address names.
macro_rules! of_kind {
    ($ask:expr, $kind:expr => $procedure:expr, $trigger:expr, $function:expr) => {
        match $kind {
            "procedures" => $procedure,
            "triggers" => $trigger,
            "functions" => $function,
            _ => return Err($ask.nothing_there()),
        }
    };
}

impl Ask<'_> {
    pub(super) async fn scripts(
        &self,
        database: &str,
        container: &str,
        rest: &[&str],
    ) -> Result<Value, Refusal> {
        let scripts = self.container_client(database, container).scripts();
        match (self.method, rest) {
            (&Method::GET, []) => {
                let procedures = scripts.list_stored_procedures().collect().await?;
                let triggers = scripts.list_triggers().collect().await?;
                let functions = scripts.list_user_defined_functions().collect().await?;
                Ok(json!({
                    "procedures": procedures.iter().map(|one| row(&one.id, &one.body, &one.system)).collect::<Vec<_>>(),
                    "triggers": triggers.iter().map(trigger_row).collect::<Vec<_>>(),
                    "functions": functions.iter().map(|one| row(&one.id, &one.body, &one.system)).collect::<Vec<_>>(),
                }))
            }
            (&Method::POST, [kind]) => {
                self.may_change()?;
                let script: Script = self.body()?;
                let id = script.id.clone();
                let charge = of_kind!(self, *kind =>
                    scripts.create_stored_procedure(script.stored_procedure()).await?.request_charge(),
                    scripts.create_trigger(script.trigger()).await?.request_charge(),
                    scripts.create_user_defined_function(script.function()).await?.request_charge());
                Ok(json!({ "id": id, "charge": charge }))
            }
            (&Method::PUT, [kind]) => {
                self.may_change()?;
                let script: Script = self.body()?;
                let etag = Etag::from(script.etag.as_deref().unwrap_or("*"));
                let id = script.id.clone();
                Ok(of_kind!(self, *kind =>
                    replaced(&id, &scripts.replace_stored_procedure(script.stored_procedure()).if_match(etag).await?),
                    replaced(&id, &scripts.replace_trigger(script.trigger()).if_match(etag).await?),
                    replaced(&id, &scripts.replace_user_defined_function(script.function()).if_match(etag).await?)))
            }
            (&Method::DELETE, [kind, id]) => {
                self.may_change()?;
                let charge = of_kind!(self, *kind =>
                    scripts.delete_stored_procedure(id).await?.request_charge(),
                    scripts.delete_trigger(id).await?.request_charge(),
                    scripts.delete_user_defined_function(id).await?.request_charge());
                Ok(json!({ "charge": charge }))
            }
            (&Method::POST, ["procedures", id, "run"]) => {
                self.may_change()?;
                let Run { pk, arguments } = self.body()?;
                let arguments: Vec<Box<RawValue>> = serde_json::from_str(&arguments).map_err(|error| {
                    Refusal::bad(format!("the arguments are not a JSON array: {error} (try [\"a\", 7])"))
                })?;
                let began = door::now();
                let options = ExecuteOptions::default().enable_logging(true);
                let run = scripts.execute::<RawItem>(id, key_of_json(&pk)?, arguments).options(options).await;
                let run = run.map_err(|error| {
                    let log = error.script_log();
                    Refusal::from(error).with("log", json!(log))
                })?;
                Ok(json!({
                    "text": text_of(run.value())?,
                    "log": run.script_log(),
                    "charge": run.request_charge(),
                    "ms": began.elapsed().as_secs_f64() * 1000.0,
                }))
            }
            _ => Err(self.nothing_there()),
        }
    }
}

/// With the etag by which it can be changed again.
fn replaced<T>(id: &str, response: &Response<T>) -> Value {
    let etag = response.etag().map(|etag| etag.as_str().to_owned());
    json!({ "id": id, "etag": etag, "charge": response.request_charge() })
}

fn row(id: &str, body: &str, system: &SystemMembers) -> Value {
    json!({ "id": id, "body": body, "etag": system.etag })
}

fn trigger_row(trigger: &Trigger) -> Value {
    let mut row = row(&trigger.id, &trigger.body, &trigger.system);
    row["triggerType"] = json!(trigger.trigger_type);
    row["triggerOperation"] = json!(trigger.trigger_operation);
    row
}
