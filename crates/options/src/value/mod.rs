//! How option values are read from text and shown as text.
//!
//! An empty variable is never a value: unset it instead. Layers and variables are not known here.

mod collections;
pub mod duration;
mod names;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::Expected;

/// A type that an option can have: something that can be shown.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an option's type yet",
    note = "implement `cosmonaut_options::OptionValue`, which says how a value is shown"
)]
pub trait OptionValue {
    /// The value, as a person would write it in a variable.
    fn render(&self) -> String;
}

/// A type whose values can be read from an environment variable.
///
/// For a type with one spelling, parsing what `render` returns gives the value back.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read from an environment variable yet",
    note = "implement `cosmonaut_options::EnvValue`, or name a function with `#[option(parse = …)]`"
)]
pub trait EnvValue: OptionValue + Sized {
    /// Reads a value.
    ///
    /// # Errors
    /// What the text should have been.
    fn parse(text: &str) -> Result<Self, Expected>;
}

/// Values that show themselves as they print.
macro_rules! render_as_display {
    ($($type:ty),+ $(,)?) => {
        $(impl $crate::OptionValue for $type {
            fn render(&self) -> String {
                self.to_string()
            }
        })+
    };
}
pub(crate) use render_as_display;

macro_rules! integers {
    ($($type:ty),+) => {
        $(impl EnvValue for $type {
            fn parse(text: &str) -> Result<Self, Expected> {
                text.trim().parse().map_err(|_| {
                    Expected::new(format!("a whole number from {} to {}", <$type>::MIN, <$type>::MAX))
                })
            }
        })+
    };
}

macro_rules! floats {
    ($($type:ty),+) => {
        $(impl EnvValue for $type {
            fn parse(text: &str) -> Result<Self, Expected> {
                let number = text.trim().parse().ok().filter(|number: &$type| number.is_finite());
                number.ok_or(Expected::new("a number (try \"0.5\")"))
            }
        })+
    };
}

render_as_display!(bool, char, u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize, f32, f64);
render_as_display!(String, IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr);
integers!(u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize);
floats!(f32, f64);

impl EnvValue for bool {
    fn parse(text: &str) -> Result<Self, Expected> {
        match text.trim().to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" | "on" => Ok(true),
            "false" | "0" | "no" | "off" => Ok(false),
            _ => Err(Expected::new(
                "a switch (try \"true\" or \"false\"; 1, 0, yes, no, on and off are read too)",
            )),
        }
    }
}

impl EnvValue for String {
    fn parse(text: &str) -> Result<Self, Expected> {
        if text.is_empty() {
            Err(Expected::new("a text (write one, or unset the variable)"))
        } else {
            Ok(text.to_owned())
        }
    }
}

macro_rules! addresses {
    ($($type:ty => $expected:literal),+ $(,)?) => {
        $(impl EnvValue for $type {
            fn parse(text: &str) -> Result<Self, Expected> {
                text.trim().parse().map_err(|_| Expected::new($expected))
            }
        })+
    };
}

addresses! {
    IpAddr => "an IP address (try \"10.0.0.1\" or \"::1\")",
    Ipv4Addr => "an IPv4 address (try \"10.0.0.1\")",
    Ipv6Addr => "an IPv6 address (try \"::1\")",
    SocketAddr => "an address with a port (try \"10.0.0.1:8081\")",
}

#[cfg(test)]
mod tests;
