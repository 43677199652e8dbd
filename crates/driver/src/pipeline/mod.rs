//! How an operation runs: attempts across regions, and within each the tries over connections.
//!
//! The operation pipeline asks `cosmonaut-policy` where to go and what to do next; the transport pipeline
//! signs, sends and repeats on the spot. Neither decides anything itself.

mod attempt;
mod binary;
mod frame;
mod hedge;
mod learn;
mod left_writes;
mod leg;
mod operation;
mod target;
mod transport;

#[cfg(feature = "fault_injection")]
pub(crate) use frame::MadeHere;
pub(crate) use left_writes::LeftWrites;
pub(crate) use operation::{OperationPipeline, out_of_time};
pub(crate) use transport::{Leg, TransportPipeline};
