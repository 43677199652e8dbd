//! A task's queries: page by page, and now and then on from the token of a page, as somebody else would.

use cosmonaut::{FeedScope, Items, PartitionKey, RawItem};

use crate::history::{Key, Operation, Order, Outcome, Page, Trail};
use crate::items::{Item, ItemTask, how_refused, key_of, of_read};
use crate::recorder::HowAnswered;

impl ItemTask {
    pub(crate) async fn query(&mut self) {
        let partition = self.random.percent(50).then(|| self.key().partition);
        let order = match self.random.below(4) {
            0 => Order::Any,
            1 => Order::Place,
            2 => Order::Tie { falling: false },
            _ => Order::Tie { falling: true },
        };
        let call =
            self.recorder.begin(self.session, self.has_token, |_| Operation::Query { partition, order });
        let size = self.random.between(1, 7) as u32;
        let mut pages_of = self.rows(partition, order, size).into_pages();
        let (mut pages, mut complete, mut refusal) = (Vec::new(), false, None);
        let began = self.recorder.tick();
        // Over several partitions, rows of a page may have been fetched for an earlier one. Whoever goes on in the middle
        // is given rows again that an earlier page had, so that the others may need another answer.
        let mut is_one_answer = partition.is_some();
        loop {
            let invoked = if is_one_answer { self.recorder.tick() } else { began };
            match pages_of.next().await {
                Some(Ok(page)) => {
                    let rows = page.items.iter().map(row).collect();
                    pages.push(Page { invoked, returned: self.recorder.tick(), is_one_answer, rows });
                    if let Some(token) = page.continuation.filter(|_| self.random.percent(30)) {
                        pages_of = self.rows(partition, order, size).continue_from(token).into_pages();
                        is_one_answer &= order == Order::Any;
                    }
                }
                Some(Err(error)) if pages.is_empty() => {
                    return self.recorder.end(call, of_read(&error), how_refused(&error));
                }
                Some(Err(error)) => {
                    if let Outcome::Refused(why) = of_read(&error) {
                        refusal = Some(why);
                    }
                    break;
                }
                None => {
                    complete = true;
                    break;
                }
            }
        }
        self.recorder.end(call, Outcome::Pages { pages, complete, refusal }, HowAnswered::default());
    }

    fn rows(&self, partition: Option<u32>, order: Order, size: u32) -> Items<RawItem> {
        let text = match order {
            Order::Any => "SELECT * FROM c",
            Order::Place => "SELECT * FROM c ORDER BY c.place",
            Order::Tie { falling: false } => "SELECT * FROM c ORDER BY c.tie",
            Order::Tie { falling: true } => "SELECT * FROM c ORDER BY c.tie DESC",
        };
        let rows = match partition {
            Some(partition) => self.container.query_items(text, PartitionKey::from(format!("p{partition}"))),
            None => self.container.query_items(text, FeedScope::Container),
        };
        rows.max_item_count(size).timeout(self.timeout)
    }
}

fn row(item: &RawItem) -> (Key, Trail) {
    let item: Item = serde_json::from_slice(item.as_bytes()).expect("items are what this program wrote");
    (key_of(&item.pk, &item.id), item.trail)
}
