//! The servers under measurement, each in a process of its own.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::Result;

/// A running server; stopped when dropped.
pub struct Server {
    pub name: &'static str,
    pub address: String,
    /// From the start of the process to the line that says it is ready.
    pub ready_after: Duration,
    process: Child,
}

impl Server {
    pub async fn cosmonaut() -> Result<Self> {
        Self::cosmonaut_with(&[]).await
    }

    /// With more arguments.
    pub async fn cosmonaut_with(arguments: &[&str]) -> Result<Self> {
        Self::cosmonaut_of("cosmonaut", &Self::binary().await?, arguments).await
    }

    /// The command, built from what is here.
    pub async fn binary() -> Result<PathBuf> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        build(&root).await?;
        Ok(root.join("target/release/cosmonaut"))
    }

    /// Some build of the command.
    pub async fn cosmonaut_of(name: &'static str, binary: &Path, arguments: &[&str]) -> Result<Self> {
        let mut command = Command::new(binary);
        command.args(["up", "--port", "0", "--json"]).args(arguments);
        Self::start(name, command, |line| {
            let ready: serde_json::Value = serde_json::from_str(line).ok()?;
            Some(ready["endpoints"][0]["url"].as_str()?.to_owned())
        })
        .await
    }

    pub async fn constant() -> Result<Self> {
        Self::constant_by("constant-server").await
    }

    /// The same with Gateway 2.0.
    pub async fn constant_frames() -> Result<Self> {
        Self::constant_by("constant-frames").await
    }

    async fn constant_by(name: &str) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(name);
        Self::start("hyper, constant answers", command, |line| {
            line.starts_with("http").then(|| line.to_owned())
        })
        .await
    }

    pub async fn vercel() -> Result<Self> {
        let folder = install("vercel", "@vercel/cosmosdb-server", "1.0.1").await?;
        let mut command = Command::new("node");
        command.arg(folder.join("node_modules/@vercel/cosmosdb-server/lib/cli.js")).args([
            "--no-ssl",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
        ]);
        Self::start("@vercel/cosmosdb-server", command, |line| {
            let port = line.strip_prefix("Ready")?.rsplit(':').next()?;
            Some(format!("http://127.0.0.1:{}", port.trim()))
        })
        .await
    }

    async fn start(
        name: &'static str,
        mut command: Command,
        address_of: impl Fn(&str) -> Option<String>,
    ) -> Result<Self> {
        let started = Instant::now();
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true).spawn()?;
        let output = process.stdout.take().ok_or("the server's output is not captured")?;
        let mut lines = BufReader::new(output).lines();
        while let Some(line) = lines.next_line().await? {
            if let Some(url) = address_of(&line) {
                let ready_after = started.elapsed();
                let address = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
                return Ok(Self { name, address, ready_after, process: process });
            }
        }
        Err(format!("{name} stopped before it was ready").into())
    }

    /// Ends it, and waits until it has.
    pub async fn stop(mut self) -> Result<()> {
        self.process.kill().await?;
        Ok(())
    }

    /// The memory that the process holds, in MB.
    pub fn resident_mb(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id()?)).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
        Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? / 1024)
    }
}

async fn build(root: &Path) -> Result<()> {
    let status = Command::new("cargo")
        .args(["build", "--release", "--quiet", "-p", "cosmonaut-cli", "--target-dir", "target"])
        .current_dir(root)
        .status()
        .await?;
    if status.success() { Ok(()) } else { Err("the command line does not build".into()) }
}

/// Installs a package of others, once, into a folder of its own.
pub async fn install(folder: &str, package: &str, version: &str) -> Result<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target").join(folder);
    if !folder.join("node_modules").join(package).exists() {
        std::fs::create_dir_all(&folder)?;
        let status = Command::new("npm")
            .args(["install", "--silent", "--no-save", "--prefix"])
            .arg(&folder)
            .arg(format!("{package}@{version}"))
            .stdout(Stdio::null())
            .status()
            .await?;
        if !status.success() {
            return Err(format!("npm could not install {package} (try --no-peer)").into());
        }
    }
    Ok(folder)
}
