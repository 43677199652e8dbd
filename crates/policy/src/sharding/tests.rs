use cosmonaut_options::{ShardingOptions, ShardingOptionsView};
use proptest::prelude::*;

use super::*;
use crate::testing::at;
use EvictionReason::{
    ConsecutiveFailuresAlone, ConsecutiveFailuresWithHealthyPeers, DrainTimeout, IdleTimeout, ReadHang,
};
use ShardSelection::{Create, Overloaded, Use};

fn config(max_streams: u32, max_clients: u32) -> ShardingConfig {
    ShardingConfig {
        max_streams_per_client: max_streams,
        max_clients_per_endpoint: max_clients,
        ..ShardingConfig::default()
    }
}

fn select(loads: &[Option<u32>], ratio: f64, config: &ShardingConfig) -> ShardSelection {
    select_shard(loads, |load| *load, ratio, config)
}

#[test]
fn silence_of_long_ago_is_not_held_against_a_request_of_now() {
    for (case, unanswered, last_request, expected) in [
        ("nothing is owed", None, Some(at(99)), at(100)),
        ("the first request ever", None, None, at(100)),
        ("asked again and again", Some(at(50)), Some(at(95)), at(50)),
        ("left alone since", Some(at(50)), Some(at(60)), at(100)),
    ] {
        assert_eq!(silence_since(unanswered, last_request, at(100)), expected, "{case}");
    }
}

#[test]
fn the_least_loaded_of_the_active_connections_is_used() {
    let config = config(16, 4);
    let at_max = |load| [Some(load); 4];
    for (case, loads, ratio, expected) in [
        ("empty pool", &[][..], 0.5, Create { fallback: None }),
        ("one", &[Some(3)], 0.5, Use(0)),
        ("active ones first", &[Some(9), Some(8), Some(0), Some(0)], 0.5, Use(1)),
        ("all active", &[Some(9), Some(8), Some(1), Some(0)], 1.0, Use(3)),
        ("at least one active", &[Some(9), Some(0)], 0.0, Use(0)),
        ("evicted ones are no choice", &[None, Some(5), Some(4)], 0.5, Use(1)),
        ("active full, a draining one helps out", &[Some(16), Some(16), Some(2), Some(1)], 0.5, Use(3)),
        ("all full", &[Some(16), Some(17)], 0.5, Create { fallback: Some(0) }),
        ("all full, at the maximum", &at_max(16), 0.5, Overloaded(0)),
        ("evicted ones make room", &[None, Some(16), Some(16), Some(16)], 0.5, Create { fallback: Some(1) }),
        ("all evicted", &[None, None], 0.5, Create { fallback: None }),
    ] {
        assert_eq!(select(loads, ratio, &config), expected, "{case}");
    }
}

#[test]
fn another_is_opened_ahead_of_need_when_the_average_is_above_the_threshold() {
    for (loads, max_clients, expected) in [
        (&[12][..], 4, false),
        (&[13], 4, true),
        (&[16, 8], 4, false),
        (&[16, 9], 4, true),
        (&[16, 16], 2, false),
        (&[], 4, false),
    ] {
        assert_eq!(should_scale_up(loads.iter().copied(), &config(16, max_clients)), expected, "{loads:?}");
    }
}

/// A connection that was opened at 0 and has been quiet since it answered at 100.
fn shard(id: u64) -> ShardStats {
    ShardStats {
        id,
        inflight: 0,
        unanswered_since: None,
        last_success: Some(at(100)),
        last_heard: None,
        last_request: Some(at(100)),
        created_at: at(0),
        consecutive_failures: 0,
        retired_at: None,
    }
}

