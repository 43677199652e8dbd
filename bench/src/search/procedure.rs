//! A hundred documents created by a stored procedure, in a batch, and one by one.

use std::time::{Duration, Instant};

use cosmonaut::{ContainerClient, ContainerProperties, CosmosClient, StoredProcedure};
use serde_json::{Value, json};

use super::DATABASE;
use crate::{Result, table};

const CREATES: u64 = 100;
const CREATE: &str = "function (from, count) {
    var collection = getContext().getCollection(), created = 0;
    for (var number = from; number < from + count; number++) {
        var accepted = collection.createDocument(collection.getSelfLink(), {id: '' + number, pk: 'p', n: number},
            function (error) { if (error) throw error; created++; getContext().getResponse().setBody(created); });
        if (!accepted) throw new Error('not accepted');
    }
}";

pub(super) async fn run(client: &CosmosClient, time: Duration) -> Result<()> {
    let database = client.database(DATABASE);
    database.create_container(ContainerProperties::new("procedures", "/pk")).await?;
    let container = database.container("procedures");
    container.scripts().create_stored_procedure(StoredProcedure::new("create", CREATE)).await?;
    let mut rows = vec![["a hundred creates", "time", "of one by one"].map(str::to_owned).to_vec()];
    let mut next = 0;
    let mut alone = None;
    for way in [Way::OneByOne, Way::Batch, Way::Procedure] {
        let mut times = Vec::new();
        let started = Instant::now();
        while times.len() < 2 || started.elapsed() < time {
            let began = Instant::now();
            way.create(&container, next).await?;
            times.push(began.elapsed());
            next += CREATES;
        }
        times.remove(0);
        times.sort_unstable();
        let middle = times[times.len() / 2];
        let base = *alone.get_or_insert(middle);
        rows.push(vec![
            way.name().to_owned(),
            format!("{:.2} ms", middle.as_secs_f64() * 1e3),
            format!("{:.2} ×", middle.as_secs_f64() / base.as_secs_f64()),
        ]);
    }
    table::print("A hundred small documents of one partition", &rows);
    Ok(())
}

#[derive(Clone, Copy)]
enum Way {
    OneByOne,
    Batch,
    Procedure,
}

impl Way {
    fn name(self) -> &'static str {
        match self {
            Self::OneByOne => "one by one",
            Self::Batch => "in a batch",
            Self::Procedure => "by a stored procedure",
        }
    }

    async fn create(self, container: &ContainerClient, from: u64) -> Result<()> {
        match self {
            Self::OneByOne => {
                for number in from..from + CREATES {
                    container.create_item("p", &document(number)).await?;
                }
            }
            Self::Batch => {
                let batch = (from..from + CREATES)
                    .fold(container.batch("p"), |batch, number| batch.create(document(number)));
                batch.execute().await?;
            }
            Self::Procedure => {
                let created = container.scripts().execute::<u64>("create", "p", (from, CREATES)).await?;
                if *created.value() != CREATES {
                    return Err(format!("{} of {CREATES} are created", created.value()).into());
                }
            }
        }
        Ok(())
    }
}

fn document(number: u64) -> Value {
    json!({"id": number.to_string(), "pk": "p", "n": number})
}
