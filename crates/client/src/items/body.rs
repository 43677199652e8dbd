//! What items are made of: any type that `serde` knows, or the bytes of one.

use bytes::Bytes;
use cosmonaut_wire::model::from_json;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Error, ErrorKind, Result};

/// An item as bytes: nothing is parsed, copied or checked on its way in or out.
///
/// ```no_run
/// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
/// use cosmonaut::RawItem;
///
/// let item = RawItem::from(r#"{"id":"7","customer":"contoso"}"#);
/// orders.create_item("contoso", &item).await?;
/// let found: RawItem = orders.read_item("contoso", "7").await?.into_value();
/// println!("{} bytes", found.as_bytes().len());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RawItem(Bytes);

impl RawItem {
    /// The JSON text.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The JSON text, for keeping.
    pub fn into_bytes(self) -> Bytes {
        self.0
    }

    /// Whether there is no item: a write answers with none unless it is asked to.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads the item as a `T`.
    ///
    /// # Errors
    /// [`ErrorKind::Serialization`] if it is none; the message names the member at fault.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T> {
        if self.is_empty() {
            let message = "the answer holds no item (ask for it with `ItemOptions::content_response(true)`)";
            return Err(Error::new(ErrorKind::Serialization, message));
        }
        from_json("item", &self.0).map_err(|error| Error::unreadable::<T>("the item", error))
    }
}

impl From<Bytes> for RawItem {
    fn from(json: Bytes) -> Self {
        Self(json)
    }
}

impl From<Vec<u8>> for RawItem {
    fn from(json: Vec<u8>) -> Self {
        Self(json.into())
    }
}

impl From<String> for RawItem {
    fn from(json: String) -> Self {
        Self(json.into())
    }
}

impl From<&'static str> for RawItem {
    fn from(json: &'static str) -> Self {
        Self(Bytes::from_static(json.as_bytes()))
    }
}

/// What can be written as an item: whatever implements `serde::Serialize`, owned or borrowed, and [`RawItem`].
///
/// ```
/// # fn write(item: impl cosmonaut::IntoItem) {}
/// write(serde_json::json!({"id": "7", "customer": "contoso"}));
/// write(cosmonaut::RawItem::from(r#"{"id":"7"}"#));
/// ```
pub trait IntoItem {
    /// The JSON text.
    ///
    /// # Errors
    /// [`ErrorKind::Serialization`] if there is none.
    fn into_json(self) -> Result<Bytes>;
}

impl<T: Serialize> IntoItem for T {
    fn into_json(self) -> Result<Bytes> {
        serde_json::to_vec(&self).map(Bytes::from).map_err(|error| {
            let what = std::any::type_name::<T>();
            let message = format!("a value of type {what} cannot be written as JSON: {error}");
            Error::caused_by(ErrorKind::Serialization, message, error)
        })
    }
}

impl IntoItem for RawItem {
    fn into_json(self) -> Result<Bytes> {
        Ok(self.0)
    }
}

impl IntoItem for &RawItem {
    fn into_json(self) -> Result<Bytes> {
        Ok(self.0.clone())
    }
}

/// What an item can be read as: whatever implements `serde::de::DeserializeOwned`, and [`RawItem`].
///
/// ```
/// fn read<T: cosmonaut::FromItem>(json: &'static str) -> cosmonaut::Result<T> {
///     T::from_json(&bytes::Bytes::from_static(json.as_bytes()), "item 7")
/// }
/// assert_eq!(read::<Vec<u8>>("[1,2]")?, [1, 2]);
/// assert_eq!(read::<cosmonaut::RawItem>("[1,2]")?.as_bytes(), b"[1,2]");
/// # Ok::<(), cosmonaut::Error>(())
/// ```
pub trait FromItem: Sized {
    /// Reads the JSON text of an item. `what` names the item, for the error.
    ///
    /// # Errors
    /// [`ErrorKind::Serialization`] if it is no such item.
    fn from_json(json: &Bytes, what: impl std::fmt::Display) -> Result<Self>;
}

impl<T: DeserializeOwned> FromItem for T {
    fn from_json(json: &Bytes, what: impl std::fmt::Display) -> Result<Self> {
        from_json("item", json).map_err(|error| Error::unreadable::<T>(what, error))
    }
}

impl FromItem for RawItem {
    fn from_json(json: &Bytes, _: impl std::fmt::Display) -> Result<Self> {
        Ok(Self(json.clone()))
    }
}