#[test]
fn health_is_checked_in_order() {
    let unhealthy = |reason| ShardHealthStatus::Unhealthy { reason };
    let busy = ShardStats { inflight: 1, ..shard(1) };
    let failing = ShardStats { consecutive_failures: 5, ..shard(1) };
    let never_answered = ShardStats { last_success: None, last_request: Some(at(110)), ..failing };
    let peer = ShardStats { last_success: Some(at(102)), ..shard(2) };
    for (case, shard, peer, seconds, expected) in [
        (
            "answered just now, though failing",
            ShardStats { inflight: 9, ..failing },
            peer,
            100,
            ShardHealthStatus::Healthy,
        ),
        ("busy, answered within the threshold", busy, peer, 110, ShardHealthStatus::Healthy),
        ("busy, silent", busy, peer, 111, unhealthy(ReadHang)),
        (
            "busy, and answers PINGs",
            ShardStats { last_heard: Some(at(130)), ..busy },
            peer,
            140,
            ShardHealthStatus::Healthy,
        ),
        (
            "busy, and has stopped to answer PINGs",
            ShardStats { last_heard: Some(at(130)), ..busy },
            peer,
            141,
            unhealthy(ReadHang),
        ),
        (
            "busy since a moment ago after a long pause",
            ShardStats { unanswered_since: Some(at(150)), ..busy },
            peer,
            155,
            ShardHealthStatus::Healthy,
        ),
        (
            "busy and failing: a hang comes first",
            ShardStats { inflight: 1, ..failing },
            peer,
            111,
            unhealthy(ReadHang),
        ),
        ("failing while a peer answers", failing, peer, 103, unhealthy(ConsecutiveFailuresWithHealthyPeers)),
        ("failing, within its grace", failing, peer, 102, ShardHealthStatus::Healthy),
        (
            "failing a little",
            ShardStats { consecutive_failures: 4, ..failing },
            peer,
            103,
            ShardHealthStatus::Healthy,
        ),
        (
            "failing like its peer",
            failing,
            ShardStats { consecutive_failures: 5, ..peer },
            103,
            unhealthy(ConsecutiveFailuresAlone),
        ),
        (
            "failing, its peer silent for longer",
            failing,
            ShardStats { last_success: Some(at(99)), ..peer },
            103,
            unhealthy(ConsecutiveFailuresAlone),
        ),
        (
            "failing, never answered",
            never_answered,
            peer,
            110,
            unhealthy(ConsecutiveFailuresWithHealthyPeers),
        ),
        (
            "failing, its peer never answered",
            failing,
            ShardStats { last_success: None, ..peer },
            103,
            unhealthy(ConsecutiveFailuresAlone),
        ),
        (
            "given a request that was given up, not long ago",
            ShardStats { unanswered_since: Some(at(120)), ..shard(1) },
            peer,
            130,
            ShardHealthStatus::Healthy,
        ),
        (
            "given requests that were given up one after the other, and silent",
            ShardStats { unanswered_since: Some(at(120)), ..shard(1) },
            peer,
            131,
            unhealthy(ReadHang),
        ),
        (
            "a request from before the last answer still waits",
            ShardStats { inflight: 1, unanswered_since: None, last_success: Some(at(120)), ..shard(1) },
            peer,
            131,
            unhealthy(ReadHang),
        ),
        (
            "retired, its request may finish",
            ShardStats { inflight: 1, retired_at: Some(at(110)), ..failing },
            peer,
            170,
            ShardHealthStatus::Healthy,
        ),
        (
            "retired, its request does not end",
            ShardStats { inflight: 1, retired_at: Some(at(110)), ..failing },
            peer,
            171,
            unhealthy(DrainTimeout),
        ),
        (
            "retired and empty",
            ShardStats { retired_at: Some(at(110)), ..failing },
            peer,
            999,
            ShardHealthStatus::Healthy,
        ),
        ("quiet", shard(1), peer, 160, ShardHealthStatus::Healthy),
        ("quiet for too long", shard(1), peer, 161, ShardHealthStatus::Idle),
    ] {
        let found = check_shard_health(&shard, &[shard, peer], &ShardingConfig::default(), at(seconds));
        assert_eq!(found, expected, "{case}");
    }
}

#[test]
fn a_connection_is_no_peer_of_its_own() {
    let failing = ShardStats { consecutive_failures: 5, ..shard(1) };
    let pool = [failing];
    assert_eq!(
        check_shard_health(&failing, &pool, &ShardingConfig::default(), at(130)),
        ShardHealthStatus::Unhealthy { reason: ConsecutiveFailuresAlone }
    );
}

#[test]
fn a_request_that_is_given_up_counts_if_nothing_was_heard_since_it_was_sent() {
    for (sent, last_success, expected) in [
        (None, None, false),
        (None, Some(5), false),
        (Some(5), None, true),
        (Some(5), Some(4), true),
        (Some(5), Some(5), false),
        (Some(5), Some(6), false),
    ] {
        let found = counts_as_silence(sent.map(at), last_success.map(at));
        assert_eq!(found, expected, "sent at {sent:?}, answered at {last_success:?}");
    }
}

#[test]
fn an_endpoint_is_dropped_ten_minutes_after_its_last_use() {
    for (last_used, is_in_use, seconds, expected) in
        [(0, false, 600, false), (0, false, 601, true), (0, true, 601, false), (60, false, 601, false)]
    {
        let found = endpoint_is_unused(at(last_used), is_in_use, &ShardingConfig::default(), at(seconds));
        assert_eq!(found, expected, "used at {last_used}, in use: {is_in_use}, at {seconds}");
    }
}

