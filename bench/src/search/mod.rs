//! What a search of vectors and of texts takes by the size of its result, with an index and without, and what a stored
//! procedure saves.
//!
//! Nothing else on a laptop searches so; each row stands beside the same search of a container without the index.

mod data;
mod procedure;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use cosmonaut::{
    BulkOperation, ContainerClient, ContainerProperties, CosmosClient, Credential, FeedScope, Query,
};
use serde_json::{Value, json};

use crate::server::Server;
use crate::{Result, table};
use data::{Kind, Search};

const DATABASE: &str = "search";

pub struct Settings {
    documents: u64,
    time: Duration,
    /// A build of the command, instead of one that is made for this.
    server: Option<PathBuf>,
}

impl Settings {
    pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self> {
        let mut settings = Self { documents: 100_000, time: Duration::from_secs(2), server: None };
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
            match argument.as_str() {
                "--documents" => settings.documents = value()?.parse()?,
                "--seconds" => settings.time = Duration::from_secs(value()?.parse()?),
                "--server" => settings.server = Some(value()?.into()),
                _ => return Err(crate::USAGE.into()),
            }
        }
        Ok(settings)
    }
}

pub async fn run(settings: Settings) -> Result<()> {
    for kind in Kind::ALL {
        search(&settings, kind).await?;
    }
    let server = settings.server().await?;
    procedure::run(&client(&server).await?, settings.time).await
}

impl Settings {
    async fn server(&self) -> Result<Server> {
        match &self.server {
            Some(binary) => Server::cosmonaut_of("cosmonaut", binary, &[]).await,
            None => Server::cosmonaut().await,
        }
    }
}

async fn client(server: &Server) -> Result<CosmosClient> {
    let endpoint = format!("http://{}", server.address);
    let client = CosmosClient::new(&endpoint, Credential::master_key(cosmonaut_wire::EMULATOR_KEY)?)?;
    client.create_database(DATABASE).await?;
    Ok(client)
}

/// A container with or without the index, in a server of its own.
struct Filled {
    container: ContainerClient,
    /// What the server has taken for it, in MB.
    memory: Option<u64>,
    filling: Duration,
    _server: Server,
}

async fn filled(settings: &Settings, kind: Kind, is_indexed: bool) -> Result<Filled> {
    let server = settings.server().await?;
    let client = client(&server).await?;
    let database = client.database(DATABASE);
    let properties: ContainerProperties = serde_json::from_value(kind.container(is_indexed))?;
    database.create_container(properties).await?;
    let container = database.container(kind.name());
    let (before, started) = (server.resident_mb(), Instant::now());
    let items = (0..settings.documents).map(move |number| {
        let item = kind.document(number);
        BulkOperation::create(item["pk"].as_str().unwrap_or_default().to_owned(), item)
    });
    let summary = container.bulk().run_all(items)?.finish().await;
    if summary.progress.succeeded != settings.documents {
        return Err(format!("{} of {} are stored", summary.progress.succeeded, settings.documents).into());
    }
    let memory = server.resident_mb().zip(before).map(|(after, before)| after.saturating_sub(before));
    Ok(Filled { container, memory, filling: started.elapsed(), _server: server })
}

/// What a search took and found.
struct Measured {
    /// The time that half of the runs stay below.
    time: Duration,
    charge: f64,
    ids: Vec<String>,
}

async fn measure(container: &ContainerClient, search: &Search, time: Duration) -> Result<Measured> {
    let (mut times, mut charge, mut ids) = (Vec::new(), 0.0, Vec::new());
    let started = Instant::now();
    // The first one is not counted.
    while times.len() < 2 || started.elapsed() < time {
        let query = search
            .parameters
            .iter()
            .fold(Query::new(&search.text), |query, (name, value)| query.with(name, value));
        let began = Instant::now();
        let mut pages = container.query_items::<String>(query, FeedScope::Container).into_pages();
        (charge, ids) = (0.0, Vec::new());
        while let Some(page) = pages.next().await {
            let page = page?;
            charge += page.request_charge;
            ids.extend(page.items);
        }
        times.push(began.elapsed());
    }
    times.remove(0);
    times.sort_unstable();
    Ok(Measured { time: times[times.len() / 2], charge, ids })
}

async fn search(settings: &Settings, kind: Kind) -> Result<()> {
    let indexed = filled(settings, kind, true).await?;
    let columns = ["search", "rows", "with the index", "without", "ratio", "RU", "RU without", "recall"];
    let mut rows = vec![columns.map(str::to_owned).to_vec()];
    let searches = kind.searches();
    let mut with = Vec::new();
    for search in &searches {
        with.push(measure(&indexed.container, search, settings.time).await?);
    }
    let (memory, filling) = (indexed.memory, indexed.filling);
    drop(indexed);
    let plain = filled(settings, kind, false).await?;
    for (search, with) in searches.iter().zip(with) {
        let without = measure(&plain.container, search, settings.time).await?;
        let same = with.ids.iter().filter(|id| without.ids.contains(id)).count();
        let milliseconds = |time: Duration| format!("{:.2} ms", time.as_secs_f64() * 1e3);
        rows.push(vec![
            search.name.clone(),
            with.ids.len().to_string(),
            milliseconds(with.time),
            milliseconds(without.time),
            format!("{:.2} ×", with.time.as_secs_f64() / without.time.as_secs_f64()),
            format!("{:.1}", with.charge),
            format!("{:.1}", without.charge),
            format!("{:.3}", same as f64 / without.ids.len().max(1) as f64),
        ]);
    }
    let mb = |memory: Option<u64>| memory.map_or_else(|| "?".to_owned(), |mb| format!("{mb} MB"));
    let title = format!(
        "{}, {} documents: {} in {:.0} s with the index, {} in {:.0} s without",
        kind.title(),
        settings.documents,
        mb(memory),
        filling.as_secs_f64(),
        mb(plain.memory),
        plain.filling.as_secs_f64()
    );
    table::print(&title, &rows);
    Ok(())
}

/// A document's own members.
fn identified(number: u64, mut document: Value) -> Value {
    document["id"] = json!(number.to_string());
    document["pk"] = json!(format!("p{}", number % 100));
    document
}
