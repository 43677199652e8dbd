//! As much of SVG as a plot needs: boxes, paths and text. Where they go is the business of
//! [`Panel`](crate::Panel).

use std::fmt::Write;

const WRITTEN: &str = "writing to a string does not fail";

/// A drawing in the making. Colours are as CSS writes them: `#4c78a8`, or `var(--name)` in a page that has it.
#[derive(Debug)]
pub struct Svg {
    body: String,
    width: f64,
    height: f64,
}

/// A rectangle; y grows downwards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rect {
    /// The left edge.
    pub x: f64,
    /// The upper edge.
    pub y: f64,
    /// From left to right.
    pub width: f64,
    /// From top to bottom.
    pub height: f64,
}

impl Rect {
    /// The right edge.
    pub fn right(&self) -> f64 {
        self.x + self.width
    }

    /// The lower edge.
    pub fn bottom(&self) -> f64 {
        self.y + self.height
    }
}

/// Which end of a text its place is.
#[derive(Clone, Copy, Debug)]
pub enum Anchor {
    /// Its beginning.
    Start,
    /// Its middle.
    Middle,
    /// Its end.
    End,
}

impl Svg {
    /// An empty drawing.
    pub fn new(width: f64, height: f64) -> Self {
        Self { body: String::new(), width, height }
    }

    /// A filled box.
    pub fn rect(&mut self, rect: Rect, fill: &str) {
        let Rect { x, y, width, height } = rect;
        writeln!(
            self.body,
            r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" fill="{fill}"/>"#
        )
        .expect(WRITTEN);
    }

    /// The edges of a box.
    pub fn frame(&mut self, rect: Rect, stroke: &str) {
        let Rect { x, y, width, height } = rect;
        writeln!(
            self.body,
            r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" fill="none" stroke="{stroke}"/>"#
        )
        .expect(WRITTEN);
    }

    /// A straight line.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), stroke: &str) {
        writeln!(
            self.body,
            r#"<line x1="{:.1}" y1="{:.1}" x2="{:.1}" y2="{:.1}" stroke="{stroke}"/>"#,
            from.0, from.1, to.0, to.1
        )
        .expect(WRITTEN);
    }

    /// A line through points, interrupted where there is none.
    pub fn curve(&mut self, points: impl IntoIterator<Item = Option<(f64, f64)>>, stroke: &str) {
        let mut path = String::new();
        let mut pen_is_down = false;
        for point in points {
            let Some((x, y)) = point else {
                pen_is_down = false;
                continue;
            };
            let command = if pen_is_down { 'L' } else { 'M' };
            // A lone point is a line of no length, which the round cap makes a dot.
            let dot = if pen_is_down { "" } else { "h0" };
            write!(path, "{command}{x:.1} {y:.1}{dot}").expect(WRITTEN);
            pen_is_down = true;
        }
        if !path.is_empty() {
            writeln!(
                self.body,
                r#"<path d="{path}" fill="none" stroke="{stroke}" stroke-width="1.3" stroke-linecap="round"/>"#
            )
            .expect(WRITTEN);
        }
    }

    /// Many boxes of one colour, without gaps between those that touch.
    pub fn area(&mut self, rects: impl IntoIterator<Item = Rect>, fill: &str) {
        let mut path = String::new();
        for rect in rects {
            // Both ends as they are rounded, not one and a width: those would leave gaps.
            let (x, y, right, bottom) = (rect.x, rect.y, rect.right(), rect.bottom());
            write!(path, "M{x:.1} {y:.1}H{right:.1}V{bottom:.1}H{x:.1}z").expect(WRITTEN);
        }
        if !path.is_empty() {
            writeln!(self.body, r#"<path d="{path}" fill="{fill}" shape-rendering="crispEdges"/>"#)
                .expect(WRITTEN);
        }
    }

    /// A text.
    pub fn text(&mut self, at: (f64, f64), anchor: Anchor, text: &str) {
        self.styled_text(at, anchor, "", text);
    }

    /// A text that stands out.
    pub fn heading(&mut self, at: (f64, f64), text: &str) {
        self.styled_text(at, Anchor::Start, r#" font-weight="bold""#, text);
    }

    fn styled_text(&mut self, at: (f64, f64), anchor: Anchor, style: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let text = escape(text);
        writeln!(
            self.body,
            r#"<text x="{:.1}" y="{:.1}" text-anchor="{anchor}"{style}>{text}</text>"#,
            at.0, at.1
        )
        .expect(WRITTEN);
    }

    /// The drawing as a file of its own, on white.
    pub fn finish(self) -> String {
        let Self { body, width, height } = self;
        format!(
            r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0} {height:.0}" width="{width:.0}" height="{height:.0}" font-family="sans-serif" font-size="11" fill="#222">
<rect width="100%" height="100%" fill="#fff"/>
{body}</svg>
"##
        )
    }

    /// The drawing as a part of a page, which says how wide it is and colours its text. It is one picture to those who
    /// cannot see it, and `title` and `description` tell what it shows. `id` must be the page's only one.
    pub fn finish_inline(self, id: &str, title: &str, description: &str) -> String {
        let Self { body, width, height } = self;
        let (title, description) = (escape(title), escape(description));
        format!(
            r#"<svg id="{id}" viewBox="0 0 {width:.0} {height:.0}" role="img" aria-labelledby="{id}-title {id}-description">
<title id="{id}-title">{title}</title>
<desc id="{id}-description">{description}</desc>
{body}</svg>
"#
        )
    }
}

/// A text as it may stand between tags.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_is_interrupted_where_there_is_no_point() {
        let mut svg = Svg::new(10.0, 10.0);
        svg.curve([Some((0.0, 1.0)), Some((1.0, 2.0)), None, Some((3.0, 4.0))], "#000");
        assert!(svg.finish().contains(r#"d="M0.0 1.0h0L1.0 2.0M3.0 4.0h0""#));
    }

    #[test]
    fn what_is_empty_is_not_drawn() {
        let mut svg = Svg::new(10.0, 10.0);
        svg.curve([None, None], "#000");
        svg.area([], "#000");
        assert!(!svg.finish().contains("<path"));
    }

    #[test]
    fn text_cannot_become_markup() {
        let mut svg = Svg::new(10.0, 10.0);
        svg.text((0.0, 0.0), Anchor::Start, "a < b & c");
        let drawn = svg.finish_inline("a", "x < y", "y > x & z");
        assert!(drawn.contains("a &lt; b &amp; c</text>"));
        assert!(drawn.contains(r#"<title id="a-title">x &lt; y</title>"#), "{drawn}");
        assert!(drawn.contains(r#"<desc id="a-description">y > x &amp; z</desc>"#), "{drawn}");
    }
}
