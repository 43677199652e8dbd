//! What the page can ask: one file for each subject, and here which address is whose.
//!
//! Items are text from the account to the page and back: nothing here writes a number anew.

mod containers;
mod durable;
mod feeds;
mod instances;
mod item_text;
mod items;
mod queries;
mod sampled;
mod scripts;
mod users;

use bytes::Bytes;
use cosmonaut::{ContainerClient, CosmosClient};
use http::{Method, StatusCode};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::answer::{Answer, Refusal, json_answer};
use crate::door;
use crate::place::Place;
use crate::serve::Settings;
use crate::session::is_reading;
use durable::Stores;

/// How many requests of the log are given at once.
const LOG_ROWS: usize = 2000;

/// What everything that the page asks is answered from.
pub(crate) struct Api {
    settings: Settings,
    stores: Stores,
}

/// A question of the page.
struct Ask<'a> {
    api: &'a Api,
    method: &'a Method,
    place: &'a Place,
    body: &'a Bytes,
}

impl Api {
    pub(crate) fn new(settings: Settings) -> Self {
        Self { settings, stores: Stores::default() }
    }

    pub(crate) async fn answer(
        &self,
        method: &Method,
        place: &Place,
        body: &Bytes,
    ) -> Result<Answer, Refusal> {
        let ask = Ask { api: self, method, place, body };
        let parts: Vec<&str> = place.parts.iter().skip(1).map(String::as_str).collect();
        let found = match parts.as_slice() {
            ["manage", rest @ ..] => return ask.manage(rest).await,
            ["account"] => ask.account().await,
            ["requests"] => ask.requests(),
            ["requests", number] => ask.request(number),
            ["traffic"] => ask.traffic(),
            ["databases", rest @ ..] => ask.databases(rest).await,
            ["containers", database, container, rest @ ..] => ask.container(database, container, rest).await,
            ["items", database, container, rest @ ..] => ask.items(database, container, rest).await,
            ["scripts", database, container, rest @ ..] => ask.scripts(database, container, rest).await,
            ["users", database, rest @ ..] => ask.users(database, rest).await,
            ["changes", database, container] if method == Method::GET => {
                ask.changes(database, container).await
            }
            ["conflicts", database, container, rest @ ..] => ask.conflicts(database, container, rest).await,
            ["check"] => ask.check_query(),
            ["functions"] => Ok(queries::functions()),
            ["query", database, container, rest @ ..] => ask.query(database, container, rest).await,
            ["durable", rest @ ..] => ask.durable(rest).await,
            _ => Err(ask.nothing_there()),
        };
        Ok(json_answer(StatusCode::OK, &found?))
    }
}

impl Ask<'_> {
    fn client(&self) -> &CosmosClient {
        &self.api.settings.client
    }

    fn container_client(&self, database: &str, container: &str) -> ContainerClient {
        self.client().database(database).container(container)
    }

    fn nothing_there(&self) -> Refusal {
        Refusal::not_found(format!("there is nothing at {} {}", self.method, self.place.parts.join("/")))
    }

    /// 403 where nothing may be changed.
    fn may_change(&self) -> Result<(), Refusal> {
        match &self.api.settings.read_only {
            None => Ok(()),
            Some(remedy) => {
                let message = format!("this explorer only reads ({remedy})");
                Err(Refusal::new(StatusCode::FORBIDDEN, "read-only", message))
            }
        }
    }

    fn body<T: DeserializeOwned>(&self) -> Result<T, Refusal> {
        serde_json::from_slice(self.body)
            .map_err(|error| Refusal::bad(format!("the request cannot be read: {error}")))
    }

    /// The management API, as it is.
    async fn manage(&self, rest: &[&str]) -> Result<Answer, Refusal> {
        let Some(address) = &self.api.settings.management else {
            return Err(Refusal::not_found(NO_MANAGEMENT));
        };
        if !is_reading(self.method) {
            self.may_change()?;
        }
        let path: String = rest.iter().map(|part| format!("/{}", escape(part))).collect();
        let path = if path.is_empty() { "/" } else { &path };
        address.send(self.method, path, self.body).await
    }

    async fn account(&self) -> Result<Value, Refusal> {
        let settings = &self.api.settings;
        let account = settings.client.account().await?;
        let region = |location: &cosmonaut::model::AccountLocation| json!(location.name.as_str());
        Ok(json!({
            "endpoint": settings.endpoint,
            "id": account.id,
            // What the browser keeps is kept for this account alone: others may be shown at the same address.
            "identity": format!("{} {}", account.id, settings.endpoint.trim_end_matches('/')),
            "writeRegions": account.writable_locations.iter().map(region).collect::<Vec<_>>(),
            "regions": account.readable_locations.iter().map(region).collect::<Vec<_>>(),
            "readOnly": settings.read_only,
            "isEmulator": settings.management.is_some(),
            // For the commands that do the same in a terminal.
            "management": settings.management.as_ref().map(ToString::to_string),
            "hasRequests": settings.requests.is_some(),
            "version": env!("CARGO_PKG_VERSION"),
        }))
    }

    fn requests(&self) -> Result<Value, Refusal> {
        match &self.api.settings.requests {
            Some(requests) => Ok(match self.place.get("activity") {
                Some(activity) => requests.of_activity(activity),
                None => requests.after(self.place.number("after", 0)?, LOG_ROWS),
            }),
            None => Err(Refusal::not_found(NO_REQUESTS)),
        }
    }

    fn request(&self, number: &str) -> Result<Value, Refusal> {
        let Some(requests) = &self.api.settings.requests else {
            return Err(Refusal::not_found(NO_REQUESTS));
        };
        let number = number.parse();
        let number =
            number.map_err(|_| Refusal::bad("a request is asked for by its number (try requests/1)"))?;
        requests.one(number).map_err(Refusal::not_found)
    }

    fn traffic(&self) -> Result<Value, Refusal> {
        let seconds: u64 = self.place.number("seconds", 60)?;
        match &self.api.settings.requests {
            Some(requests) => Ok(requests.traffic(door::millis(), seconds.clamp(1, 600))),
            None => Err(Refusal::not_found(NO_REQUESTS)),
        }
    }
}

const NO_MANAGEMENT: &str =
    "no management API is known for this account (for an emulator, start the explorer with --management URL)";
const NO_REQUESTS: &str = "the requests of this account are not known here (`cosmonaut up` shows those of the emulator that it starts)";

/// A name as a part of a path.
fn escape(name: &str) -> String {
    let escape = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    name.bytes().map(escape).collect()
}
