//! `cosmonaut durable doctor`: whether orchestrations can run in a container, and what to change if not.

use duroxide_cosmonaut::{Diagnosis, FindingLevel, diagnose};
use serde_json::json;

use super::connect::{Place, unreachable};
use super::{Answer, Arguments};
use crate::cell::whole;
use crate::failure::Failure;

/// The diagnosis, and a failure if the provider would not connect.
pub(super) async fn run(arguments: &Arguments) -> Result<(Answer, Result<(), Failure>), Failure> {
    let place = Place::of(arguments)?;
    let diagnosis = match diagnose(&place.config).await {
        Ok(diagnosis) => diagnosis,
        Err(error) => return Err(unreachable(&place, error).await),
    };
    let errors = diagnosis.findings.iter().filter(|finding| finding.level == FindingLevel::Error).count();
    let verdict = match errors {
        0 => Ok(()),
        1 => Err(Failure::Work("orchestrations cannot run here: there is 1 error".to_owned())),
        errors => Err(Failure::Work(format!("orchestrations cannot run here: there are {errors} errors"))),
    };
    Ok((Answer { text: text(&place, &diagnosis), json: json!(diagnosis) }, verdict))
}

fn text(place: &Place, diagnosis: &Diagnosis) -> String {
    let mut text = format!(
        "container      {}\naccount        {}\nwrites in      {}\nconsistency    {}\nthroughput     {}\n\n",
        place.name,
        whole(&diagnosis.account),
        whole(&diagnosis.write_regions.join(", ")),
        diagnosis.consistency,
        throughput(diagnosis),
    );
    for finding in &diagnosis.findings {
        let level = match finding.level {
            FindingLevel::Error => "error",
            FindingLevel::Warning => "warning",
        };
        text += &format!("{level}: {}\n  -> {}\n", whole(&finding.what), whole(&finding.remedy));
    }
    if diagnosis.findings.is_empty() {
        text += "nothing is wrong\n";
    }
    text += "\ndocuments\n";
    for (kind, count) in &diagnosis.documents {
        text += &format!("  {:16}  {count}\n", whole(kind));
    }
    if diagnosis.documents.is_empty() {
        text += "  none\n";
    }
    text
}

fn throughput(diagnosis: &Diagnosis) -> String {
    let of = |kind: &str| diagnosis.throughput[kind].as_u64();
    match (of("manual"), of("autoscale")) {
        (Some(amount), _) => format!("{amount} RU/s"),
        (None, Some(most)) => format!("scales up to {most} RU/s"),
        (None, None) => "none of its own, or not to be seen".to_owned(),
    }
}
