//! What a query has cost so far, in one line or request by request.

use std::collections::BTreeSet;
use std::time::Duration;

use cosmonaut::Page;

use crate::cell::whole;
use crate::served::regions;

/// Sums over the pages of a result.
#[derive(Default)]
pub(crate) struct Totals {
    pub(crate) rows: u64,
    pages: u64,
    requests: usize,
    charge: f64,
    regions: BTreeSet<String>,
    /// A line for each request, if they are wanted.
    lines: Vec<String>,
}

impl Totals {
    pub(crate) fn add<T>(&mut self, page: &Page<T>, rows: usize, with_lines: bool) {
        self.rows += rows as u64;
        self.pages += 1;
        self.charge += page.request_charge;
        for context in &page.diagnostics {
            self.requests += context.attempts().len();
            self.regions.extend(regions(context).map(str::to_owned));
            if with_lines {
                self.lines.push(context.to_string());
            }
        }
    }

    /// `3 rows, 2.91 RU, 1 page, 2 requests, East US, 14 ms`, and before it the lines.
    pub(crate) fn text(&self, took: Duration) -> String {
        let mut parts = vec![counted(self.rows, "row"), format!("{:.2} RU", self.charge)];
        parts.push(counted(self.pages, "page"));
        parts.push(counted(self.requests as u64, "request"));
        parts.extend(self.regions.iter().map(|region| whole(region)));
        parts.push(format!("{:.0} ms", took.as_secs_f64() * 1000.0));
        let lines: String = self.lines.iter().map(|line| format!("{line}\n")).collect();
        format!("{lines}{}\n", parts.join(", "))
    }
}

fn counted(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_says_what_it_cost() {
        let regions = BTreeSet::from(["East US".to_owned(), "West US".to_owned()]);
        let totals = Totals { rows: 1, pages: 2, requests: 3, charge: 2.909, regions, lines: Vec::new() };
        assert_eq!(
            totals.text(Duration::from_millis(14)),
            "1 row, 2.91 RU, 2 pages, 3 requests, East US, West US, 14 ms\n"
        );
        assert!(Totals::default().text(Duration::ZERO).starts_with("0 rows, 0.00 RU"));
        let regions = BTreeSet::from(["\u{1b}[2JEast".to_owned()]);
        let hostile = Totals { regions, ..Totals::default() };
        assert!(
            hostile.text(Duration::ZERO).contains(", \\u{1b}[2JEast, "),
            "a name does not steer the terminal"
        );
    }
}
