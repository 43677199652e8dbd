//! What a minimal reading client weighs: crates in its tree, size of its binary, processor time to build it.
//!
//! The clients are in `weight/`, each a workspace of its own. All have the default release profile, stripped.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::usage::Usage;
use crate::{Result, table};

const MOST_CRATES: usize = 75;
const MOST_MEGABYTES: f64 = 5.0;
const MOST_BUILD_SECONDS: f64 = 150.0;

pub struct Settings {
    peer: bool,
}

impl Settings {
    pub fn parse(arguments: impl Iterator<Item = String>) -> Result<Self> {
        let mut settings = Self { peer: false };
        for argument in arguments {
            match argument.as_str() {
                "--peer" => settings.peer = true,
                _ => return Err(crate::USAGE.into()),
            }
        }
        Ok(settings)
    }
}

pub fn run(settings: &Settings) -> Result<()> {
    let mut rows = vec![["client on", "crates", "binary", "build, CPU"].map(String::from).to_vec()];
    rows.push(row("cosmonaut", &Client::new("client")?)?);
    rows.push(row("cosmonaut-driver", &Client::new("cosmonaut")?)?);
    if settings.peer {
        rows.push(row("azure_data_cosmos 1.0", &Client::new("azure")?)?);
    }
    rows.push(vec![
        "goal for cosmonaut".into(),
        format!("≤ {MOST_CRATES}"),
        format!("≤ {MOST_MEGABYTES} MB"),
        format!("≤ {MOST_BUILD_SECONDS} s"),
    ]);
    table::print("A minimal client that reads one item", &rows);
    Ok(())
}

fn row(name: &str, client: &Client) -> Result<Vec<String>> {
    let crates = client.crates()?;
    let seconds = client.build()?;
    let megabytes = client.binary_bytes()? as f64 / 1e6;
    Ok(vec![name.into(), crates.to_string(), format!("{megabytes:.1} MB"), format!("{seconds:.0} s")])
}

/// One of the crates in `weight/`.
struct Client {
    manifest: PathBuf,
    target: PathBuf,
    binary: PathBuf,
}

impl Client {
    fn new(folder: &str) -> Result<Self> {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("weight").join(folder).join("Cargo.toml");
        let own = std::env::current_exe()?;
        // Beside what this benchmark itself was built in: `target/release/cosmonaut-bench`.
        let built_in =
            own.ancestors().nth(2).ok_or("this benchmark is not in a folder that cargo builds in")?;
        let target = built_in.join("weight").join(folder);
        let binary = target.join("release").join(format!("weight-{folder}"));
        Ok(Self { manifest, target, binary })
    }

    fn cargo(&self, arguments: &[&str]) -> Result<String> {
        let mut command = Command::new("cargo");
        command.args(arguments).arg("--manifest-path").arg(&self.manifest);
        let output = command.stderr(std::process::Stdio::inherit()).output()?;
        if !output.status.success() {
            return Err(
                format!("cargo {} failed for {}", arguments.join(" "), self.manifest.display()).into()
            );
        }
        Ok(String::from_utf8(output.stdout)?)
    }

    /// The crates that it depends on, each version once.
    fn crates(&self) -> Result<usize> {
        let tree = self.cargo(&["tree", "--quiet", "-e", "normal", "--prefix", "none"])?;
        let mut crates: Vec<&str> = tree.lines().skip(1).map(|line| line.trim_end_matches(" (*)")).collect();
        crates.sort_unstable();
        crates.dedup();
        Ok(crates.len())
    }

    /// Builds it from nothing; says how many seconds of processor time that took.
    fn build(&self) -> Result<f64> {
        // What is fetched is no part of building.
        self.cargo(&["fetch", "--quiet"])?;
        if self.target.exists() {
            std::fs::remove_dir_all(&self.target)?;
        }
        let target = self.target.to_str().ok_or("the target folder has a name that is not UTF-8")?;
        let before = Usage::now()?;
        self.cargo(&["build", "--quiet", "--release", "--target-dir", target])?;
        Ok((Usage::now()? - before).children_cpu.as_secs_f64())
    }

    fn binary_bytes(&self) -> Result<u64> {
        let binary = std::fs::metadata(&self.binary);
        Ok(binary.map_err(|error| format!("{}: {error}", self.binary.display()))?.len())
    }
}
