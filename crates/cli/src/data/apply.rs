//! Writes many items by the client's bulk and sees each through: what may succeed later is repeated, what was refused for
//! good is told.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use cosmonaut::{
    BulkOperation, ContainerClient, ContainerProperties, Error, ErrorKind, PartitionKey, RawItem, ReadMany,
};

use crate::failure::Failure;
use crate::runtime;

/// How often what may succeed later is sent, and how long is waited before the second time.
const ROUNDS: u32 = 6;
const PAUSE: Duration = Duration::from_millis(250);

/// A write of one item. The same write again changes nothing.
#[derive(Clone, Debug)]
pub(crate) struct Write {
    /// Where it was read: a line of a file, or its place in a page.
    pub(crate) place: u64,
    pub(crate) key: PartitionKey,
    pub(crate) id: String,
    pub(crate) what: What,
}

/// What is written.
#[derive(Clone, Debug)]
pub(crate) enum What {
    /// The item, in place of what is there.
    Put(RawItem),
    /// The item, unless there is one.
    PutIfAbsent(RawItem),
    Delete,
}

/// A write that the service will not do, however often it is asked.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub(crate) place: u64,
    pub(crate) id: Option<String>,
    /// Status and sub-status, if the service has said no.
    pub(crate) status: Option<(u16, u32)>,
    pub(crate) message: String,
}

/// What came of some writes.
#[derive(Debug, Default)]
pub(crate) struct Applied {
    /// Items that are as they were to be.
    pub(crate) done: u64,
    /// Items that were there already and were left as they are.
    pub(crate) kept: u64,
    pub(crate) refused: Vec<Refusal>,
    pub(crate) charge: f64,
    /// How often the service asked to wait.
    pub(crate) throttled: u64,
}

impl Write {
    pub(crate) fn is_delete(&self) -> bool {
        matches!(self.what, What::Delete)
    }

    /// The item that it is about.
    pub(crate) fn item(&self) -> (PartitionKey, String) {
        (self.key.clone(), self.id.clone())
    }

    fn operation(&self) -> BulkOperation {
        match &self.what {
            What::Put(item) => BulkOperation::upsert(self.key.clone(), item),
            What::PutIfAbsent(item) => BulkOperation::create(self.key.clone(), item),
            What::Delete => BulkOperation::delete(self.key.clone(), self.id.clone()),
        }
    }
}

/// What the outcome of a write means for it.
#[derive(Debug)]
enum Verdict {
    Done,
    Kept,
    /// Something is in its way: the item itself, or another one with the same unique key.
    Taken(Refusal),
    Refused(Refusal),
    /// It may succeed later, or nobody knows whether it has.
    Later,
    /// Nothing else will succeed either.
    Hopeless,
}

/// Where items are written.
#[derive(Clone)]
pub(crate) struct Target {
    container: ContainerClient,
    /// Whether a conflict may be about another item than the one of this id.
    has_unique_keys: bool,
}

impl Target {
    pub(crate) fn new(container: ContainerClient, properties: &ContainerProperties) -> Self {
        let unique = properties.unique_key_policy.as_ref();
        Self { container, has_unique_keys: unique.is_some_and(|policy| !policy.unique_keys.is_empty()) }
    }

    /// Whether one item can be in another one's way.
    pub(crate) fn has_unique_keys(&self) -> bool {
        self.has_unique_keys
    }

    /// What there is of these items.
    pub(crate) async fn read(
        &self,
        items: Vec<(PartitionKey, String)>,
    ) -> Result<ReadMany<RawItem>, Failure> {
        self.container.read_many(items).await.map_err(|error| crate::account::failed(&error))
    }
}

/// Does the writes, those on one item in their order. An error says that the rest makes no sense at the moment: some of
/// the writes were done then.
pub(crate) async fn apply(target: &Target, writes: Vec<Write>) -> Result<Applied, Failure> {
    let mut applied = Applied::default();
    let mut left = writes;
    let mut last: Option<Error> = None;
    for round in 0..ROUNDS {
        if left.is_empty() {
            return Ok(applied);
        }
        if round > 0 {
            runtime::sleep(PAUSE * 2_u32.pow(round - 1)).await;
        }
        let operations: Vec<_> = left.iter().map(Write::operation).collect();
        let mut run =
            target.container.bulk().run_all(operations).map_err(|error| crate::account::failed(&error))?;
        // By place, so that what is told is told in the order of the input.
        let mut verdicts = BTreeMap::new();
        while let Some(result) = run.next().await {
            let index = usize::try_from(result.index()).unwrap_or(usize::MAX);
            let Some(write) = left.get(index) else { continue };
            let verdict = result.outcome().map_or_else(|error| verdict(write, error), |_| Verdict::Done);
            if let (Verdict::Later | Verdict::Hopeless, Err(error)) = (&verdict, result.outcome()) {
                last = Some(error.clone());
            }
            if let (Verdict::Hopeless, Err(error)) = (&verdict, result.outcome()) {
                return Err(crate::account::failed(error));
            }
            verdicts.insert(index, verdict);
        }
        applied.charge += run.progress().request_charge;
        applied.throttled += run.progress().throttled;
        applied.charge += judge_taken(target, &left, &mut verdicts).await?;
        left = applied.settle(left, verdicts);
    }
    match last {
        Some(error) if !left.is_empty() => {
            let count = left.len();
            Err(Failure::Work(format!("{count} items could not be written, or nobody knows: {error}")))
        }
        _ => Ok(applied),
    }
}

