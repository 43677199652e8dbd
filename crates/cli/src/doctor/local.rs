//! What an emulator says of itself, if the account is one.

use serde_json::{Value, json};

use super::network::host_and_port;
use super::report::{Kind, Level, Report};
use crate::region;

/// Asks the management API, if it is that of the account that was looked at.
pub(super) fn emulator(report: &mut Report, management: &str) {
    let Some((host, port)) = host_and_port(&report.endpoint) else { return };
    let is_local = matches!(&*host, "localhost" | "::1") || host.starts_with("127.");
    if !is_local {
        return;
    }
    let Ok(regions) = region::ask(management, "/regions") else { return };
    let of = |region: &Value| host_and_port(region["url"].as_str().unwrap_or_default()).map(|(_, port)| port);
    let listed: Vec<&Value> = regions["regions"].as_array().into_iter().flatten().collect();
    // Of a multi-region account the endpoint itself is none of the regions', but those of the account are.
    let mut known = report.regions.iter().filter_map(|region| host_and_port(&region.endpoint));
    let is_this = listed
        .iter()
        .any(|region| of(region) == Some(port) || known.any(|(_, port)| of(region) == Some(port)));
    if !is_this {
        return;
    }
    for region in &listed {
        let (name, state) = (region["name"].as_str().unwrap_or("?"), region["state"].as_str().unwrap_or("?"));
        // A slow one has a fault, which is told below.
        if !matches!(state, "up" | "slow") {
            let what = format!("the region {name} of the emulator is down ({state})");
            report.add(Level::Warning, Kind::Emulator, what, "bring it back with `cosmonaut region up NAME`");
        }
    }
    let faults = region::ask(management, "/faults").unwrap_or(Value::Null);
    let count = faults["faults"].as_array().map_or(0, Vec::len);
    if count > 0 {
        let what = format!("the emulator breaks requests on purpose (faults in force: {count})");
        report.add(Level::Warning, Kind::Emulator, what, "lift them with `cosmonaut region clear`");
    }
    let ports: Vec<_> = listed.iter().filter_map(|region| of(region)).collect();
    report.emulator = Some(json!({ "management": management, "ports": ports, "faults": count }));
}
