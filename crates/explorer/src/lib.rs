//! The explorer: a page in a browser that shows an account and changes it, served by a process on the same machine.
//!
//! The page is plain modules in `page/`; all that it knows it asks of `api/`, which speaks to the account through the
//! client and to an emulator through its management API. Keys of the account never reach the page.

// A connection, and who may ask.
mod serve;
mod session;

// What is answered.
mod answer;
mod api;
mod assets;
mod explanation;
mod place;

// What is told of the emulator.
mod manage;
mod requests;

mod door;

pub use explanation::explanation;
pub use manage::{ManagementAddress, NoAddress};
pub use requests::{Entry, Requests, Struck};
pub use serve::{Explorer, Port, Settings};

// The program of the README is compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
