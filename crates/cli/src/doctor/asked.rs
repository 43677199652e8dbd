//! Requests as an application sends them: the account, its containers, and some reads.

use std::collections::BTreeSet;
use std::time::Duration;

use cosmonaut::{CosmosClient, DiagnosticsContext, Error, ErrorKind, RawItem, ThroughputProperties};

use super::report::{Container, Kind, Level, Reads, Region, Report};
use crate::container::{self, ContainerName, Found};
use crate::runtime;
use crate::served::regions;
use crate::time::{millis, moment};

/// How many reads there are.
const READS: usize = 5;
/// How many containers are looked at.
const CONTAINERS: usize = 20;
/// How far clocks may be apart: from the first on it is told, from the second on signatures are refused.
const APART: i64 = 60;
const TOO_FAR_APART: i64 = 15 * 60;
/// What a read may take before it is slow.
const SLOW: Duration = Duration::from_secs(1);

/// Reads the account. Whether it could be.
pub(super) async fn account(
    client: &CosmosClient,
    report: &mut Report,
    is_reachable: bool,
    is_insecure: bool,
) -> bool {
    let answer = client.account().await;
    // Only an answer says that there was a connection, and that its certificate is good.
    let is_answered = answer.as_ref().map_or_else(|error| error.status().is_some(), |_| true);
    let is_tls = report.endpoint.starts_with("https://");
    report.tls = match (is_tls, is_insecure) {
        (false, _) => Some("none: clear text".to_owned()),
        (true, true) => Some("not verified (--insecure)".to_owned()),
        (true, false) => is_answered.then(|| "verified".to_owned()),
    };
    let account = match answer {
        Ok(account) => account,
        // What follows from what was said already is not said again.
        Err(_) if !is_reachable => return false,
        Err(error) => {
            // Where a signature is refused for its time, the refusal has the time there.
            if let Some(theirs) = server_time(&error.to_string())
                && compare_clocks(report, theirs) != Clocks::Agree
            {
                return false;
            }
            let (kind, remedy) = remedy(&error, report.endpoint.starts_with("https://"));
            report.add(Level::Error, kind, format!("the account cannot be read: {error}"), remedy);
            return false;
        }
    };
    report.account = Some(account.id.clone());
    report.consistency = Some(format!("{:?}", account.user_consistency_policy.default_consistency_level));
    let writes: Vec<_> = account.writable_locations.iter().map(|location| &location.name).collect();
    report.regions = account
        .readable_locations
        .iter()
        .map(|location| Region {
            name: location.name.to_string(),
            endpoint: location.endpoint.clone(),
            takes_writes: writes.contains(&&location.name),
            round_trip_ms: None,
            by_proxy: false,
        })
        .collect();
    if writes.is_empty() {
        let remedy =
            "look at the account's health, or fail over (`cosmonaut region` shows an emulator's regions)";
        report.add(Level::Error, Kind::Region, "no region of the account takes writes".to_owned(), remedy);
    }
    true
}

/// What an error of the account means, and what to do.
fn remedy(error: &Error, is_tls: bool) -> (Kind, &'static str) {
    match error.kind() {
        ErrorKind::Unauthorized => {
            (Kind::Key, "take one of the account's current keys, and check this machine's clock")
        }
        ErrorKind::Credential => (Kind::Key, "check the identity that tokens are asked for"),
        ErrorKind::Forbidden => (
            Kind::Key,
            "let this machine's address through the account's firewall, or give the identity a role",
        ),
        ErrorKind::Transport if is_tls => {
            (Kind::Tls, "trust the server's certificate (SSL_CERT_FILE), or use --insecure for an emulator")
        }
        ErrorKind::Transport => (Kind::Connection, "check that the endpoint is that of an account"),
        ErrorKind::NotFound | ErrorKind::InvalidResponse | ErrorKind::BadRequest => {
            (Kind::Account, "check that the endpoint is that of an account")
        }
        _ => (Kind::Account, "try again; if it stays, look at the account's health"),
    }
}

