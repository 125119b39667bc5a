//! Pictures of measurements: line charts, most on logarithmic axes, as SVG. Small enough to need no
//! library, and every byte of the result depends on the figures alone.

pub mod axis;
pub mod chart;
pub mod svg;

pub use chart::{Chart, Picture, Series, XAxis, YAxis};
