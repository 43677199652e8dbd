//! A driver in miniature: it routes, asks a scripted network, applies the effects and does what it is told.

use bytes::Bytes;
use cosmonaut_policy::{
    AbortKind, Attempt, CosmosEndpoint, CosmosOperation, FailoverMechanism, LocationSnapshot, Moment,
    OperationAction, OperationRetryState, PartitionHealth, Probe, RetryLimits, RoutingDecision,
    TransportResult, begin_probe, evaluate_transport_result, resolve_endpoint,
};
use http::{HeaderMap, StatusCode};
use std::time::Duration;

use crate::world::{self, endpoint, partition, read};

struct Driver<N> {
    location: LocationSnapshot,
    now: Moment,
    /// Answers with a status, by endpoint.
    network: N,
    visited: Vec<CosmosEndpoint>,
}

impl<N: FnMut(&CosmosEndpoint) -> u16> Driver<N> {
    fn new(network: N) -> Self {
        Self { location: world::location(), now: Moment::START, network, visited: Vec::new() }
    }

    fn route(&mut self, operation: &CosmosOperation, state: &OperationRetryState) -> RoutingDecision {
        let mut routing = resolve_endpoint(operation, state, &self.location, self.now);
        if let Probe::Proposed { partition, mechanism } = &routing.probe {
            let begun = begin_probe(&self.location.partitions, *mechanism, partition, self.now);
            let (state, ticket) = begun.expect("nobody else is here to win the probe");
            self.location = self.location.with_partitions(state);
            routing.probe = Probe::UnderWay(ticket);
        }
        routing
    }

    fn run(&mut self, operation: &CosmosOperation) -> Result<(), AbortKind> {
        let limits = RetryLimits::default();
        let mut state = OperationRetryState::initial(Some(partition()), &[]);
        loop {
            let routing = self.route(operation, &state);
            self.visited.push(routing.endpoint.clone());
            let status = StatusCode::from_u16((self.network)(&routing.endpoint)).expect("a status");
            let result =
                TransportResult::from_response(status, HeaderMap::new(), Bytes::new(), Duration::ZERO);
            let attempt = Attempt {
                operation,
                routing: &routing,
                retry_state: &state,
                location: &self.location,
                limits: &limits,
                deadline: None,
            };
            let (action, effects) = evaluate_transport_result(&attempt, &result, self.now, 0.0);
            for effect in effects {
                if let Some(next) = self.location.after(&effect, self.now) {
                    self.location = next;
                }
            }
            state = match action {
                OperationAction::Complete => return Ok(()),
                OperationAction::Abort(kind) => return Err(kind),
                OperationAction::FailoverRetry { new_state, delay, .. }
                | OperationAction::SessionRetry { new_state, delay }
                | OperationAction::RetryInPlace { new_state, delay }
                | OperationAction::RefreshRetry { new_state, delay, .. } => {
                    self.now = self.now + delay.unwrap_or_default();
                    *new_state
                }
            };
        }
    }

    fn wait(&mut self, seconds: u64) {
        self.now = self.now + Duration::from_secs(seconds);
        self.location = self.location.swept(self.now);
    }

    fn health(&self) -> Option<PartitionHealth> {
        let entry = self.location.partitions.entry(FailoverMechanism::CircuitBreaker, &partition());
        entry.map(|entry| entry.health)
    }
}

#[test]
fn a_partition_moves_is_probed_and_comes_back() {
    let east = endpoint("East US");
    let broken = std::cell::Cell::new(true);
    let mut driver =
        Driver::new(|endpoint: &CosmosEndpoint| if *endpoint == east && broken.get() { 503 } else { 200 });
    // Each failure also takes the endpoint out of service for a minute, so reads fail there once a minute.
    for _ in 0..3 {
        assert_eq!(driver.run(&read()), Ok(()));
        driver.now = driver.now + Duration::from_secs(61);
    }
    assert_eq!(driver.health(), Some(PartitionHealth::Unhealthy));
    driver.visited.clear();
    assert_eq!(driver.run(&read()), Ok(()));
    assert_eq!(
        driver.visited,
        [endpoint("West US")],
        "the override holds though the region is back in service"
    );

    driver.wait(6);
    driver.visited.clear();
    assert_eq!(driver.run(&read()), Ok(()));
    assert_eq!(driver.visited, [east.clone(), endpoint("West US")], "a probe that fails costs one attempt");
    assert_eq!(driver.health(), Some(PartitionHealth::Unhealthy));

    broken.set(false);
    driver.wait(61);
    driver.visited.clear();
    assert_eq!(driver.run(&read()), Ok(()));
    assert_eq!(
        (driver.visited.as_slice(), driver.health()),
        (&[east.clone()][..], None),
        "a probe that succeeds"
    );
}

#[test]
fn an_account_that_is_down_everywhere_is_given_up() {
    let mut driver = Driver::new(|_: &CosmosEndpoint| 503);
    assert_eq!(driver.run(&read()), Err(AbortKind::RetriesExhausted));
    assert_eq!(driver.visited.len(), 1 + RetryLimits::default().max_failover_retries as usize);
    assert!(world::REGIONS.iter().all(|region| driver.visited.contains(&endpoint(region))));
}
