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
//! | lost its connection | is lost | as after any lost answer, and by REST from then on |
//! | got no answer within a second or more | is suspected | likewise |
//! | is answered that the gateway is closed (13000, 13001) | is unproven | repeats in place by REST |
//! | is answered that the gateway does not do it (13002 to 13007, 13013 to 13015, 405, 501), is too busy (13010) or keeps the caller out (13008, 13021) | is lost if it does nothing else | repeats in place by REST |
//! | is answered that the gateway has failed (13009, 13011, 13012) | is lost | as after a lost answer |
//! | is silent when the deadline passes | is suspected after a second | as by REST |
//! | is silent when another region has answered | is suspected after several in a row | as by REST |
//!
//! A lost gateway is probed after ten seconds, and later each time it is lost again. One that is suspected is probed at
//! once, as a request may be slow by itself, and later only if it answers probes and no frames. One that is closed or
//! never answered a probe is probed when the account is read. What a gateway does says nothing of its region and its
//! partitions; only a silence while other frames are answered counts against the partition too.

mod answer;
mod gateways;
mod request;
mod shape;
#[cfg(test)]
mod tests;

pub use answer::{FramedAnswer, read_framed_answer};
pub(crate) use gateways::FramedGateways;
pub use request::{FrameParts, FramedContainer};
pub use shape::{FrameAim, frame_aim};
pub(crate) use shape::{GatewayVerdict, can_be_framed, gateway_verdict};
