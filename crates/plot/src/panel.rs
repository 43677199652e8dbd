//! A panel: a rectangle of a drawing whose width is the time of a run.

use crate::{Anchor, Outage, Rect, Scale, Span, Svg, TimeAxis};

/// The colours of what every panel has, as CSS writes them.
#[derive(Clone, Copy, Debug)]
pub struct Palette {
    /// Behind what was measured while something was broken.
    pub outage: &'static str,
    /// Lines at round values.
    pub grid: &'static str,
    /// Around the panel, and the marks of its time axis.
    pub frame: &'static str,
}

/// A rectangle of a drawing whose width is the time of a run.
#[derive(Clone, Copy, Debug)]
pub struct Panel<'a> {
    /// Where it is.
    pub rect: Rect,
    /// Where moments are.
    pub time: TimeAxis,
    palette: &'a Palette,
}

impl<'a> Panel<'a> {
    /// A panel for such a run. Nothing is drawn yet.
    pub fn new(rect: Rect, span: Span, palette: &'a Palette) -> Self {
        Self { rect, time: TimeAxis::new(&rect, span), palette }
    }

    /// Shades the time in which something was broken.
    pub fn shade(&self, svg: &mut Svg, outage: Option<Outage>) {
        let Some(outage) = outage else { return };
        let (from, to) = (self.time.at(outage.from), self.time.at(outage.to));
        svg.rect(Rect { x: from, width: to - from, ..self.rect }, self.palette.outage);
    }

    /// Draws the lines of a scale, with their values at the left.
    pub fn grid(&self, svg: &mut Svg, scale: &Scale) {
        for (value, name) in scale.lines() {
            let y = self.height_of(scale, value);
            svg.line((self.rect.x, y), (self.rect.right(), y), self.palette.grid);
            svg.text((self.rect.x - 5.0, y + 4.0), Anchor::End, &name);
        }
    }

    /// Draws a line through a value for each step, interrupted where there is none.
    pub fn curve(
        &self,
        svg: &mut Svg,
        scale: &Scale,
        values: impl IntoIterator<Item = Option<f64>>,
        colour: &str,
    ) {
        let point = |(step, value): (usize, Option<f64>)| {
            Some((self.time.middle_of(step), self.height_of(scale, value?)))
        };
        svg.curve(values.into_iter().enumerate().map(point), colour);
    }

    /// Piles up, for each step, parts of the whole height, from the bottom on.
    pub fn stack<'p>(&self, svg: &mut Svg, steps: impl Iterator<Item = &'p [f64]> + Clone, colours: &[&str]) {
        for (place, colour) in colours.iter().enumerate() {
            let part = |(step, parts): (usize, &[f64])| {
                let below: f64 = parts[..place].iter().sum();
                let height = self.rect.height * parts[place];
                let y = self.rect.bottom() - self.rect.height * below - height;
                (height > 0.0).then(|| Rect { y, height, ..self.time.step(&self.rect, step) })
            };
            svg.area(steps.clone().enumerate().filter_map(part), colour);
        }
    }

    /// Marks steps at the upper edge.
    pub fn marks(&self, svg: &mut Svg, steps: impl IntoIterator<Item = usize>, colour: &str) {
        const HEIGHT: f64 = 5.0;
        let mark = |step| Rect { height: HEIGHT, ..self.time.step(&self.rect, step) };
        svg.area(steps.into_iter().map(mark), colour);
    }

    /// Draws the edges.
    pub fn frame(&self, svg: &mut Svg) {
        svg.frame(self.rect, self.palette.frame);
    }

    /// Writes the time below.
    pub fn label_time(&self, svg: &mut Svg) {
        let bottom = self.rect.bottom();
        for seconds in self.time.labels() {
            let x = self.time.at(std::time::Duration::from_secs(seconds));
            svg.line((x, bottom), (x, bottom + 4.0), self.palette.frame);
            svg.text((x, bottom + 17.0), Anchor::Middle, &format!("{seconds} s"));
        }
    }

    fn height_of(&self, scale: &Scale, value: f64) -> f64 {
        self.rect.bottom() - self.rect.height * scale.place(value)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const RECT: Rect = Rect { x: 10.0, y: 20.0, width: 200.0, height: 80.0 };
    const PALETTE: Palette = Palette { outage: "#faa", grid: "#ddd", frame: "#888" };

    fn drawn(steps: u32, draw: impl Fn(&Panel<'_>, &mut Svg)) -> String {
        let step = Duration::from_millis(100);
        let mut svg = Svg::new(300.0, 200.0);
        draw(&Panel::new(RECT, Span { length: step * steps, step }, &PALETTE), &mut svg);
        svg.finish()
    }

    #[test]
    fn the_outage_is_shaded_where_it_was() {
        let outage = Outage { from: Duration::from_millis(500), to: Duration::from_secs(1) };
        let text = drawn(20, |panel, svg| panel.shade(svg, Some(outage)));
        assert!(
            text.contains(r##"<rect x="60.0" y="20.0" width="50.0" height="80.0" fill="#faa""##),
            "{text}"
        );
        assert!(!drawn(20, |panel, svg| panel.shade(svg, None)).contains("#faa"));
    }

    #[test]
    fn parts_are_stacked_from_the_bottom() {
        let parts: [&[f64]; 1] = [&[0.25, 0.75, 0.0]];
        let text = drawn(1, |panel, svg| panel.stack(svg, parts.into_iter(), &["#001", "#002", "#003"]));
        assert!(text.contains(r##"<path d="M10.0 80.0H210.0V100.0H10.0z" fill="#001""##), "{text}");
        assert!(text.contains(r##"<path d="M10.0 20.0H210.0V80.0H10.0z" fill="#002""##), "{text}");
        assert!(!text.contains("#003"), "what has no part is not drawn");
    }

    #[test]
    fn values_are_as_high_as_the_scale_has_them() {
        let scale = Scale::count(4.0);
        let values = [Some(0.0), Some(2.0), None, Some(9.0)];
        let text = drawn(4, |panel, svg| panel.curve(svg, &scale, values, "#001"));
        assert!(text.contains(r#"d="M35.0 100.0h0L85.0 60.0M185.0 20.0h0""#), "{text}");
        let text = drawn(4, |panel, svg| panel.grid(svg, &scale));
        assert_eq!(text.matches("<line").count(), 5);
    }

    #[test]
    fn steps_are_marked_at_the_upper_edge() {
        let text = drawn(4, |panel, svg| panel.marks(svg, [1], "#d00"));
        assert!(text.contains(r##"d="M60.0 20.0H110.0V25.0H60.0z" fill="#d00""##), "{text}");
    }
}
