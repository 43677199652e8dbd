//! What a shell remembers between statements, and how a statement is carried out.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, IsTerminal, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cosmonaut::{CosmosClient, FeedScope, Query};
use serde_json::value::RawValue;

use super::command::{self, Command};
use super::completion::Known;
use super::pager::Pager;
use super::statement::Statement;
use super::{Arguments, Lines, script};
use crate::account::failed;
use crate::container::{self, ContainerName};
use crate::document;
use crate::failure::Failure;
use crate::query::{Ask, Format, Key, Manner, Ran, explain, list_text, told_of_waiting};
use crate::runtime;
use crate::screen;
use crate::signal::StopSignal;
use crate::table::fitted;

/// How deep scripts may run scripts: one that runs itself ends.
const DEEPEST: usize = 16;

/// Whether there is more to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    Continue,
    Quit,
}

/// A shell.
pub(super) struct Session<'a> {
    arguments: &'a Arguments,
    client: CosmosClient,
    container: Option<ContainerName>,
    region: Option<String>,
    key: Option<Key>,
    parameters: BTreeMap<String, Box<RawValue>>,
    format: Format,
    with_system: bool,
    with_cost: bool,
    with_requests: bool,
    /// Where rows go instead of the screen.
    output: Option<File>,
    /// The last query.
    last: Option<String>,
    /// Whether a person types.
    typed: bool,
    depth: usize,
    known: Arc<Mutex<Known>>,
}

impl<'a> Session<'a> {
    pub(super) async fn open(arguments: &'a Arguments, typed: bool) -> Result<Self, Failure> {
        let usual = if io::stdout().is_terminal() { Format::Table } else { Format::Jsonl };
        let format = if arguments.json { Some(Format::Json) } else { arguments.format };
        let mut session = Self {
            arguments,
            client: arguments.account.client()?,
            container: None,
            region: None,
            key: None,
            parameters: BTreeMap::new(),
            format: format.unwrap_or(usual),
            with_system: arguments.system,
            with_cost: true,
            with_requests: arguments.stats,
            output: None,
            last: None,
            typed,
            depth: 0,
            known: Arc::default(),
        };
        if let Some(container) = &arguments.container {
            // A person can choose another one; a script cannot.
            match session.connect(container.clone()).await {
                Err(failure) if typed => drop(failure.tell()),
                connected => connected?,
            }
        }
        if typed {
            session.learn_names();
        }
        Ok(session)
    }

    /// What is waited for: a query of which container.
    pub(super) fn prompt(&self) -> String {
        self.container.as_ref().map_or_else(|| "cosmonaut> ".to_owned(), |name| format!("{name}> "))
    }

    pub(super) fn known(&self) -> Arc<Mutex<Known>> {
        Arc::clone(&self.known)
    }

    /// Learns what can be asked, beside what is typed meanwhile.
    fn learn_names(&self) {
        let (client, known) = (self.client.clone(), self.known());
        runtime::spawn(async move {
            // Without it names are not completed; the first query says what is wrong.
            if let Ok(found) = container::all(&client).await {
                locked(&known).containers(&found);
            }
            if let Ok(account) = client.account().await {
                let regions = account.readable_locations.iter().map(|location| location.name.to_string());
                locked(&known).regions = regions.collect();
            }
        });
    }

    /// Carries out a statement.
    pub(super) async fn run(&mut self, statement: &Statement) -> Result<Flow, Failure> {
        match statement {
            Statement::Query(text) => {
                self.last = Some(text.clone());
                self.query(text).await?;
            }
            Statement::Command(text) => match command::parse(text).map_err(Failure::Usage)? {
                Command::Quit => return Ok(Flow::Quit),
                Command::Include(file) => return self.include(&file).await,
                command => self.command(command).await?,
            },
        }
        Ok(Flow::Continue)
    }

