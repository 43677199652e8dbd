//! Plots of a run over time, as SVG: latency, rates and who answered, with the outage shaded.
//!
//! For the demo and the benchmarks of this repository, which are its only users. It measures nothing, and knows
//! neither pages nor files.

// From what was measured to what is drawn.
mod gap;
mod percentiles;
mod timeline;

mod axis;
mod panel;
mod svg;

pub use axis::{Scale, TimeAxis};
pub use gap::Gap;
pub use panel::{Palette, Panel};
pub use percentiles::{Percentiles, in_words};
pub use svg::{Anchor, Rect, Svg};
pub use timeline::{Bucket, Outage, Sample, Span, Timeline};