/// Whether the region that an application would prefer is one of the account's.
pub(super) fn preferred(report: &mut Report, preferred: Option<&str>) {
    let plain = |name: &str| name.replace(' ', "").to_lowercase();
    let Some(wanted) = preferred else { return };
    report.preferred_region = Some(wanted.to_owned());
    let names: Vec<_> = report.regions.iter().map(|region| region.name.clone()).collect();
    if !names.iter().any(|name| plain(name) == plain(wanted)) {
        let what = format!("the account is not in {wanted}, but in {}", names.join(", "));
        report.add(
            Level::Error,
            Kind::Region,
            what,
            "prefer one of these regions, or add that one to the account",
        );
    }
}

/// Looks at containers, and reads from one.
pub(super) async fn data(client: &CosmosClient, report: &mut Report, wanted: Option<&ContainerName>) {
    let found = match container::all(client).await {
        Ok(found) => found,
        Err(error) => {
            let (kind, remedy) = remedy(&error, false);
            report.add(Level::Warning, kind, format!("containers cannot be listed: {error}"), remedy);
            Vec::new()
        }
    };
    let names: Vec<_> = found.into_iter().filter_map(Found::name).collect();
    let looked_at: Vec<&ContainerName> = match wanted {
        Some(name) => vec![name],
        None => names.iter().take(CONTAINERS).collect(),
    };
    for name in &looked_at {
        look_at(client, report, name).await;
    }
    if let Some(name) = looked_at.first() {
        clock(client, report, name).await;
        read(client, report, name).await;
    }
}

async fn look_at(client: &CosmosClient, report: &mut Report, name: &ContainerName) {
    let container = name.of(client);
    let partitions = match container.feed_ranges().await {
        Ok(ranges) => Some(ranges.len()),
        Err(error) => {
            let remedy = "check its name, and whether this key or identity may read it";
            report.add(Level::Error, Kind::Account, format!("{name} cannot be read: {error}"), remedy);
            None
        }
    };
    let throughput = container.read_throughput().await.ok().and_then(|found| *found.value());
    let throughput = throughput.map(|throughput| {
        let (most, words) = match throughput {
            ThroughputProperties::Manual { throughput } => (throughput, format!("{throughput} RU/s")),
            ThroughputProperties::Autoscale { max_throughput, .. } => {
                (max_throughput, format!("up to {max_throughput} RU/s"))
            }
        };
        match partitions {
            Some(count @ 2..) => format!("{words}, {:.0} for each partition", f64::from(most) / count as f64),
            Some(_) | None => words,
        }
    });
    report.containers.push(Container { name: name.to_string(), partitions, throughput });
}

/// Compares the clocks, by the date of an answer.
async fn clock(client: &CosmosClient, report: &mut Report, name: &ContainerName) {
    let Ok(response) = client.database(&name.database).read().await else { return };
    let date = response.headers().get("date").and_then(|date| date.to_str().ok()).and_then(http_date);
    let Some(theirs) = date else { return };
    compare_clocks(report, theirs);
}

/// Whether this machine's clock is as the service's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clocks {
    Agree,
    Differ,
}

/// Notes how far the clocks are apart, given the service's in milliseconds since 1970.
fn compare_clocks(report: &mut Report, theirs: u64) -> Clocks {
    let ours = millis(runtime::time_of_day());
    let ahead = (theirs as i64 - ours as i64) / 1000;
    report.clock_ahead_seconds = Some(ahead);
    let level = match ahead.abs() {
        0..=APART => return Clocks::Agree,
        apart if apart < TOO_FAR_APART => Level::Warning,
        _ => Level::Error,
    };
    let way = if ahead > 0 { "behind" } else { "ahead of" };
    let what = format!(
        "this machine's clock is {} s {way} the service's: signatures are refused from 15 minutes on",
        ahead.abs()
    );
    report.add(level, Kind::Clock, what, "set the clock, and let it be kept by a time service");
    Clocks::Differ
}

