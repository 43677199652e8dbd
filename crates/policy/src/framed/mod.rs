//! Gateway 2.0: which operations can go there, which regions have one that answers, and what is sent to it.
//!
//! A request goes to the Gateway 2.0 of its region if the operation can be said in a frame and the gateway has answered
//! a probe. Everything else is decided as for REST, by the region's endpoint: order, marks, hedges, sessions. What the
//! gateway fails at is repeated by REST.
//!
//! | a framed attempt | the gateway | the operation |
//! | --- | --- | --- |
//! | is answered by a frame | | goes on as after that answer |
//! | could not be sent | is lost | repeats in place by REST |
//! | got no answer | is lost | as after any lost answer, and by REST from then on |
//! | is refused by the gateway itself (13000 to 13007, 405, 501) | is refused | repeats in place by REST |
//! | is still silent after a second when the deadline passes | is lost | ends |
//!
//! A lost gateway is probed every few seconds, one that refuses or never answered a probe when the account is read.

mod answer;
mod gateways;
mod request;
mod shape;
#[cfg(test)]
mod tests;

pub use answer::{FramedAnswer, read_framed_answer};
pub(crate) use gateways::{FramedGateways, Standing};
pub use request::{FrameParts, FramedContainer};
pub use shape::{FrameAim, frame_aim};
pub(crate) use shape::{can_be_framed, is_refused_by_gateway};
