//! Gateway 2.0: what a client that sends frames sees.

mod faults;
mod operations;
mod refusals;

use bytes::Bytes;
use cosmonaut_emulator::{EMULATOR_KEY, Emulator, EmulatorBuilder};
use cosmonaut_wire::rntbd::{
    FrameWriter, Guid, Operation, RequestHead, Resource, ResponseFrame, Token, Value, request,
};
use cosmonaut_wire::rntbd::{Rule, response};
use cosmonaut_wire::{MasterKey, ResourcePath, ResourceType};
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::json;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::client::date;
use crate::socket::{Connection, EAST, authority, two_regions};

const ACTIVITY: &str = "00112233-4455-6677-8899-aabbccddeeff";

/// A connection to a region's Gateway 2.0.
struct Frames {
    sender: http2::SendRequest<Full<Bytes>>,
    url: String,
    _task: JoinSet<()>,
}

/// A token and its value.
type Field<'f> = (&'static Token, Value<'f>);

/// A request before it is signed.
struct Ask<'f> {
    resource: Resource,
    operation: Operation,
    /// The item or the stored procedure.
    name: Option<&'f str>,
    fields: Vec<Field<'f>>,
    payload: Option<&'f [u8]>,
}

fn ask<'f>(operation: Operation) -> Ask<'f> {
    Ask { resource: Resource::Document, operation, name: None, fields: Vec::new(), payload: None }
}

impl<'f> Ask<'f> {
    fn name(self, name: &'f str) -> Self {
        Self { name: Some(name), ..self }
    }

    fn with(mut self, token: &'static Token, value: Value<'f>) -> Self {
        self.fields.push((token, value));
        self
    }

    fn key(self, key: &'f str) -> Self {
        self.with(&request::PARTITION_KEY, Value::Text(key))
    }

    fn payload(self, payload: &'f str) -> Self {
        Self { payload: Some(payload.as_bytes()), ..self }
    }

    /// The verb that is signed.
    fn verb(&self) -> Method {
        match self.operation {
            Operation::Read | Operation::ReadFeed => Method::GET,
            Operation::Replace => Method::PUT,
            Operation::Delete => Method::DELETE,
            Operation::Patch => Method::PATCH,
            _ => Method::POST,
        }
    }

    fn path(&self) -> ResourcePath {
        let container = ResourcePath::database("d").unwrap().child(ResourceType::Container, "c").unwrap();
        let kind = match self.resource {
            Resource::StoredProcedure => ResourceType::StoredProcedure,
            _ => ResourceType::Document,
        };
        match self.name {
            Some(name) => container.child(kind, name).unwrap(),
            None => container.feed(kind).unwrap(),
        }
    }

    fn frame(&self) -> Vec<u8> {
        let (date, key) = (date(), MasterKey::from_base64(EMULATOR_KEY).unwrap());
        let signature = key.sign(&self.verb(), self.path().signed_by_name(), &date);
        let signature = signature.to_str().unwrap();
        let named = match self.resource {
            Resource::StoredProcedure => &request::STORED_PROCEDURE_NAME,
            _ => &request::DOCUMENT_NAME,
        };
        let mut frame = vec![
            (&request::ACCOUNT_NAME, Value::Text("cosmonaut")),
            (&request::DATABASE_NAME, Value::Text("d")),
            (&request::COLLECTION_NAME, Value::Text("c")),
        ];
        frame.extend(self.name.map(|name| (named, Value::Text(name))));
        frame.push((&request::AUTHORIZATION, Value::Text(signature)));
        frame.push((&request::DATE, Value::Text(&date)));
        frame.extend(self.fields.iter().copied());
        self.frame_of(&frame)
    }

    fn frame_of(&self, fields: &[Field<'_>]) -> Vec<u8> {
        let activity: Guid = ACTIVITY.parse().unwrap();
        let head = RequestHead { resource: self.resource, operation: self.operation, activity };
        let mut bytes = Vec::new();
        let mut frame = FrameWriter::request(&mut bytes, head, self.payload);
        for (token, value) in fields {
            frame.push(token, *value).unwrap();
        }
        frame.finish().unwrap();
        bytes
    }
}

/// What came back, whose frame was looked at as strict clients do.
struct Framed {
    bytes: Bytes,
}

impl Framed {
    fn of(response: &Response<Bytes>) -> Self {
        let frame = ResponseFrame::parse(response.body()).unwrap();
        assert_eq!(frame.status, response.status().as_u16(), "both statuses are one");
        assert_eq!(response.headers()["content-type"], "application/octet-stream");
        for token in response::ALL.iter().filter(|token| token.rule == Rule::Required) {
            assert!(frame.tokens().find(token).is_some(), "{}", token.name);
        }
        assert_eq!(frame.tokens().find(&response::TRANSPORT_REQUEST_ID), Some(Value::Unsigned(1)));
        assert!(frame.tokens().map(|(token, _)| token.id).is_sorted());
        Self { bytes: response.body().clone() }
    }

