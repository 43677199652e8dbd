//! Where a value and a moment are on a panel, and which of them are worth a line.

use std::time::Duration;

use crate::{Rect, Span};

/// An axis for values: where they are between the bottom and the top, and where it has lines.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    kind: Kind,
    least: f64,
    most: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Linear,
    Logarithmic,
}

impl Scale {
    /// For times in seconds, of which each power of ten is as high as the others. Both ends are powers of ten.
    pub fn latency(least: Duration, most: Duration) -> Self {
        Self { kind: Kind::Logarithmic, least: least.as_secs_f64(), most: most.as_secs_f64() }
    }

    /// For numbers from 0 to something round above the greatest.
    pub fn count(greatest: f64) -> Self {
        let step = round_step(greatest / 4.0);
        Self { kind: Kind::Linear, least: 0.0, most: step * (greatest / step).ceil().max(1.0) }
    }

    /// Where a value is, from 0 at the bottom to 1 at the top.
    pub fn place(&self, value: f64) -> f64 {
        let value = value.clamp(self.least, self.most);
        match self.kind {
            Kind::Linear => (value - self.least) / (self.most - self.least),
            Kind::Logarithmic => (value / self.least).ln() / (self.most / self.least).ln(),
        }
    }

    /// The values that have a line, and what is written there.
    pub fn lines(&self) -> Vec<(f64, String)> {
        match self.kind {
            Kind::Linear => {
                let step = round_step(self.most / 4.0);
                let count = (self.most / step).round() as usize;
                (0..=count).map(|number| step * number as f64).map(|value| (value, grouped(value))).collect()
            }
            Kind::Logarithmic => {
                let first = self.least.log10().round() as i32;
                let last = self.most.log10().round() as i32;
                (first..=last).map(|power| 10_f64.powi(power)).map(|value| (value, time(value))).collect()
            }
        }
    }
}

/// 1, 2 or 5 times a power of ten: the least that is not below.
fn round_step(step: f64) -> f64 {
    let power = 10_f64.powf(step.max(1.0).log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .map(|factor| factor * power)
        .into_iter()
        .find(|&round| round >= step)
        .unwrap_or(power)
}

fn time(seconds: f64) -> String {
    if seconds >= 1.0 { format!("{seconds:.0} s") } else { format!("{:.0} ms", seconds * 1e3) }
}

/// A whole number with thin spaces between thousands.
fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push('\u{2009}');
        }
        text.push(digit);
    }
    text
}

/// The axis for time, from left to right.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeAxis {
    left: f64,
    /// How wide a step is.
    step: f64,
    span: Span,
}

impl TimeAxis {
    /// Over the whole width of a panel.
    pub fn new(panel: &Rect, span: Span) -> Self {
        Self { left: panel.x, step: panel.width / span.steps().max(1) as f64, span }
    }

    /// Where a moment is; the end of the panel if it is later.
    pub fn at(&self, moment: Duration) -> f64 {
        let steps = moment.as_secs_f64() / self.span.step.as_secs_f64();
        self.left + self.step * steps.min(self.span.steps().max(1) as f64)
    }

    /// The middle of a step.
    pub fn middle_of(&self, step: usize) -> f64 {
        self.left + self.step * (step as f64 + 0.5)
    }

    /// The whole height of a panel over one step.
    pub fn step(&self, panel: &Rect, step: usize) -> Rect {
        Rect { x: self.left + self.step * step as f64, width: self.step, ..*panel }
    }

    /// The seconds that are labelled: a round number apart, and no more than a dozen.
    pub fn labels(&self) -> Vec<u64> {
        let end = self.span.step.as_secs_f64() * self.span.steps() as f64;
        let apart = [1, 5, 10, 30, 60, 300, 600, 1800, 3600];
        let apart = apart.into_iter().find(|&apart| end / apart as f64 <= 12.0).unwrap_or(36_000);
        (0..).step_by(apart).take_while(|&seconds| seconds as f64 <= end).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PANEL: Rect = Rect { x: 10.0, y: 20.0, width: 200.0, height: 80.0 };

    fn span(steps: u32) -> Span {
        let step = Duration::from_millis(100);
        Span { length: step * steps, step }
    }

    #[test]
    fn each_power_of_ten_is_as_high_as_the_other_and_the_axis_ends_hold() {
        let scale = Scale::latency(Duration::from_millis(1), Duration::from_secs(10));
        for (millis, expected) in
            [(0.0, 0.0), (1.0, 0.0), (10.0, 0.25), (100.0, 0.5), (1e3, 0.75), (1e4, 1.0), (6e4, 1.0)]
        {
            let place = scale.place(millis / 1e3);
            assert!((place - expected).abs() < 1e-9, "{millis} ms is at {place}");
        }
        let names: Vec<_> = scale.lines().into_iter().map(|(_, name)| name).collect();
        assert_eq!(names, ["1 ms", "10 ms", "100 ms", "1 s", "10 s"]);
    }

    #[test]
    fn numbers_end_at_something_round() {
        for (greatest, expected) in [
            (0.0, &["0", "1"][..]),
            (3.0, &["0", "1", "2", "3"]),
            (7.0, &["0", "2", "4", "6", "8"]),
            (950.0, &["0", "500", "1\u{2009}000"]),
            (1_234.0, &["0", "500", "1\u{2009}000", "1\u{2009}500"]),
        ] {
            let lines = Scale::count(greatest).lines();
            assert_eq!(lines.iter().map(|(_, name)| name).collect::<Vec<_>>(), expected, "{greatest}");
            assert!(lines.last().unwrap().0 >= greatest);
        }
        assert_eq!(Scale::count(7.0).place(4.0), 0.5);
    }

    #[test]
    fn moments_are_where_their_steps_are() {
        let axis = TimeAxis::new(&PANEL, span(20));
        assert_eq!(axis.at(Duration::ZERO), 10.0);
        assert_eq!(axis.at(Duration::from_secs(2)), 210.0);
        assert_eq!(axis.at(Duration::from_secs(9)), 210.0, "no further than the panel");
        assert_eq!(axis.middle_of(0), 15.0);
        assert_eq!(axis.step(&PANEL, 19).right(), PANEL.right());
    }

    #[test]
    fn a_dozen_moments_are_labelled_at_most() {
        for (steps, expected) in [(0, &[0][..]), (35, &[0, 1, 2, 3]), (200, &[0, 5, 10, 15, 20])] {
            assert_eq!(TimeAxis::new(&PANEL, span(steps)).labels(), expected);
        }
        assert_eq!(TimeAxis::new(&PANEL, span(3_000)).labels().len(), 11);
    }
}
