//! The regions' Gateways 2.0, and which of them have answered.

use std::sync::Arc;
use std::time::Duration;

use cosmonaut_wire::model::{AccountLocation, AccountProperties};

use crate::{Access, ClearTextRule, CosmosEndpoint, ENDPOINT_PROBE_INTERVAL, Moment, TOLERATED_HEDGE_WINS};

/// What is known of a Gateway 2.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It has not answered a probe, or has said that it is closed.
    Unproven,
    /// It has answered.
    Proven,
    /// It has answered, and then failed or been silent. It is probed once it has been left alone for so long.
    Lost { since: Moment, pause: Duration },
}

/// How long a gateway that was lost is left alone at first; twice as long each time it is lost again.
const FIRST_PAUSE: Duration = ENDPOINT_PROBE_INTERVAL;
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// How long a loss is remembered.
const LOSS_MEMORY: Duration = Duration::from_secs(900);
/// A gateway may refuse so many frames in a row before it is lost. A refusal costs a round trip, and may be about the
/// frame alone.
pub(crate) const TOLERATED_REFUSALS: u32 = 5;

/// A Gateway 2.0, and what is known of it.
#[derive(Clone, Debug)]
struct Known {
    endpoint: CosmosEndpoint,
    standing: Standing,
    /// When it was lost last, and how often.
    last_loss: Option<(Moment, u32)>,
    /// When it has answered a probe last.
    proven: Option<Moment>,
    doubts: Doubts,
}

/// What speaks against a gateway since it last passed on the service's answer to a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Doubts {
    /// Frames for which another region has answered meanwhile.
    hedge_wins: u32,
    /// Frames that it has refused.
    refusals: u32,
    /// When it was suspected last for its silence, and how often.
    last_suspicion: Option<(Moment, u32)>,
}

impl Known {
    fn new(endpoint: CosmosEndpoint) -> Self {
        let (standing, doubts) = (Standing::Unproven, Doubts::default());
        Self { endpoint, standing, last_loss: None, proven: None, doubts }
    }

    /// It has failed: it is left alone, for longer each time.
    fn lose(&mut self, now: Moment) {
        let losses = one_more(self.last_loss, now);
        self.last_loss = Some((now, losses));
        self.standing = Standing::Lost { since: now, pause: pause_after(losses) };
    }

    /// It has been silent, which the request alone may have caused: it is probed at once. Only if it answers probes
    /// and no frames, it is left alone.
    fn suspect(&mut self, now: Moment) {
        let suspicions = one_more(self.doubts.last_suspicion, now);
        self.doubts.last_suspicion = Some((now, suspicions));
        let pause = if suspicions == 1 { Duration::ZERO } else { pause_after(suspicions - 1) };
        self.standing = Standing::Lost { since: now, pause };
    }

    /// Whether what happened to a frame that was sent at this moment says something about the gateway as it is now.
    fn is_news(&self, asked: Moment) -> bool {
        self.standing == Standing::Proven && self.proven.is_none_or(|proven| proven <= asked)
    }
}

/// How often it has happened, once more.
fn one_more(last: Option<(Moment, u32)>, now: Moment) -> u32 {
    let remembered = last.filter(|(last, _)| now.since(*last) < LOSS_MEMORY);
    remembered.map_or(1, |(_, times)| times.saturating_add(1))
}

fn pause_after(losses: u32) -> Duration {
    FIRST_PAUSE.saturating_mul(1 << (losses - 1).min(16)).min(LONGEST_PAUSE)
}

/// The Gateways 2.0 of an account.
#[derive(Clone, Debug)]
pub(crate) struct FramedGateways {
    /// The account's name, which every frame says.
    account: Arc<str>,
    /// For each region that has one for reads: its endpoint, and the place of its gateway.
    reads: Vec<(CosmosEndpoint, usize)>,
    writes: Vec<(CosmosEndpoint, usize)>,
    gateways: Vec<Known>,
}

impl FramedGateways {
    /// What an account says of them; `None` if it names none, or has no name that a frame could say.
    ///
    /// A region is paired with its gateway by its name, for reads and for writes apart. Of two for one region the first
    /// counts. An address that is none, or that would be reached in clear text against the rule, is left out.
    pub(crate) fn of(
        properties: &AccountProperties,
        own: &CosmosEndpoint,
        clear_text: ClearTextRule,
    ) -> Option<Self> {
        let mut found = Self {
            account: account_name(properties, own)?,
            reads: Vec::new(),
            writes: Vec::new(),
            gateways: Vec::new(),
        };
        let none = Vec::new();
        let readable = properties.thin_client_readable_locations.as_ref().unwrap_or(&none);
        let writable = properties.thin_client_writable_locations.as_ref().unwrap_or(&none);
        found.reads = found.paired(&properties.readable_locations, readable, clear_text);
        found.writes = found.paired(&properties.writable_locations, writable, clear_text);
        (!found.gateways.is_empty()).then_some(found)
    }