/// The time at the service, where the words of a refusal have it, in milliseconds since 1970.
fn server_time(message: &str) -> Option<u64> {
    let (_, rest) = message.split_once("server time: ")?;
    http_date(&rest[..rest.find("GMT")? + 3])
}

/// `Wed, 18 Nov 2026 21:36:44 GMT` in milliseconds since 1970.
fn http_date(text: &str) -> Option<u64> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let mut words = text.split_once(", ")?.1.split(' ');
    let (day, month, year, time) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    moment(&format!("{year}-{month:02}-{day}T{time}Z"), 0).ok()
}

/// Reads an item that is not there, as often as it takes to see how long that takes.
async fn read(client: &CosmosClient, report: &mut Report, name: &ContainerName) {
    let container = name.of(client);
    let (mut times, mut by, mut protocol, mut charge) = (Vec::new(), BTreeSet::new(), None, 0.0);
    let mut throttled = 0;
    for _ in 0..READS {
        let began = runtime::now();
        // A key with several components fits no container with one, and the other way round: what is refused is answered, too.
        let result = container.read_item::<RawItem>("cosmonaut-doctor", "cosmonaut-doctor").await;
        times.push(began.elapsed());
        let diagnostics = match &result {
            Ok(found) => Some(found.diagnostics()),
            Err(error) => error.diagnostics(),
        };
        let Some(diagnostics) = diagnostics else { break };
        by.extend(regions(diagnostics).map(str::to_owned));
        protocol = protocol.or_else(|| protocol_of(diagnostics));
        charge += diagnostics.request_charge();
        if let Err(error) = &result {
            throttled += usize::from(error.is_throttled());
            if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::BadRequest | ErrorKind::Throttled) {
                let (kind, remedy) = remedy(error, false);
                report.add(Level::Error, kind, format!("an item of {name} cannot be read: {error}"), remedy);
                break;
            }
        }
    }
    times.sort();
    let ms = |time: Option<&Duration>| time.map_or(0.0, |time| time.as_secs_f64() * 1000.0);
    let median = times.get(times.len() / 2);
    if median.is_some_and(|time| *time > SLOW) {
        let what = format!("a read takes {:.0} ms", ms(median));
        let remedy = "prefer the region that is nearest (--prefer), and look at its distance";
        report.add(Level::Warning, Kind::Region, what, remedy);
    }
    if throttled > 0 {
        let what =
            format!("{throttled} of {READS} reads of {name} were throttled: all of its throughput is in use");
        report.add(Level::Warning, Kind::Throughput, what, "give the container more request units a second");
    }
    report.reads = Some(Reads {
        container: name.to_string(),
        served_by: by.into_iter().collect(),
        protocol,
        count: times.len(),
        median_ms: ms(median),
        slowest_ms: ms(times.last()),
        request_units: charge,
    });
}

fn protocol_of(context: &DiagnosticsContext) -> Option<String> {
    let protocol = context.attempts().iter().find_map(|attempt| attempt.protocol)?;
    Some(match format!("{protocol:?}").as_str() {
        "Http2" => "HTTP/2".to_owned(),
        "Http1" => "HTTP/1.1".to_owned(),
        other => other.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_answers_are_read() {
        assert_eq!(http_date("Wed, 18 Nov 2026 21:36:44 GMT"), moment("2026-11-18T21:36:44Z", 0).ok());
        let refusal = "create another token and retry (token start time: Thu, 27 Apr 2017 00:51:12 GMT, token expiry \
                       time: Thu, 27 Apr 2017 01:11:12 GMT, current server time: Wed, 18 Nov 2026 21:36:44 GMT).";
        assert_eq!(server_time(refusal), moment("2026-11-18T21:36:44Z", 0).ok());
        assert_eq!(server_time("server time: never"), None);
        for text in ["", "Wed, 18 Foo 2026 21:36:44 GMT", "2026-11-18"] {
            assert_eq!(http_date(text), None, "{text}");
        }
    }
}
