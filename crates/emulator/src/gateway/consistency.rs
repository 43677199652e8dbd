//! What a read has to see: the account's promise, or what a request asks for instead.
//!
//! Waiting for other regions is the engine's [`Hold`]; here it is decided what to wait for.

use cosmonaut_wire::{ConsistencyLevel, ReadConsistencyStrategy, SessionToken, headers, mutation};

use super::Gateway;
use super::action::Action;
use super::call::Call;
use super::reply::Reply;
use crate::Failure;
use crate::engine::{Consistency, Container, Hold};

/// What a read has to see.
#[derive(Debug, PartialEq)]
pub(super) struct Reading {
    /// At least what this session has seen.
    pub(super) session: Option<SessionToken>,
    /// All that was acknowledged anywhere, and nothing that may still be lost.
    is_strong: bool,
}

impl Reading {
    /// What the answer to a read waits for that has seen this much.
    pub(super) fn hold(&self, container: &Container, seen: &SessionToken) -> Hold {
        if self.is_strong { container.settled(seen) } else { Hold::none() }
    }

    /// The answer to a request that was refused because of what it saw: that something is there, or is not.
    pub(super) fn refusal(&self, container: &Container, failure: Failure) -> Result<Reply, Failure> {
        match failure.session() {
            Some(seen) if self.is_strong => Ok(Reply::failure(&failure).held(container.settled(&seen))),
            _ => Err(failure),
        }
    }
}

impl Call<'_> {
    /// What the request has to see, on an account that makes this promise; 400 if it asks for more.
    fn reading(&self, account: &Consistency) -> Result<Reading, Failure> {
        let promised = ConsistencyLevel::from(account);
        let level = self.parsed(&headers::CONSISTENCY_LEVEL)?.unwrap_or(promised);
        if !promised.is_at_least(level) {
            return Err(Failure::bad_request(format!(
                "consistency level {level} is stronger than the account's, which is {promised} (ask for {promised} or \
                 a weaker one)"
            )));
        }
        let strategy = match self.text(&headers::READ_CONSISTENCY_STRATEGY)? {
            // The client picks the region itself.
            Some("LastCommittedSingleWriteRegion") => Some(ReadConsistencyStrategy::LatestCommitted),
            _ => self.parsed(&headers::READ_CONSISTENCY_STRATEGY)?,
        };
        let (by_session, is_strong) = match strategy.unwrap_or(ReadConsistencyStrategy::Default) {
            ReadConsistencyStrategy::Default => match level {
                ConsistencyLevel::Strong => (true, true),
                ConsistencyLevel::BoundedStaleness | ConsistencyLevel::Session => (true, false),
                ConsistencyLevel::ConsistentPrefix | ConsistencyLevel::Eventual => (false, false),
            },
            // What a region has, it has committed, so reading it is all that this asks for.
            ReadConsistencyStrategy::Eventual | ReadConsistencyStrategy::LatestCommitted => (false, false),
            ReadConsistencyStrategy::Session => (true, false),
            ReadConsistencyStrategy::GlobalStrong if promised == ConsistencyLevel::Strong => (true, true),
            strategy @ ReadConsistencyStrategy::GlobalStrong => {
                return Err(Failure::bad_request(format!(
                    "the read consistency strategy {strategy} needs an account whose consistency is Strong, and this \
                     one's is {promised} (ask for LatestCommitted or Session)"
                )));
            }
        };
        let by_session = by_session && !mutation!("session-is-not-waited-for");
        let session = if by_session { self.session()? } else { None };
        Ok(Reading { session, is_strong })
    }
}

impl Call<'_> {
    /// What the client's session has seen.
    fn session(&self) -> Result<Option<SessionToken>, Failure> {
        let Some(text) = self.text(&headers::SESSION_TOKEN)?.map(str::trim).filter(|text| !text.is_empty())
        else {
            return Ok(None);
        };
        text.parse().map(Some).map_err(|error| {
            let shown: String = text.chars().take(200).collect();
            Failure::bad_request(format!("The session token provided '{shown}' is invalid. ({error})"))
        })
    }
}