    fn frame(&self) -> ResponseFrame<'_> {
        ResponseFrame::parse(&self.bytes).unwrap()
    }

    fn status(&self) -> u16 {
        self.frame().status
    }

    fn sub_status(&self) -> u64 {
        self.frame().tokens().find(&response::SUB_STATUS).and_then(Value::unsigned).unwrap_or_default()
    }

    fn text(&self, token: &Token) -> &str {
        self.frame().tokens().find(token).and_then(Value::text).unwrap_or_default()
    }

    fn value(&self, token: &Token) -> Option<Value<'_>> {
        self.frame().tokens().find(token)
    }

    fn json(&self) -> serde_json::Value {
        self.frame().payload.map_or(serde_json::Value::Null, |body| serde_json::from_slice(body).unwrap())
    }
}

impl Frames {
    async fn open(emulator: &Emulator, region: &str) -> std::io::Result<Self> {
        let url = emulator.gateway2_url(region).unwrap();
        let stream = TcpStream::connect(authority(&url)).await?;
        let (sender, connection) =
            http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
        let mut task = JoinSet::new();
        task.spawn(async move { drop(connection.await) });
        Ok(Self { sender, url, _task: task })
    }

    async fn post(&mut self, path: &str, body: Vec<u8>) -> Result<Response<Bytes>, hyper::Error> {
        self.request(Method::POST, path, body).await
    }

    async fn request(
        &mut self,
        method: Method,
        path: &str,
        body: Vec<u8>,
    ) -> Result<Response<Bytes>, hyper::Error> {
        let uri = format!("{}{path}", self.url.trim_end_matches('/'));
        let request = Request::builder().method(method).uri(uri).body(Full::new(body.into())).unwrap();
        let (parts, body) = self.sender.send_request(request).await?.into_parts();
        Ok(Response::from_parts(parts, body.collect().await?.to_bytes()))
    }

    async fn send(&mut self, ask: Ask<'_>) -> Framed {
        let answer = Framed::of(&self.post("/", ask.frame()).await.unwrap());
        assert_eq!(answer.frame().activity.to_string(), ACTIVITY);
        answer
    }

    /// The status of a probe; an error is a connection that ended without an answer.
    async fn probe(&mut self) -> Result<u16, hyper::Error> {
        let answer = self.post("/connectivity-probe", Vec::new()).await?;
        Ok(answer.status().as_u16())
    }
}

/// Two regions with a container `d/c` of two partitions with the key `/pk`.
async fn account(builder: EmulatorBuilder) -> Emulator {
    two_regions(builder.gateway2(true)).await
}

const THIN: (&str, &str) = ("x-ms-cosmos-use-thinclient", "True");

#[tokio::test]
async fn the_account_says_where_it_is_to_those_who_ask() {
    let emulator = account(Emulator::builder()).await;
    let mut east = Connection::open(emulator.url()).await.unwrap();
    let asked = east.send("GET /", &[THIN], &json!(null)).await.unwrap().body;
    let readable = asked["thinClientReadableLocations"].as_array().unwrap();
    let writable = asked["thinClientWritableLocations"].as_array().unwrap();
    let names = |locations: &[serde_json::Value]| {
        locations.iter().map(|location| location["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        (names(readable), names(writable)),
        (vec!["East US".into(), "West US".into()], vec![EAST.into()])
    );
    assert_eq!(readable[0]["databaseAccountEndpoint"], emulator.gateway2_url(EAST).unwrap());
    assert_ne!(emulator.gateway2_url(EAST), emulator.region_url(EAST));
    let plain = east.get("/").await.unwrap().body;
    assert!(plain.get("thinClientReadableLocations").is_none(), "{plain}");

    let url = emulator.control().add_region("North Europe").await.unwrap();
    let asked = east.send("GET /", &[THIN], &json!(null)).await.unwrap().body;
    assert_eq!(asked["thinClientReadableLocations"].as_array().unwrap().len(), 3);
    assert_ne!(emulator.gateway2_url("North Europe"), Some(url));
    assert_eq!(Frames::open(&emulator, "North Europe").await.unwrap().probe().await.unwrap(), 200);
    emulator.control().remove_region("North Europe").await.unwrap();
    let asked = east.send("GET /", &[THIN], &json!(null)).await.unwrap().body;
    assert_eq!(asked["thinClientReadableLocations"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn without_it_nothing_is_said_of_it() {
    let emulator = two_regions(Emulator::builder()).await;
    let mut east = Connection::open(emulator.url()).await.unwrap();
    let asked = east.send("GET /", &[THIN], &json!(null)).await.unwrap().body;
    assert!(asked.get("thinClientReadableLocations").is_none(), "{asked}");
    assert_eq!(emulator.gateway2_url(EAST), None);
}
