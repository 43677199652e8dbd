//! A violation as a timeline that a person can read: its calls, those on the same items around them, and what was done to
//! the world meanwhile.

mod html;
mod scene;
mod text;

pub use html::html;
pub use text::text;
