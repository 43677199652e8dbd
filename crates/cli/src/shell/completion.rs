//! What the tab key offers: commands, containers, members, functions and words of the language.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use rustyline::completion::{Completer, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Helper};

use super::command::COMMANDS;
use super::statement;
use crate::cell::{steers, whole};
use crate::container::Found;

/// The words of the language that are typed most.
const WORDS: [&str; 32] = [
    "SELECT",
    "FROM",
    "WHERE",
    "ORDER BY",
    "GROUP BY",
    "JOIN",
    "IN",
    "AS",
    "TOP",
    "DISTINCT",
    "VALUE",
    "OFFSET",
    "LIMIT",
    "AND",
    "OR",
    "NOT",
    "BETWEEN",
    "LIKE",
    "EXISTS",
    "ASC",
    "DESC",
    "NULL",
    "UNDEFINED",
    "TRUE",
    "FALSE",
    "ARRAY",
    "ALL",
    "FIRST",
    "LAST",
    "RANK",
    "ESCAPE",
    "UDF",
];

/// How many names of members are remembered.
const MEMBERS: usize = 5000;

/// What a shell has learned.
#[derive(Default)]
pub(super) struct Known {
    containers: Vec<String>,
    members: BTreeSet<String>,
    pub(super) regions: Vec<String>,
}

impl Known {
    pub(super) fn containers(&mut self, found: &[Found]) {
        let name = |found: &Found| match &found.container {
            Some(container) => format!("{}/{}", found.database, container.id),
            None => format!("{}/", found.database),
        };
        self.containers = found.iter().map(name).collect();
    }

    pub(super) fn learn(&mut self, members: impl IntoIterator<Item = String>) {
        for member in members {
            // What cannot be written behind a dot is not offered there.
            let is_word = member.chars().all(|c| c == '_' || c.is_alphanumeric());
            if self.members.len() < MEMBERS && is_word {
                self.members.insert(member);
            }
        }
    }

    /// Where the word begins that ends at the cursor, and what it may become.
    fn offers(&self, before: &str) -> (usize, Vec<String>) {
        let (begin, mut offers) = self.matches(before);
        // What others have named goes into the line as it is, and so to the terminal.
        offers.retain(|offer| !offer.contains(steers));
        (begin, offers)
    }

    fn matches(&self, before: &str) -> (usize, Vec<String>) {
        let line = before.rsplit('\n').next().unwrap_or_default().trim_start();
        if line.starts_with('\\') && before.trim_start() == line {
            return self.of_command(before, line);
        }
        let begin = before
            .rfind(|c: char| !(c == '_' || c.is_alphanumeric()))
            .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
        let word = &before[begin..];
        if before[..begin].ends_with('.') {
            return (begin, matching(self.members.iter().map(String::as_str), word));
        }
        if word.is_empty() {
            return (begin, Vec::new());
        }
        let functions = cosmonaut_query::functions::all().iter().map(|function| function.name);
        // Those that begin with _ are for clients, not for people.
        let functions = matching(functions.filter(|name| !name.starts_with('_')), word);
        let mut offers = matching(WORDS.into_iter(), word);
        offers.extend(functions.into_iter().map(|name| format!("{name}(")));
        (begin, offers)
    }

    fn of_command(&self, before: &str, line: &str) -> (usize, Vec<String>) {
        let Some((name, _)) = line.split_once(char::is_whitespace) else {
            let names = COMMANDS.iter().map(|(name, ..)| *name);
            return (before.len() - line.len(), matching(names, line));
        };
        let rest = line[name.len()..].trim_start();
        let begin = before.len() - rest.len();
        let offers = match name {
            "\\c" | "\\d" => matching(self.containers.iter().map(String::as_str), rest),
            "\\region" => matching(self.regions.iter().map(String::as_str), rest),
            "\\f" => matching(["table", "vertical", "json", "jsonl", "csv"].into_iter(), rest),
            "\\x" | "\\stats" | "\\system" | "\\timing" => matching(["on", "off"].into_iter(), rest),
            "\\explain" => {
                let (inner, offers) = self.matches(rest);
                return (begin + inner, offers);
            }
            _ => Vec::new(),
        };
        (begin, offers)
    }
}

fn matching<'n>(names: impl Iterator<Item = &'n str>, word: &str) -> Vec<String> {
    let begins = |name: &&str| name.get(..word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(word));
    names.filter(begins).map(str::to_owned).collect()
}

/// What the line editor asks while somebody types.
pub(super) struct Typing {
    pub(super) known: Arc<Mutex<Known>>,
}

impl Completer for Typing {
    type Candidate = Pair;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (begin, offers) = known.offers(&line[..at]);
        let pair = |offer: String| Pair { display: whole(&offer), replacement: offer };
        Ok((begin, offers.into_iter().map(pair).collect()))
    }
}

impl Validator for Typing {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(match statement::is_complete(context.input()) {
            true => ValidationResult::Valid(None),
            false => ValidationResult::Incomplete,
        })
    }
}

impl Hinter for Typing {
    type Hint = String;
}

impl Highlighter for Typing {}

impl Helper for Typing {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_may_become_what_fits_its_place() {
        let regions = vec!["East US".to_owned(), "East\u{202e}US".to_owned()];
        let mut known = Known { regions, ..Known::default() };
        known.learn(["total", "city", "not a word", "to", "to\u{3164}"].map(str::to_owned));
        // The last one would steer the terminal that it is completed on.
        known.containers = ["shop/orders", "shop/carts", "shop/o\u{1b}[2J"].map(str::to_owned).to_vec();
        for (before, begin, offers) in [
            ("\\ti", 0, &["\\timing"][..]),
            ("\\c sh", 3, &["shop/orders", "shop/carts"]),
            ("\\d shop/o", 3, &["shop/orders"]),
            ("\\region e", 8, &["East US"]),
            ("\\x o", 3, &["on", "off"]),
            ("\\f v", 3, &["vertical"]),
            ("SEL", 0, &["SELECT"]),
            ("SELECT c.to", 9, &["to", "total"]),
            ("SELECT c.", 9, &["city", "to", "total"]),
            ("SELECT arraycon", 7, &[]),
            ("SELECT Array_Conc", 7, &["ARRAY_CONCAT("]),
            ("SELECT *\nFROM c WHE", 16, &["WHERE"]),
            ("\\explain SELECT c.ci", 18, &["city"]),
            ("SELECT ", 7, &[]),
            ("SELECT 'é", 8, &[]),
        ] {
            let (at, found) = known.offers(before);
            assert_eq!(
                (at, found.iter().map(String::as_str).collect::<Vec<_>>()),
                (begin, offers.to_vec()),
                "{before}"
            );
        }
    }
}