#[test]
fn a_sweep_closes_and_opens() {
    let idle = shard(1);
    let hanging = ShardStats { inflight: 1, ..shard(3) };
    let full =
        ShardStats { inflight: 16, last_success: Some(at(200)), last_request: Some(at(200)), ..shard(4) };
    let doomed = ShardStats { retired_at: Some(at(190)), ..hanging };
    let stuck = ShardStats { retired_at: Some(at(139)), ..hanging };
    let failing = ShardStats { consecutive_failures: 5, last_request: Some(at(199)), ..shard(5) };
    let given_up = ShardStats { unanswered_since: Some(at(189)), ..shard(6) };
    let named = |id, shard: ShardStats| ShardStats { id, ..shard };
    let minimum = |min| ShardingConfig { min_clients_per_endpoint: min, ..ShardingConfig::default() };
    for (case, pool, config, cpu, close, open) in [
        ("nothing to do", vec![named(1, idle)], minimum(1), None, vec![], 0),
        (
            "idle above the minimum",
            vec![named(1, idle), named(2, idle), named(3, idle)],
            minimum(1),
            None,
            vec![(2, IdleTimeout), (3, IdleTimeout)],
            0,
        ),
        (
            "idle down to the minimum",
            vec![named(1, idle), named(2, idle), named(3, idle)],
            minimum(2),
            None,
            vec![(3, IdleTimeout)],
            0,
        ),
        ("one that hangs is replaced", vec![hanging], minimum(1), None, vec![(3, ReadHang)], 1),
        (
            "an idle one takes its place",
            vec![hanging, named(1, idle)],
            minimum(1),
            None,
            vec![(3, ReadHang)],
            0,
        ),
        ("nothing is evicted when the processors are busy", vec![hanging], minimum(1), Some(0.91), vec![], 0),
        ("evicted while they are not", vec![hanging], minimum(1), Some(0.9), vec![(3, ReadHang)], 1),
        (
            "idle ones go even then",
            vec![full, named(2, idle)],
            minimum(1),
            Some(0.99),
            vec![(2, IdleTimeout)],
            1,
        ),
        ("one more when the rest are full", vec![full], minimum(1), None, vec![], 1),
        ("being closed already", vec![doomed, full], minimum(1), None, vec![], 1),
        ("empty pool", vec![], minimum(2), None, vec![], 2),
        (
            "a failing one goes where another is in order",
            vec![failing, full],
            minimum(1),
            None,
            vec![(5, ConsecutiveFailuresWithHealthyPeers)],
            1,
        ),
        (
            "one that does not drain is closed",
            vec![stuck, full],
            minimum(1),
            None,
            vec![(3, DrainTimeout)],
            1,
        ),
    ] {
        let expected = SweepPlan { close, replace: Vec::new(), open };
        assert_eq!(plan_sweep(&pool, &config, cpu, at(200)), expected, "{case}");
    }
    for (case, pool, cpu, replace) in [
        ("a lone failing one", vec![failing], None, vec![(5, ConsecutiveFailuresAlone)]),
        ("a lone silent one that nobody waits on", vec![given_up], None, vec![(6, ReadHang)]),
        ("all fail alike", vec![failing, given_up], None, vec![(5, ConsecutiveFailuresAlone), (6, ReadHang)]),
        ("not while the processors are busy", vec![failing], Some(0.91), vec![]),
    ] {
        let expected = SweepPlan { close: Vec::new(), replace, open: 0 };
        assert_eq!(plan_sweep(&pool, &minimum(1), cpu, at(200)), expected, "{case}");
    }
}

fn after(rates: impl IntoIterator<Item = u64>) -> f64 {
    rates.into_iter().fold(LoadSpread::new(0.5), |spread, rate| spread.after_interval(rate)).ratio()
}

#[test]
fn a_steady_load_is_concentrated_and_an_unsteady_one_spread() {
    assert_eq!(after([]), 0.5);
    assert_eq!(after([100, 900, 10]), 0.5, "too early to tell");
    assert!(after([100; 20]) < 0.26);
    assert!(after([10, 500, 10, 500].repeat(8)) > 0.7);
    assert!((after([0; 20]) - 0.5).abs() < 0.01, "nothing to adapt to");
    let calm_again = after([10, 500].repeat(8).into_iter().chain([250; 30]));
    assert!(calm_again < 0.3, "{calm_again}");
}

#[test]
fn the_configuration_comes_from_the_options() {
    let none = ShardingOptions::default();
    let set = ShardingOptions::default().with_max_clients_per_endpoint(32_u32);
    let view = ShardingOptionsView::new(&none, &none, &set);
    assert_eq!(ShardingConfig::from_options(&view), ShardingConfig::default());
}

proptest! {
    #[test]
    fn no_connection_is_overfilled_while_one_has_room(
        loads in proptest::collection::vec(proptest::option::weighted(0.9, 0..20_u32), 0..12),
        ratio in 0.0..=1.0_f64,
        max_clients in 1..12_u32,
    ) {
        let config = config(16, max_clients);
        let usable: Vec<u32> = loads.iter().flatten().copied().collect();
        match select(&loads, ratio, &config) {
            Use(place) => prop_assert!(loads[place].is_some_and(|load| load < 16)),
            Create { fallback } => {
                prop_assert!(usable.iter().all(|load| *load >= 16));
                prop_assert!(usable.is_empty() || usable.len() < max_clients as usize);
                prop_assert!(fallback.is_none_or(|place| loads[place] == usable.iter().min().copied()));
            }
            Overloaded(place) => {
                prop_assert!(usable.iter().all(|load| *load >= 16) && usable.len() >= max_clients as usize);
                prop_assert_eq!(loads[place], usable.iter().min().copied());
            }
        }
    }

    #[test]
    fn the_spread_stays_a_share(rates in proptest::collection::vec(any::<u32>(), 0..50), base in -1.0..2.0_f64) {
        let mut spread = LoadSpread::new(base);
        for rate in rates {
            spread = spread.after_interval(u64::from(rate));
            prop_assert!((0.0..=1.0).contains(&spread.ratio()), "{spread:?}");
        }
    }
}