/// Tells the items that are there from those that another item keeps out. What that cost.
async fn judge_taken(
    target: &Target,
    writes: &[Write],
    verdicts: &mut BTreeMap<usize, Verdict>,
) -> Result<f64, Failure> {
    let taken: Vec<usize> = verdicts
        .iter()
        .filter_map(|(index, verdict)| matches!(verdict, Verdict::Taken(_)).then_some(*index))
        .collect();
    let (mut is_there, mut charge) = (vec![true; taken.len()], 0.0);
    if target.has_unique_keys && !taken.is_empty() {
        let items = taken.iter().map(|index| writes[*index].item()).collect();
        let read = target.read(items).await?;
        charge = read.request_charge();
        read.missing().for_each(|place| is_there[place] = false);
    }
    for (index, is_there) in taken.into_iter().zip(is_there) {
        let verdict = match verdicts.remove(&index) {
            Some(Verdict::Taken(refusal)) if !is_there => Verdict::Refused(refusal),
            _ => Verdict::Kept,
        };
        verdicts.insert(index, verdict);
    }
    Ok(charge)
}

impl Applied {
    /// Counts what is settled; what is left is to be sent again, with all later writes on the same items.
    fn settle(&mut self, writes: Vec<Write>, mut verdicts: BTreeMap<usize, Verdict>) -> Vec<Write> {
        let (mut left, mut open) = (Vec::new(), HashSet::new());
        for (index, write) in writes.into_iter().enumerate() {
            let item = (write.key.to_string(), write.id.clone());
            match verdicts.remove(&index) {
                Some(Verdict::Refused(refusal) | Verdict::Taken(refusal)) => self.refused.push(refusal),
                Some(Verdict::Done | Verdict::Kept) if open.contains(&item) => left.push(write),
                Some(Verdict::Done) => self.done += 1,
                Some(Verdict::Kept) => self.kept += 1,
                Some(Verdict::Later | Verdict::Hopeless) | None => {
                    open.insert(item);
                    left.push(write);
                }
            }
        }
        left
    }
}

/// The logical partition is as large as one may be: the items of other keys can still be written.
const PARTITION_FULL: (u16, u32) = (403, 1014);
/// The container itself is not there any more, or another one has its name.
const CONTAINER_GONE: [(u16, u32); 2] = [(404, 1003), (400, 1024)];

fn verdict(write: &Write, error: &Error) -> Verdict {
    let status = error.status().map(|status| (status.code().as_u16(), status.sub_status()));
    let refusal =
        || Refusal { place: write.place, id: Some(write.id.clone()), status, message: error.to_string() };
    if error.is_transient() {
        return Verdict::Later;
    }
    if status.is_some_and(|status| CONTAINER_GONE.contains(&status)) {
        return Verdict::Hopeless;
    }
    match (error.kind(), &write.what) {
        (ErrorKind::OutcomeUnknown, _) => Verdict::Later,
        (ErrorKind::Conflict, What::PutIfAbsent(_)) => Verdict::Taken(refusal()),
        (ErrorKind::NotFound, What::Delete) => Verdict::Done,
        // These are about the item.
        (
            ErrorKind::BadRequest
            | ErrorKind::Conflict
            | ErrorKind::PreconditionFailed
            | ErrorKind::TooLarge
            | ErrorKind::Serialization,
            _,
        ) => Verdict::Refused(refusal()),
        (ErrorKind::Forbidden, _) if status == Some(PARTITION_FULL) => Verdict::Refused(refusal()),
        // And these are not: a key that was changed, a firewall, a full account, a server that is no such service.
        // To count them as refused would leave items out that could be written once the cause is gone.
        _ => Verdict::Hopeless,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_behind_a_write_that_is_repeated_is_repeated_if_it_is_of_the_same_item() {
        let write = |place, id: &str| Write {
            place,
            key: PartitionKey::from("p"),
            id: id.to_owned(),
            what: What::Put(RawItem::default()),
        };
        let writes = vec![write(0, "a"), write(1, "b"), write(2, "a"), write(3, "c"), write(4, "b")];
        let verdicts = BTreeMap::from([
            (0, Verdict::Done),
            (1, Verdict::Later),
            (2, Verdict::Done),
            // Nothing was heard of the fourth.
            (4, Verdict::Done),
        ]);
        let mut applied = Applied::default();
        let left = applied.settle(writes, verdicts);
        assert_eq!(left.iter().map(|write| write.place).collect::<Vec<_>>(), [1, 3, 4]);
        assert_eq!((applied.done, applied.refused.len()), (2, 0));
    }
}
