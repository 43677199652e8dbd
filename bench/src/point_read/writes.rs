//! A write through this driver, by how many partitions the container has and how many write at once: what remembering
//! sessions costs. The items are small, so that not much else is measured.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cosmonaut_driver::{
    CosmosDriver, CosmosDriverRuntime, CosmosOperation, Credential, OperationOptions, OperationType,
};
use cosmonaut_wire::{EMULATOR_KEY, PartitionKey, ResourcePath};

use super::{ROUNDS, Sample, WARM_UP};
use crate::constant::{NARROW, PARTITIONS, WIDE};
use crate::usage::Usage;
use crate::{Result, table};

const WRITERS: [usize; 2] = [1, 64];
/// How many writes make sure that a session has seen nearly all partitions.
const SPREAD: u64 = 4 * PARTITIONS as u64;
/// How many times the cost with one partition the cost with many may be.
const MOST: f64 = 1.1;

pub async fn run(address: &str, time: Duration) -> Result<()> {
    let containers = [(1, connect(address, NARROW).await?), (PARTITIONS, connect(address, WIDE).await?)];
    let columns = ["writers", "partitions", "rate", "of one", "CPU a write", "of one", "allocations a write"];
    let mut rows = vec![columns.map(String::from).to_vec()];
    for writers in WRITERS {
        let mut samples = [Sample::default(); 2];
        for _ in 0..ROUNDS {
            for ((_, writer), sample) in containers.iter().zip(&mut samples) {
                writer.write_for(writers, WARM_UP).await?;
                *sample = *sample + writer.measure(writers, time / ROUNDS).await?;
            }
        }
        for ((partitions, _), sample) in containers.iter().zip(&samples) {
            let base = Some(&samples[0]).filter(|_| *partitions > 1);
            rows.push(row(writers, *partitions, sample, base));
        }
    }
    let goal = ["goal", "", "", "", "", &format!("≤ {MOST:.2} ×")];
    rows.push(goal.map(String::from).to_vec());
    table::print("Writes through this driver over clear-text HTTP/2, by partitions", &rows);
    Ok(())
}

fn row(writers: usize, partitions: u32, sample: &Sample, base: Option<&Sample>) -> Vec<String> {
    let of = |value: fn(&Sample) -> f64| {
        base.map_or_else(String::new, |base| format!("{:.2} ×", value(sample) / value(base)))
    };
    vec![
        writers.to_string(),
        partitions.to_string(),
        format!("{:.0}/s", sample.per_second()),
        of(Sample::per_second),
        format!("{:.1} µs", sample.cpu_micros()),
        of(Sample::cpu_micros),
        format!("{:.1}", sample.allocations_each()),
    ]
}

/// A driver whose session has seen all partitions of a container.
async fn connect(address: &str, container: &str) -> Result<Writer> {
    let runtime = CosmosDriverRuntime::builder().build()?;
    let key = Credential::master_key(EMULATOR_KEY)?;
    let driver = runtime.create_driver(&format!("http://{address}"), key, Default::default())?;
    driver.initialize().await?;
    let path = ResourcePath::parse(&format!("/dbs/bench/colls/{container}/docs"))?;
    let writer = Writer { driver, path, next: Arc::default() };
    let spread = (0..64).map(|_| {
        let writer = writer.clone();
        tokio::spawn(async move {
            while writer.next.load(Ordering::Relaxed) < SPREAD {
                writer.write().await?;
            }
            Result::Ok(())
        })
    });
    for writer in spread.collect::<Vec<_>>() {
        writer.await??;
    }
    Ok(writer)
}

#[derive(Clone)]
struct Writer {
    driver: CosmosDriver,
    path: ResourcePath,
    next: Arc<AtomicU64>,
}

impl Writer {
    async fn write(&self) -> Result<()> {
        let id = self.next.fetch_add(1, Ordering::Relaxed).to_string();
        let body = format!(r#"{{"id":"{id}","pk":"{id}"}}"#);
        let create = CosmosOperation::new(OperationType::Create, self.path.clone())
            .with_target(PartitionKey::from(&*id))
            .with_body(body);
        let response = self.driver.execute_operation(&create, &OperationOptions::default()).await?;
        if response.status().code().as_u16() != 201 {
            return Err(format!("a write was answered {}", response.status()).into());
        }
        Ok(())
    }

    async fn measure(&self, writers: usize, time: Duration) -> Result<Sample> {
        let (before, started) = (Usage::now()?, Instant::now());
        let reads = self.write_for(writers, time).await?;
        let (time, used) = (started.elapsed(), Usage::now()? - before);
        Ok(Sample { reads, time, cpu: used.cpu, allocations: used.allocations })
    }

    /// Writes for some time with a fixed number in flight; says how many were written.
    async fn write_for(&self, writers: usize, time: Duration) -> Result<u64> {
        let end = Instant::now() + time;
        let writers = (0..writers).map(|_| {
            let writer = self.clone();
            tokio::spawn(async move {
                let mut written = 0;
                while Instant::now() < end {
                    writer.write().await?;
                    written += 1;
                }
                Result::Ok(written)
            })
        });
        let mut written = 0;
        for writer in writers.collect::<Vec<_>>() {
            written += writer.await??;
        }
        Ok(written)
    }
}