    fn paired(
        &mut self,
        regions: &[AccountLocation],
        advertised: &[AccountLocation],
        clear_text: ClearTextRule,
    ) -> Vec<(CosmosEndpoint, usize)> {
        let mut pairs = Vec::with_capacity(advertised.len());
        for region in regions {
            let gateway = advertised.iter().find(|gateway| gateway.name == region.name);
            let gateway = gateway.and_then(|gateway| CosmosEndpoint::of_location(gateway).ok());
            let gateway = gateway.filter(|gateway| gateway.check_clear_text(clear_text).is_ok());
            if let (Some(gateway), Ok(endpoint)) = (gateway, CosmosEndpoint::of_location(region)) {
                pairs.push((endpoint, self.place_of(gateway)));
            }
        }
        pairs
    }

    fn place_of(&mut self, gateway: CosmosEndpoint) -> usize {
        let known = self.gateways.iter().position(|known| known.endpoint == gateway);
        known.unwrap_or_else(|| {
            self.gateways.push(Known::new(gateway));
            self.gateways.len() - 1
        })
    }

    /// The account's name.
    pub(crate) fn account(&self) -> &Arc<str> {
        &self.account
    }

    /// The gateway of a region that takes such requests now.
    pub(crate) fn gateway_of(&self, endpoint: &CosmosEndpoint, access: Access) -> Option<&CosmosEndpoint> {
        let pairs = match access {
            Access::Read => &self.reads,
            Access::Write => &self.writes,
        };
        let (_, place) = pairs.iter().find(|(known, _)| known == endpoint)?;
        let Known { endpoint, standing, .. } = &self.gateways[*place];
        (*standing == Standing::Proven).then_some(endpoint)
    }

    /// The gateways of which it is to be found out whether they answer: all that do not, or those alone that were lost and
    /// have been left alone for long enough.
    pub(crate) fn to_probe(&self, lost_alone: bool, now: Moment) -> impl Iterator<Item = &CosmosEndpoint> {
        let is_asked = move |standing: Standing| match standing {
            Standing::Unproven => !lost_alone,
            // It is asked about at intervals, of which one may begin a little early.
            Standing::Lost { since, pause } => now.since(since) + FIRST_PAUSE / 2 >= pause,
            Standing::Proven => false,
        };
        self.gateways.iter().filter(move |known| is_asked(known.standing)).map(|known| &known.endpoint)
    }

    fn with(&self, gateway: &CosmosEndpoint, change: impl Fn(&mut Known)) -> Self {
        let mut next = self.clone();
        next.gateways.iter_mut().filter(|known| known.endpoint == *gateway).for_each(change);
        next
    }

    /// After one has answered a probe.
    pub(crate) fn proven(&self, gateway: &CosmosEndpoint, now: Moment) -> Self {
        self.with(gateway, |known| {
            known.standing = Standing::Proven;
            known.proven = Some(now);
        })
    }

    /// Whether something speaks against one that an answer of the service to a frame refutes.
    pub(crate) fn is_doubted(&self, gateway: &CosmosEndpoint) -> bool {
        self.gateways.iter().any(|known| known.endpoint == *gateway && known.doubts != Doubts::default())
    }

    /// After one has passed on an answer of the service to a frame.
    pub(crate) fn passed_on(&self, gateway: &CosmosEndpoint) -> Self {
        self.with(gateway, |known| known.doubts = Doubts::default())
    }

    /// After one has failed. One that never answered cannot be lost.
    pub(crate) fn lost(&self, gateway: &CosmosEndpoint, now: Moment) -> Self {
        self.with(gateway, |known| {
            if known.standing == Standing::Proven {
                known.lose(now);
            }
        })
    }

    /// Whether one has passed on answers until it was silent about a frame that was sent at this moment.
    pub(crate) fn is_first_silence(&self, gateway: &CosmosEndpoint, asked: Moment) -> bool {
        !self.is_doubted(gateway)
            && self.gateways.iter().any(|known| known.endpoint == *gateway && known.is_news(asked))
    }

    /// After one has been silent for long about a frame that was sent at this moment.
    pub(crate) fn hung(&self, gateway: &CosmosEndpoint, asked: Moment, now: Moment) -> Self {
        self.with(gateway, |known| {
            if known.is_news(asked) {
                known.suspect(now);
            }
        })
    }

    /// After another region has answered while one was silent about a frame that was sent at this moment. One request
    /// in a hundred is that slow; only many in a row say something.
    pub(crate) fn slow(&self, gateway: &CosmosEndpoint, asked: Moment, now: Moment) -> Self {
        self.with(gateway, |known| {
            if known.is_news(asked) {
                known.doubts.hedge_wins += 1;
                if known.doubts.hedge_wins > TOLERATED_HEDGE_WINS {
                    known.suspect(now);
                }
            }
        })
    }

