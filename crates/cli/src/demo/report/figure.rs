//! One figure of the report: a panel over the time of the run, with what it shows in words and in numbers.

use std::time::Duration;

use cosmonaut_plot::{Anchor, Outage, Palette, Panel, Rect, Scale, Span, Svg};
use serde_json::{Value, json};

/// How wide the drawing is, and where in it the panel is.
const WIDTH: f64 = 960.0;
const PANEL: Rect = Rect { x: 58.0, y: 8.0, width: 882.0, height: 150.0 };
/// The panel of one that shows shares: all of it is filled, so the outage is labelled above it.
const SHARES: Rect = Rect { y: 22.0, height: 64.0, ..PANEL };
/// Below the panel: the time.
const BELOW: f64 = 24.0;

/// The page colours them, for the light and for the dark.
const PALETTE: Palette = Palette { outage: "var(--outage)", grid: "var(--grid)", frame: "var(--frame)" };

/// What is drawn with one colour: a number for each step, where there is one.
pub(super) struct Series {
    pub(super) name: &'static str,
    /// The name of the colour in the page's style.
    pub(super) colour: &'static str,
    pub(super) values: Vec<Option<f64>>,
}

/// What the numbers are, and so how they are drawn.
pub(super) enum Shape {
    /// Seconds, as lines on a logarithmic axis.
    Latency,
    /// Numbers as lines.
    Lines,
    /// Numbers on top of each other.
    Stack,
    /// Parts of 1 on top of each other.
    Shares,
}

pub(super) struct Figure {
    /// Its name in the page.
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    /// What it shows, for those who cannot see it.
    pub(super) description: String,
    pub(super) shape: Shape,
    pub(super) series: Vec<Series>,
    /// Steps in which something failed.
    pub(super) failures: Vec<usize>,
}

/// What all figures of a run have in common.
pub(super) struct Frame {
    pub(super) span: Span,
    pub(super) outage: Option<Outage>,
    /// What is written where the outage is shaded.
    pub(super) label: &'static str,
}

impl Figure {
    pub(super) fn draw(&self, frame: &Frame) -> String {
        let (rect, label_at) = match self.shape {
            Shape::Latency | Shape::Lines | Shape::Stack => (PANEL, PANEL.y + 16.0),
            Shape::Shares => (SHARES, SHARES.y - 6.0),
        };
        let mut svg = Svg::new(WIDTH, rect.bottom() + BELOW);
        let panel = Panel::new(rect, frame.span, &PALETTE);
        match self.shape {
            Shape::Latency => {
                let scale = Scale::latency(Duration::from_millis(1), Duration::from_secs(10));
                self.lines(&mut svg, &panel, frame, &scale);
            }
            Shape::Lines => {
                let greatest = self.series.iter().flat_map(|series| &series.values).flatten();
                let scale = Scale::count(greatest.fold(0.0, |most, value| most.max(*value)));
                self.lines(&mut svg, &panel, frame, &scale);
            }
            Shape::Stack => {
                let sums = (0..frame.span.steps()).map(|step| self.at(step).iter().sum());
                let scale = Scale::count(sums.fold(0.0, f64::max));
                panel.shade(&mut svg, frame.outage);
                panel.grid(&mut svg, &scale);
                self.stack(&mut svg, &panel, |value| scale.place(value));
            }
            Shape::Shares => {
                panel.shade(&mut svg, frame.outage);
                self.stack(&mut svg, &panel, |value| value);
                svg.text((rect.x - 5.0, rect.y + 9.0), Anchor::End, "100 %");
                svg.text((rect.x - 5.0, rect.bottom()), Anchor::End, "0 %");
            }
        }
        panel.marks(&mut svg, self.failures.iter().copied(), "var(--failure)");
        panel.frame(&mut svg);
        panel.label_time(&mut svg);
        if let Some(outage) = frame.outage {
            label(&mut svg, &panel, outage, label_at, frame.label);
        }
        svg.finish_inline(self.id, self.title, &self.description)
    }

