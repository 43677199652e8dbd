//! The engine under lists, queries, change feeds and `read_many`.
//!
//! A [`Source`](source::Source) makes pages of JSON, one after the other. [`RawPages`](raw_pages::RawPages) polls it and
//! keeps what is under way, and `Items` and `Pages` read what comes of it as types. A source that reads several
//! partitions does so by [`Parts`](parts::Parts). What is asked, and what the answers mean, is in `query`, `change_feed` and
//! `read_many`; feeds that the service pages by itself are in `listing`.

mod items;
mod page;
mod pages;
mod raw_pages;

pub(crate) mod in_flight;
pub(crate) mod listing;
pub(crate) mod parts;
pub(crate) mod place;
pub(crate) mod source;
pub(crate) mod tally;
pub(crate) mod token;

pub use items::Items;
pub use page::Page;
pub use pages::Pages;

pub(crate) use page::RawPage;
