//! The timeline as text, a hundred columns wide.

use std::fmt::Write;

use super::scene::{Bar, Scene, name_of_event, scene};
use crate::checker::Violation;
use crate::checker::words::moment;
use crate::history::{History, Micros};

const WIDTH: usize = 100;
/// Of these, the part in which time goes from left to right.
const DRAWN: usize = 26;

/// A timeline that a person can read.
pub fn text(history: &History, violation: &Violation) -> String {
    let scene = scene(history, violation);
    let mut page = String::new();
    push(&mut page, &format!("{} at {}", violation.rule, moment(violation.at)));
    for line in wrapped(&violation.message) {
        push(&mut page, &format!("  {line}"));
    }
    push(&mut page, "");
    push(
        &mut page,
        &format!("  {:<14} {:<11} {:<7}{:<w$}  call", "begins", "who", "region", "", w = DRAWN + 2),
    );
    let mut events = scene.events.iter().peekable();
    for bar in &scene.bars {
        while let Some(event) = events.next_if(|event| event.at <= bar.from) {
            push(&mut page, &event_line(event.at, &name_of_event(event)));
        }
        push(&mut page, &bar_line(&scene, bar));
    }
    for event in events {
        push(&mut page, &event_line(event.at, &name_of_event(event)));
    }
    if scene.left_out > 0 {
        push(&mut page, &format!("  and {} more calls on the same items", scene.left_out));
    }
    page
}

fn bar_line(scene: &Scene<'_>, bar: &Bar<'_>) -> String {
    format!(
        "{} {:<14} {:<11} {:<7}|{}|  {} → {}",
        if bar.marked { '>' } else { ' ' },
        moment(bar.from),
        cut(&bar.lane, 11),
        cut(bar.region.unwrap_or("–"), 6),
        drawn(scene, bar),
        bar.what,
        bar.outcome
    )
}

fn drawn(scene: &Scene<'_>, bar: &Bar<'_>) -> String {
    let column = |at: Micros| {
        let share = at.saturating_sub(scene.from) as f64 / (scene.to - scene.from).max(1) as f64;
        ((share * DRAWN as f64) as usize).min(DRAWN - 1)
    };
    let first = column(bar.from);
    let last = bar.to.map_or(DRAWN - 1, column);
    let letter = |place: usize| match place {
        place if place < first || place > last => ' ',
        place if place == last && bar.to.is_none() => '~',
        place if bar.to.is_none() && place > first => '~',
        _ if bar.marked => '#',
        _ => '=',
    };
    (0..DRAWN).map(letter).collect()
}

fn event_line(at: Micros, what: &str) -> String {
    let line = format!("* {:<14} {what} ", moment(at));
    let rest = WIDTH.saturating_sub(line.chars().count());
    line + &"*".repeat(rest)
}

fn push(page: &mut String, line: &str) {
    writeln!(page, "{}", cut(line, WIDTH).trim_end()).expect("writing to a string does not fail");
}

/// At most so many letters, the last one a sign that there is more.
fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is a line from the beginning");
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > WIDTH - 2 {
            lines.push(word.to_owned());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}