    async fn command(&mut self, command: Command) -> Result<(), Failure> {
        match command {
            Command::Help => self.say(&command::help(self.screen())),
            Command::Connect(None) => {
                let text = self.container.as_ref().map(ToString::to_string);
                self.say(&format!("{}\n", text.as_deref().unwrap_or("no container is chosen")))
            }
            Command::Connect(Some(name)) => {
                let name = self.named(&name)?;
                self.connect(name).await
            }
            Command::Describe(name) => self.describe(name.as_deref()).await,
            Command::Explain(text) => self.explain(text).await,
            Command::Format(format) => {
                self.format = format;
                Ok(())
            }
            Command::Key(key) => {
                self.key = key.map(|key| key.parse()).transpose().map_err(Failure::Usage)?;
                Ok(())
            }
            Command::Output(file) => self.redirect(file.as_deref()),
            Command::Region(region) => self.region(region).await,
            Command::Parameters => {
                let rows = self.parameters.iter();
                let rows = rows.map(|(name, value)| vec![format!("@{name}"), value.get().to_owned()]);
                let text = fitted(&["NAME", "VALUE"], rows, self.screen());
                self.say(&text)
            }
            Command::Parameter(name, value) => {
                self.parameters.insert(name, value);
                Ok(())
            }
            Command::Stats(switch) => {
                self.with_requests = switch.of(self.with_requests);
                self.switched("requests are", self.with_requests)
            }
            Command::System(switch) => {
                self.with_system = switch.of(self.with_system);
                self.switched("what the service adds is", self.with_system)
            }
            Command::Timing(switch) => {
                self.with_cost = switch.of(self.with_cost);
                self.switched("what queries cost is", self.with_cost)
            }
            Command::Vertical(switch) => {
                let vertical = switch.of(self.format == Format::Vertical);
                self.format = if vertical { Format::Vertical } else { Format::Table };
                Ok(())
            }
            Command::Watch { every, times } => self.watch(every, times).await,
            // Both end or begin something, and are dealt with by `run`.
            Command::Quit | Command::Include(_) => Ok(()),
        }
    }

    fn switched(&mut self, what: &str, on: bool) -> Result<(), Failure> {
        // Scripts have only rows in their output.
        match self.typed {
            true => self.say(&format!("{what} {}\n", if on { "shown" } else { "not shown" })),
            false => Ok(()),
        }
    }

    /// `shop/orders`, `orders` of the database that is asked, or `.`.
    fn named(&self, text: &str) -> Result<ContainerName, Failure> {
        match (&self.container, text) {
            (Some(now), ".") => Ok(now.clone()),
            (Some(now), text) if !text.contains('/') => Ok(ContainerName::new(&*now.database, text)),
            _ => text.parse().map_err(Failure::Usage),
        }
    }

    async fn connect(&mut self, name: ContainerName) -> Result<(), Failure> {
        let mut stop = StopSignal::listen()?;
        let read = tokio::select! {
            read = told_of_waiting(name.of(&self.client).read()) => read,
            () = stop.heard() => return Err(Failure::Stopped),
        };
        let properties = match read {
            Ok(read) => read.into_value(),
            Err(error) => return Err(name.failed(&self.client, &error).await),
        };
        let paths = properties.partition_key.paths.iter().filter_map(|path| path.split('/').nth(1));
        locked(&self.known).learn(paths.map(str::to_owned).chain(["id".to_owned()]));
        self.container = Some(name);
        self.key = None;
        Ok(())
    }

    async fn describe(&mut self, name: Option<&str>) -> Result<(), Failure> {
        let mut stop = StopSignal::listen()?;
        let Some(name) = name else {
            let found = tokio::select! {
                found = told_of_waiting(container::all(&self.client)) => found,
                () = stop.heard() => return Err(Failure::Stopped),
            };
            let found = found.map_err(|error| failed(&error))?;
            locked(&self.known).containers(&found);
            return self.say(&list_text(&found, self.screen()));
        };
        let name = self.named(name)?;
        let read = tokio::select! {
            read = told_of_waiting(name.of(&self.client).read()) => read,
            () = stop.heard() => return Err(Failure::Stopped),
        };
        match read {
            Ok(read) => self.say(&document::resource(read.value(), self.with_system)),
            Err(error) => Err(name.failed(&self.client, &error).await),
        }
    }

    fn redirect(&mut self, file: Option<&Path>) -> Result<(), Failure> {
        self.output =
            match file {
                None => None,
                Some(path) => Some(File::create(path).map_err(|error| {
                    Failure::Usage(format!("{} cannot be written: {error}", path.display()))
                })?),
            };
        Ok(())
    }

    async fn include(&mut self, path: &Path) -> Result<Flow, Failure> {
        if self.depth == DEEPEST {
            return Err(Failure::Usage(format!("{}: scripts run scripts too deep", path.display())));
        }
        let file = File::open(path)
            .map_err(|error| Failure::Usage(format!("{} cannot be read: {error}", path.display())))?;
        self.depth += 1;
        let ended = match Lines::of(BufReader::new(file)) {
            Ok(lines) => Box::pin(script(self, lines)).await,
            Err(failure) => Err(failure),
        };
        self.depth -= 1;
        ended
    }

    async fn region(&mut self, region: Option<String>) -> Result<(), Failure> {
        if let Some(region) = region {
            self.region = (region != "-").then_some(region);
            self.client = self.arguments.account.client_near(self.region.as_deref())?;
            return Ok(());
        }
        let mut stop = StopSignal::listen()?;
        let account = tokio::select! {
            account = told_of_waiting(self.client.account()) => account.map_err(|error| failed(&error))?,
            () = stop.heard() => return Err(Failure::Stopped),
        };
        let names: Vec<String> =
            account.readable_locations.iter().map(|location| location.name.to_string()).collect();
        let writes =
            |name: &String| account.writable_locations.iter().any(|place| place.name.to_string() == *name);
        let row = |name: &String| {
            let preferred = if self.region.as_ref() == Some(name) { "yes" } else { "" };
            vec![name.clone(), if writes(name) { "yes" } else { "no" }.to_owned(), preferred.to_owned()]
        };
        let text = fitted(&["REGION", "WRITES", "PREFERRED"], names.iter().map(row), self.screen());
        locked(&self.known).regions = names;
        self.say(&text)
    }