    /// After one has refused a frame. One that refuses everything is left alone.
    pub(crate) fn refused(&self, gateway: &CosmosEndpoint, now: Moment) -> Self {
        self.with(gateway, |known| {
            if known.standing == Standing::Proven {
                known.doubts.refusals += 1;
                if known.doubts.refusals > TOLERATED_REFUSALS {
                    known.doubts.refusals = 0;
                    known.lose(now);
                }
            }
        })
    }

    /// After one has said that it is closed.
    pub(crate) fn closed(&self, gateway: &CosmosEndpoint) -> Self {
        self.with(gateway, |known| known.standing = Standing::Unproven)
    }

    /// These gateways with what was known of those among them before.
    pub(crate) fn knowing(mut self, before: &Self) -> Self {
        for gateway in &mut self.gateways {
            if let Some(known) = before.gateways.iter().find(|known| known.endpoint == gateway.endpoint) {
                *gateway = known.clone();
            }
        }
        self
    }
}

/// The account's name, or what its host begins with.
fn account_name(properties: &AccountProperties, own: &CosmosEndpoint) -> Option<Arc<str>> {
    if !properties.id.is_empty() {
        return Some(properties.id.as_str().into());
    }
    let (label, domain) = own.authority().host().split_once('.')?;
    (domain.starts_with("documents.") && !label.is_empty()).then(|| label.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{at, endpoint, global, properties, region};

    fn framed_url(index: usize) -> String {
        format!("https://{}.example:10250", region(index))
    }

    fn gateway(index: usize) -> CosmosEndpoint {
        CosmosEndpoint::regional(region(index).as_str(), &framed_url(index)).unwrap()
    }

    fn account(readable: &[(usize, String)], writable: &[(usize, String)]) -> AccountProperties {
        let locations = |list: &[(usize, String)]| {
            Some(list.iter().map(|(index, url)| AccountLocation::new(region(*index), url.as_str())).collect())
        };
        let mut account = properties(2, true);
        account.thin_client_readable_locations = locations(readable);
        account.thin_client_writable_locations = locations(writable);
        account
    }

    fn found(account: &AccountProperties) -> Option<FramedGateways> {
        FramedGateways::of(account, &global(), ClearTextRule::default())
    }

    #[test]
    fn a_region_has_its_gateway_for_reads_and_for_writes_apart_once_that_has_answered() {
        let all = [(0, framed_url(0)), (1, framed_url(1))];
        let unproven = found(&account(&all, &all[1..])).unwrap();
        assert_eq!(unproven.gateway_of(&endpoint(0), Access::Read), None);
        let proven = unproven.proven(&gateway(0), at(0)).proven(&gateway(1), at(0));
        for (index, access, expected) in [
            (0, Access::Read, Some(gateway(0))),
            (1, Access::Read, Some(gateway(1))),
            (0, Access::Write, None),
            (1, Access::Write, Some(gateway(1))),
        ] {
            assert_eq!(proven.gateway_of(&endpoint(index), access).cloned(), expected, "{index} {access:?}");
        }
        assert_eq!(proven.gateway_of(&global(), Access::Read), None);
    }

    #[test]
    fn what_cannot_be_used_is_left_out() {
        for (url, is_used) in [
            (framed_url(0), true),
            ("http://region0.example:10250".to_owned(), false),
            ("http://127.0.0.1:10250".to_owned(), true),
            ("nothing".to_owned(), false),
            ("https://region0.example/path".to_owned(), false),
        ] {
            let account = account(&[(0, url.clone())], &[]);
            assert_eq!(found(&account).is_some(), is_used, "{url}");
        }
        assert!(found(&properties(2, true)).is_none());
        let first_counts = account(&[(0, framed_url(0)), (0, framed_url(7))], &[]);
        let known = found(&first_counts).unwrap();
        assert_eq!(known.to_probe(false, at(0)).collect::<Vec<_>>(), [&gateway(0)]);
    }

    #[test]
    fn an_account_without_a_name_is_named_by_its_host() {
        let mut account = account(&[(0, framed_url(0))], &[]);
        account.id.clear();
        for (own, expected) in [
            ("https://shop.documents.azure.com", Some("shop")),
            ("https://shop.example.com", None),
            ("https://localhost:8081", None),
        ] {
            let own = CosmosEndpoint::global(own).unwrap();
            let found = FramedGateways::of(&account, &own, ClearTextRule::default());
            assert_eq!(found.as_ref().map(|found| &**found.account()), expected, "{own}");
        }
    }

    #[test]
    fn gateways_are_probed_by_their_standing_and_keep_it_when_the_account_is_read() {
        let all = [(0, framed_url(0)), (1, framed_url(1))];
        let account = account(&all, &all);
        let before = found(&account).unwrap();
        // What never answered cannot be lost.
        let before = before.lost(&gateway(0), at(0));
        assert_eq!(before.to_probe(true, at(100)).count(), 0);
        let before = before.proven(&gateway(0), at(0)).lost(&gateway(0), at(0));
        let after = found(&account).unwrap().knowing(&before);
        assert_eq!(after.to_probe(true, at(1)).count(), 0);
        assert_eq!(after.to_probe(true, at(10)).collect::<Vec<_>>(), [&gateway(0)]);
        assert_eq!(after.to_probe(false, at(10)).count(), 2);
        let closed = after.closed(&gateway(0));
        assert_eq!(closed.to_probe(true, at(1000)).count(), 0);
    }

    #[test]
    fn a_gateway_that_is_lost_again_and_again_is_left_alone_for_longer() {
        let account = account(&[(0, framed_url(0))], &[]);
        let mut known = found(&account).unwrap();
        let mut now = 0;
        for pause in [10, 20, 40, 80, 160, 300, 300] {
            known = known.proven(&gateway(0), at(now)).lost(&gateway(0), at(now));
            let is_asked = |after: u64| known.to_probe(true, at(now + after)).count() == 1;
            assert!(!is_asked(pause - 6) && is_asked(pause - 4), "{pause}");
            now += pause;
        }
        // A loss is not remembered for ever.
        known = known.proven(&gateway(0), at(now)).lost(&gateway(0), at(now + 1_000));
        assert_eq!(known.to_probe(true, at(now + 1_010)).count(), 1);
    }

    /// One that has answered a probe at this moment.
    fn proven(now: u64) -> FramedGateways {
        found(&account(&[(0, framed_url(0))], &[])).unwrap().proven(&gateway(0), at(now))
    }

    fn is_used(known: &FramedGateways) -> bool {
        known.gateway_of(&endpoint(0), Access::Read).is_some()
    }

    #[test]
    fn one_that_is_silent_is_probed_at_once_and_left_alone_only_if_it_stays_silent() {
        let mut known = proven(0);
        let mut now = 0;
        for pause in [0, 10, 20, 40, 80, 160, 300, 300] {
            known = known.hung(&gateway(0), at(now), at(now));
            assert!(!is_used(&known));
            let is_asked = |after: u64| known.to_probe(true, at(now + after)).count() == 1;
            assert!(is_asked(pause) && (pause == 0 || !is_asked(pause - 6)), "{pause}");
            now += pause;
            known = known.proven(&gateway(0), at(now));
        }
        // An answer to a frame refutes all of it.
        assert!(known.is_doubted(&gateway(0)));
        known = known.passed_on(&gateway(0));
        assert!(!known.is_doubted(&gateway(0)));
        let known = known.hung(&gateway(0), at(now), at(now));
        assert_eq!(known.to_probe(true, at(now)).count(), 1);
    }

    #[test]
    fn silences_from_before_the_last_probe_say_nothing() {
        let mut known = proven(0).hung(&gateway(0), at(5), at(6)).proven(&gateway(0), at(7));
        for _ in 0..100 {
            known = known.hung(&gateway(0), at(6), at(8)).slow(&gateway(0), at(6), at(8));
        }
        assert!(is_used(&known));
        assert!(!is_used(&known.hung(&gateway(0), at(7), at(8))));
    }

    #[test]
    fn few_hedge_wins_in_a_row_say_nothing() {
        let mut known = proven(0);
        for round in 0..100 {
            for _ in 0..TOLERATED_HEDGE_WINS {
                known = known.slow(&gateway(0), at(round), at(round));
                assert!(is_used(&known));
            }
            known = known.passed_on(&gateway(0));
        }
        for _ in 0..=TOLERATED_HEDGE_WINS {
            known = known.slow(&gateway(0), at(100), at(100));
        }
        assert!(!is_used(&known));
        assert_eq!(known.to_probe(true, at(100)).count(), 1);
    }

    #[test]
    fn one_that_refuses_everything_is_left_alone() {
        let mut known = proven(0);
        for pause in [10, 20] {
            for _ in 0..=TOLERATED_REFUSALS {
                assert!(is_used(&known));
                known = known.refused(&gateway(0), at(0));
            }
            assert!(!is_used(&known));
            assert_eq!(known.to_probe(true, at(pause - 6)).count(), 0);
            assert_eq!(known.to_probe(true, at(pause)).count(), 1);
            known = known.proven(&gateway(0), at(0));
        }
        for _ in 0..100 {
            known = known.refused(&gateway(0), at(0)).passed_on(&gateway(0));
            assert!(is_used(&known));
        }
    }
}
