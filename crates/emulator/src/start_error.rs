//! Why an emulator did not start.

use std::error::Error;
use std::fmt;

use cosmonaut_wire::MasterKeyError;

use crate::server::{BindError, TlsError};
use crate::storage::StorageError;

/// Why an emulator did not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// There can be no such account.
    Account(String),
    /// The account key is not base64.
    Key(MasterKeyError),
    /// The certificate cannot be used.
    Tls(TlsError),
    /// The port cannot be had.
    Bind(BindError),
    /// The data cannot be opened.
    Storage(StorageError),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Account(message) => f.write_str(message),
            Self::Key(error) => error.fmt(f),
            Self::Tls(error) => error.fmt(f),
            Self::Bind(error) => error.fmt(f),
            Self::Storage(error) => error.fmt(f),
        }
    }
}

impl Error for StartError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Account(_) => None,
            Self::Key(error) => Some(error),
            Self::Tls(error) => Some(error),
            Self::Bind(error) => Some(error),
            Self::Storage(error) => Some(error),
        }
    }
}

macro_rules! widened {
    ($($error:ident => $variant:ident),+) => {
        $(impl From<$error> for StartError {
            fn from(error: $error) -> Self {
                Self::$variant(error)
            }
        })+
    };
}

widened!(MasterKeyError => Key, TlsError => Tls, BindError => Bind, StorageError => Storage);
