//! What queries and change feeds share: where parts of a container are, requests under way, tokens as text.

pub(crate) mod in_flight;
pub(crate) mod place;
pub(crate) mod token;
