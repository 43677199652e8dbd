//! Stored procedures: which one a request runs, with what arguments, and what it answers.

use cosmonaut_wire::CosmosStatus;

use super::check_json;
use crate::Failure;
use crate::engine::Committed;
use crate::gateway::Gateway;
use crate::gateway::call::Call;
use crate::gateway::opening::insufficient;
use crate::gateway::reply::Reply;
use crate::scripts::Kind;

/// A stored procedure that every container has.
const ECHO: (&str, &str) = ("__.sys.echo", "function (value) { getContext().getResponse().setBody(value); }");

impl Gateway {
    /// Runs a stored procedure.
    pub(in crate::gateway) fn execute_procedure(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        let container = self.container(call)?;
        let kept = match call.path.name() == ECHO.0 {
            true => None,
            false => Some(self.engine.resource(&call.path)?),
        };
        if let (Some(only), Some(script)) = (&call.only, &kept)
            && !only.runs(script.rid())
        {
            // The one that the request's token is for was made anew while the request waited for its turn.
            return Err(insufficient());
        }
        let arguments = arguments(&call.body)?;
        let scene = self.scene(call, &container)?;
        let played = self.play(call, &scene, call.partition_key()?.as_ref(), |attempt| {
            let setting = attempt.scene.setting(Kind::Procedure);
            Ok(match &kept {
                Some(script) => attempt.run_kept(script, arguments, &setting)?,
                None => attempt.run(ECHO.0, ECHO.1, arguments, &setting)?,
            })
        })?;
        let mut reply = match played.result {
            Err(failure) => Reply::failure(&failure),
            Ok((ended, Committed { done, charge })) => {
                let body = ended.response.unwrap_or_else(|| "\"\"".to_owned());
                let mut reply =
                    Reply::new(CosmosStatus::OK, body).charged(charge).after(done.commit).held(done.hold);
                reply.of_partition(&container, &done.range, done.standing);
                reply
            }
        };
        reply.log(call, &played.logged);
        Ok(reply)
    }
}

/// The arguments of a stored procedure, as JSON text: an array, or an object that looks like one.
fn arguments(body: &[u8]) -> Result<Option<&str>, Failure> {
    let text = std::str::from_utf8(body)
        .map_err(|_| Failure::bad_request("the arguments of a stored procedure are not UTF-8"))?;
    if text.trim().is_empty() {
        return Ok(None);
    }
    check_json(text)?;
    match text.trim_start().as_bytes().first() {
        Some(b'[' | b'{' | b'n') => Ok(Some(text)),
        _ => Err(Failure::bad_request(
            "Script request has invalid body. The arguments of a stored procedure are a JSON array",
        )),
    }
}