    async fn explain(&mut self, text: Option<String>) -> Result<(), Failure> {
        let text = text.or_else(|| self.last.clone());
        let text =
            text.ok_or_else(|| Failure::Usage("no query to explain yet (\\explain QUERY)".to_owned()))?;
        let mut stop = StopSignal::listen()?;
        let container = self.asked()?;
        let ask = self.ask(&container, &text);
        let explained = tokio::select! {
            explained = ask.explain(&self.client) => explained?,
            () = stop.heard() => return Err(Failure::Stopped),
        };
        self.say(&explain::shown(&explained, Some(self.format)))
    }

    async fn watch(&mut self, every: Duration, times: Option<u64>) -> Result<(), Failure> {
        let text = self.last.clone();
        let text = text.ok_or_else(|| Failure::Usage("no query to repeat yet".to_owned()))?;
        let mut done = 0;
        loop {
            self.query(&text).await?;
            done += 1;
            if times == Some(done) {
                return Ok(());
            }
            let mut stop = StopSignal::listen()?;
            tokio::select! {
                () = runtime::sleep(every) => {}
                // This is how watching ends.
                () = stop.heard() => return Ok(()),
            }
        }
    }

    fn asked(&self) -> Result<ContainerName, Failure> {
        self.container.clone().ok_or_else(|| {
            Failure::Usage(
                "no container is chosen (\\d lists them, \\c DATABASE/CONTAINER chooses one)".to_owned(),
            )
        })
    }

    fn ask<'c>(&self, container: &'c ContainerName, text: &str) -> Ask<'c> {
        // A name that the query does not have would be refused.
        let used = self.parameters.iter().filter(|(name, _)| text.contains(&format!("@{name}")));
        let query = used.fold(Query::new(text), |query, (name, value)| query.with(name, value));
        let scope = self.key.as_ref().map_or(FeedScope::Container, |key| FeedScope::from(key.0.clone()));
        Ask { container, query, scope, most: None }
    }

    async fn query(&mut self, text: &str) -> Result<(), Failure> {
        let container = self.asked()?;
        let ask = self.ask(&container, text);
        let mut stop = StopSignal::listen()?;
        let for_terminal = self.output.is_none() && io::stdout().is_terminal();
        let manner = Manner {
            format: self.format,
            for_terminal,
            width: for_terminal.then(screen::width).flatten(),
            with_system: self.with_system,
        };
        let ran = match (&mut self.output, self.typed && for_terminal) {
            (Some(file), _) => ask.rows(&self.client, manner, self.with_requests, file, &mut stop).await,
            (None, true) => {
                let mut pager = Pager::new();
                let ran = ask.rows(&self.client, manner, self.with_requests, &mut pager, &mut stop).await;
                pager.end();
                ran
            }
            (None, false) => {
                let mut output = io::stdout().lock();
                ask.rows(&self.client, manner, self.with_requests, &mut output, &mut stop).await
            }
        };
        self.ran(ran)
    }

    fn ran(&mut self, ran: Ran) -> Result<(), Failure> {
        locked(&self.known).learn(ran.names);
        let cost = ran.totals.text(ran.took);
        match ran.ended {
            // Whoever pages has seen enough.
            Err(Failure::Output(error)) if self.typed && error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Err(failure) if ran.totals.rows == 0 => Err(failure),
            ended => {
                if self.with_cost || self.with_requests {
                    screen::note(&cost);
                }
                ended
            }
        }
    }

    /// How many columns there are for what is said; none where it goes to a file.
    fn screen(&self) -> Option<usize> {
        self.output.is_none().then(screen::output_width).flatten()
    }

    /// Writes what is not rows to where rows go.
    fn say(&mut self, text: &str) -> Result<(), Failure> {
        if let Some(file) = &mut self.output {
            return Ok(file.write_all(text.as_bytes())?);
        }
        if !self.typed || !io::stdout().is_terminal() {
            return screen::print(text);
        }
        let mut pager = Pager::new();
        let written = pager.write_all(screen::in_safe_lines(text).as_bytes());
        pager.end();
        match written {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
            _ => Ok(()),
        }
    }
}

/// What is known is whole after each change, whoever panicked beside it.
fn locked(known: &Mutex<Known>) -> MutexGuard<'_, Known> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}