impl Gateway {
    /// What a request has to see of a container.
    pub(super) fn reading(&self, call: &Call<'_>, container: &Container) -> Result<Reading, Failure> {
        let reading = call.reading(&self.engine.topology().consistency)?;
        Ok(Reading { session: reading.session.map(|seen| container.own_part(seen)), ..reading })
    }

    /// What a write has to see of its item: on a Strong account nothing that may still be lost; where every region writes, what
    /// its session has seen. Where one region writes, that one has all there is.
    pub(super) fn writing(&self, call: &Call<'_>, container: &Container) -> Result<Reading, Failure> {
        let topology = self.engine.topology();
        let session = if topology.multi_write { self.reading(call, container)?.session } else { None };
        Ok(Reading { session, is_strong: topology.consistency == Consistency::Strong })
    }

    /// Waits until a request may begin: a strong read, until its region has all that was acknowledged when it came.
    pub(super) async fn ready(&self, action: Action, call: &Call<'_>) -> Result<(), Failure> {
        let reads =
            matches!(action, Action::ReadItem | Action::ListItems | Action::QueryItems | Action::ReadChanges);
        let promised = &self.engine.topology().consistency;
        if !reads || *promised != Consistency::Strong || !call.reading(promised)?.is_strong {
            return Ok(());
        }
        let barrier = self.container(call)?.barrier(self.region, &call.scope()?)?;
        barrier.wait().await
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use cosmonaut_wire::ResourcePath;
    use http::{HeaderMap, HeaderValue};

    use super::super::origin::{Origin, Scheme};
    use super::*;
    use crate::Pace;

    #[test]
    fn a_request_may_ask_for_less_than_the_account_promises() {
        use Consistency as C;
        const BOTH: Option<(bool, bool)> = Some((true, true));
        const SESSION: Option<(bool, bool)> = Some((true, false));
        const NONE: Option<(bool, bool)> = Some((false, false));
        for (account, level, strategy, expected) in [
            (C::Session, "", "", SESSION),
            (C::Session, "Eventual", "", NONE),
            (C::Session, "Strong", "", None),
            (C::Session, "BoundedStaleness", "", None),
            (C::Session, "", "LatestCommitted", NONE),
            (C::Session, "", "LastCommittedSingleWriteRegion", NONE),
            (C::Session, "", "GlobalStrong", None),
            (C::Session, "", "nonsense", None),
            (C::Strong, "", "", BOTH),
            (C::Strong, "Session", "", SESSION),
            (C::Strong, "Session", "GlobalStrong", BOTH),
            (C::Strong, "", "Eventual", NONE),
            (C::BOUNDED, "", "", SESSION),
            (C::BOUNDED, "Strong", "", None),
            (C::Eventual, "", "", NONE),
            (C::Eventual, "Session", "", None),
            (C::Eventual, "", "Session", SESSION),
            (C::ConsistentPrefix, "Eventual", "Default", NONE),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(headers::SESSION_TOKEN, HeaderValue::from_static("0:-1#1"));
            headers.insert(headers::CONSISTENCY_LEVEL, HeaderValue::from_static(level));
            headers.insert(headers::READ_CONSISTENCY_STRATEGY, HeaderValue::from_static(strategy));
            let origin = Origin { scheme: Scheme::Http, authority: None, peer: None };
            let (path, body) = (ResourcePath::account(), Bytes::new());
            let pace = Pace::default();
            let reading = Call { path, headers: &headers, body, origin, pace, only: None }.reading(&account);
            let found = reading.ok().map(|reading| (reading.session.is_some(), reading.is_strong));
            assert_eq!(found, expected, "{account:?} {level} {strategy}");
        }
    }
}