    fn lines(&self, svg: &mut Svg, panel: &Panel<'_>, frame: &Frame, scale: &Scale) {
        panel.shade(svg, frame.outage);
        panel.grid(svg, scale);
        for series in &self.series {
            panel.curve(svg, scale, series.values.iter().copied(), series.colour);
        }
    }

    fn stack(&self, svg: &mut Svg, panel: &Panel<'_>, place: impl Fn(f64) -> f64) {
        let steps = self.series.first().map_or(0, |series| series.values.len());
        let parts: Vec<Vec<f64>> =
            (0..steps).map(|step| self.at(step).into_iter().map(&place).collect()).collect();
        let colours: Vec<_> = self.series.iter().map(|series| series.colour).collect();
        panel.stack(svg, parts.iter().map(Vec::as_slice), &colours);
    }

    /// The numbers of one step; 0 where there is none.
    fn at(&self, step: usize) -> Vec<f64> {
        let value = |series: &Series| series.values.get(step).copied().flatten().unwrap_or(0.0);
        self.series.iter().map(value).collect()
    }

    /// What the page's script shows where the pointer is.
    pub(super) fn data(&self) -> Value {
        let (factor, unit) = match self.shape {
            Shape::Latency => (1e3, " ms"),
            Shape::Lines => (1.0, ""),
            Shape::Stack => (1.0, " /s"),
            Shape::Shares => (100.0, " %"),
        };
        let rounded = |value: f64| (value * factor * 10.0).round() / 10.0;
        let series = |series: &Series| {
            let values: Vec<_> = series.values.iter().map(|value| value.map(rounded)).collect();
            json!({"name": series.name, "colour": series.colour, "values": values})
        };
        json!({"id": self.id, "unit": unit, "series": self.series.iter().map(series).collect::<Vec<_>>()})
    }
}

/// Lines where the outage begins and ends, over whatever is drawn there, and its name.
fn label(svg: &mut Svg, panel: &Panel<'_>, outage: Outage, y: f64, label: &str) {
    let (from, to) = (panel.time.at(outage.from), panel.time.at(outage.to));
    for x in [from, to] {
        svg.line((x, panel.rect.y), (x, panel.rect.bottom()), "var(--failure)");
    }
    svg.heading((from + 6.0, y), label);
}

/// Where the panel is in every drawing, for the page's script.
pub(super) fn place() -> Value {
    json!({"view": WIDTH, "left": PANEL.x, "width": PANEL.width})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(shape: Shape) -> Figure {
        let series =
            |name, values: [f64; 2]| Series { name, colour: "var(--a)", values: values.map(Some).into() };
        Figure {
            id: "f",
            title: "Title",
            description: "What it shows".into(),
            shape,
            series: vec![series("one", [0.25, 0.5]), series("two", [0.75, 0.5])],
            failures: vec![1],
        }
    }

    fn frame() -> Frame {
        let second = Duration::from_secs(1);
        Frame {
            span: Span { length: second * 2, step: second },
            outage: Some(Outage { from: second, to: second * 2 }),
            label: "West US down",
        }
    }

    #[test]
    fn every_shape_is_drawn_with_its_outage_and_its_words() {
        for shape in [Shape::Latency, Shape::Lines, Shape::Stack, Shape::Shares] {
            let drawn = figure(shape).draw(&frame());
            for part in [
                "var(--outage)",
                "West US down",
                "<title id=\"f-title\">Title<",
                "What it shows",
                "var(--failure)",
            ] {
                assert!(drawn.contains(part), "{part} in {drawn}");
            }
            assert_eq!(drawn.matches("var(--a)").count(), 2, "{drawn}");
        }
    }

    #[test]
    fn the_script_gets_numbers_with_their_units() {
        let data = figure(Shape::Latency).data();
        assert_eq!((&data["unit"], &data["series"][0]["values"]), (&json!(" ms"), &json!([250.0, 500.0])));
        assert_eq!(figure(Shape::Shares).data()["series"][1]["values"], json!([75.0, 50.0]));
    }
}
