//! Charts and the picture that they form.

use super::axis::{EvenAxis, LogAxis, even_marks, powers_around};
use super::svg::{Anchor, Svg};
use crate::sizes::size_text;

/// Width of one chart, with its labels.
const CHART_WIDTH: f64 = 480.0;
/// Height of one chart, with its labels.
const CHART_HEIGHT: f64 = 360.0;
/// Height of heading and legend.
const HEAD_HEIGHT: f64 = 70.0;
/// Room left of a chart's lines, for the labels.
const LEFT: f64 = 62.0;
/// Room right of the lines.
const RIGHT: f64 = 18.0;
/// Room above the lines, for the title.
const ABOVE: f64 = 30.0;
/// Room below the lines, for the labels.
const BELOW: f64 = 46.0;
/// Base of the marks for sizes: 1, 8, 64, 512, 4 K, ...
const SIZE_BASE: f64 = 8.0;

/// Colours of the series, told apart also by those who see no red or no green (after Okabe and Ito,
/// "Color Universal Design", 2008).
const COLOURS: [&str; 9] = [
    "#d55e00", "#0072b2", "#009e73", "#555555", "#cc79a7", "#e69f00", "#56b4e9", "#b8a800",
    "#000000",
];

/// What lies on the horizontal axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XAxis {
    /// Sizes in bytes.
    SizeBytes,
    /// How rare something is: one in so many.
    SlowerOneIn,
    /// Memory in bytes.
    MemoryBytes,
    /// Clients at a time.
    Clients,
    /// Seconds from the beginning, even.
    Seconds,
}

/// What lies on the vertical axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum YAxis {
    /// Any figure above 0, by its logarithm.
    Log,
    /// Parts of a hundred.
    Percent,
    /// Any figure from 0 on, even.
    Even,
}

/// The scale of an axis.
enum Scale {
    Log(LogAxis),
    Even(EvenAxis),
}

impl Scale {
    /// Between these places, from the first mark to the last.
    fn new(is_log: bool, marks: &[f64], from_px: f64, to_px: f64) -> Scale {
        let (low, high) = (marks[0], marks[marks.len() - 1]);
        if is_log {
            Scale::Log(LogAxis::new(low, high, from_px, to_px))
        } else {
            Scale::Even(EvenAxis::new(high, from_px, to_px))
        }
    }

    fn place(&self, figure: f64) -> f64 {
        match self {
            Scale::Log(axis) => axis.place(figure),
            Scale::Even(axis) => axis.place(figure),
        }
    }
}

/// One line of a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What the legend calls it. Series of one name have one colour in all charts of a picture.
    pub name: String,
    /// Dashed, for what is not measured on the product but bounds it.
    pub is_limit: bool,
    /// Its points; those that have no place on an axis, as 0 on a logarithmic one, are left out.
    pub points: Vec<(f64, f64)>,
}

/// One chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// What it shows, with the unit.
    pub title: String,
    /// The horizontal axis.
    pub x: XAxis,
    /// The vertical axis.
    pub y: YAxis,
    /// Its lines.
    pub series: Vec<Series>,
}

/// Charts side by side, under one heading and one legend.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// What it shows.
    pub heading: String,
    /// The charts.
    pub charts: Vec<Chart>,
}

impl Picture {
    /// The picture as an SVG document.
    pub fn svg(&self) -> String {
        let names = self.names();
        let width = CHART_WIDTH * self.charts.len().max(1) as f64;
        let width = width.max(LEFT + legend_width(&names));
        let mut svg = Svg::new(width, HEAD_HEIGHT + CHART_HEIGHT);
        svg.text((LEFT, 26.0), Anchor::Start, 16.0, &self.heading);
        draw_legend(&mut svg, &names);
        for (index, chart) in self.charts.iter().enumerate() {
            let left = CHART_WIDTH * index as f64;
            chart.draw(&mut svg, left, &names);
        }
        svg.finish()
    }

    /// The names of all series and whether they are limits, in the order of their first appearance.
    fn names(&self) -> Vec<(&str, bool)> {
        let mut names: Vec<(&str, bool)> = Vec::new();
        for series in self.charts.iter().flat_map(|chart| &chart.series) {
            if names.iter().all(|(name, _)| *name != series.name) {
                names.push((&series.name, series.is_limit));
            }
        }
        names
    }
}

fn colour_of(names: &[(&str, bool)], name: &str) -> &'static str {
    let index = names.iter().position(|(other, _)| *other == name);
    COLOURS[index.unwrap_or(0) % COLOURS.len()]
}

fn dashes(is_limit: bool) -> &'static str {
    if is_limit { "5 4" } else { "none" }
}

/// Length of the piece of line in front of a name of the legend.
const PIECE: f64 = 24.0;

/// Width of a name of the legend, with what stands before and behind it.
fn legend_part_width(name: &str) -> f64 {
    /// About the width of a letter.
    const LETTER: f64 = 6.6;
    PIECE + 24.0 + LETTER * name.len() as f64
}

fn legend_width(names: &[(&str, bool)]) -> f64 {
    names.iter().map(|(name, _)| legend_part_width(name)).sum()
}

fn draw_legend(svg: &mut Svg, names: &[(&str, bool)]) {
    let (mut x, y) = (LEFT, 50.0);
    for (name, is_limit) in names {
        let colour = colour_of(names, name);
        svg.path(
            &[(x, y - 4.0), (x + PIECE, y - 4.0)],
            colour,
            dashes(*is_limit),
        );
        svg.text((x + PIECE + 6.0, y), Anchor::Start, 12.0, name);
        x += legend_part_width(name);
    }
}

impl Chart {
    fn draw(&self, svg: &mut Svg, left: f64, names: &[(&str, bool)]) {
        let (top, bottom) = (HEAD_HEIGHT + ABOVE, HEAD_HEIGHT + CHART_HEIGHT - BELOW);
        svg.text((left + LEFT, top - 12.0), Anchor::Start, 13.0, &self.title);
        let points = || self.series.iter().flat_map(|series| &series.points);
        let x_marks = match self.x {
            XAxis::Seconds => even_marks(points().map(|point| point.0)),
            x => powers_around(points().map(|point| point.0), x.base()),
        };
        let y_marks = match self.y {
            YAxis::Log => powers_around(points().map(|point| point.1), 10.0),
            YAxis::Even => even_marks(points().map(|point| point.1)),
            YAxis::Percent => Some((0..=10).map(|tenth| f64::from(tenth) * 10.0).collect()),
        };
        let (Some(x_marks), Some(y_marks)) = (x_marks, y_marks) else {
            return svg.text((left + LEFT, bottom), Anchor::Start, 12.0, "not measured");
        };
        let (from, to) = (left + LEFT, left + CHART_WIDTH - RIGHT);
        let x = Scale::new(self.x != XAxis::Seconds, &x_marks, from, to);
        let y = Scale::new(self.y == YAxis::Log, &y_marks, bottom, top);
        for mark in &y_marks {
            svg.line((from, y.place(*mark)), (to, y.place(*mark)), "#ddd");
            let place = (from - 6.0, y.place(*mark) + 4.0);
            svg.text(place, Anchor::End, 11.0, &figure_text(*mark));
        }
        for mark in &x_marks {
            svg.line((x.place(*mark), top), (x.place(*mark), bottom), "#ddd");
            let place = (x.place(*mark), bottom + 16.0);
            svg.text(place, Anchor::Middle, 11.0, &self.x.mark_text(*mark));
        }
        let middle = ((from + to) / 2.0, bottom + 36.0);
        svg.text(middle, Anchor::Middle, 12.0, self.x.title());
        for series in &self.series {
            let seen = series.points.iter().filter(|point| self.has(point));
            let places: Vec<_> = seen
                .map(|point| (x.place(point.0), y.place(point.1)))
                .collect();
            let colour = colour_of(names, &series.name);
            svg.path(&places, colour, dashes(series.is_limit));
        }
    }
}

impl Chart {
    /// Whether a point has a place.
    fn has(&self, (x, y): &(f64, f64)) -> bool {
        let has_x = *x > 0.0 || self.x == XAxis::Seconds;
        let has_y = *y > 0.0 || self.y == YAxis::Even;
        has_x && has_y && y.is_finite()
    }
}

impl XAxis {
    fn title(self) -> &'static str {
        match self {
            XAxis::SizeBytes => "size of the value",
            XAxis::SlowerOneIn => "one in so many takes longer",
            XAxis::MemoryBytes => "memory",
            XAxis::Clients => "clients",
            XAxis::Seconds => "seconds",
        }
    }

    fn mark_text(self, mark: f64) -> String {
        match self {
            XAxis::SizeBytes | XAxis::MemoryBytes => size_text(mark.round() as usize),
            XAxis::SlowerOneIn | XAxis::Clients | XAxis::Seconds => figure_text(mark),
        }
    }

    /// Base of the powers that are marked.
    fn base(self) -> f64 {
        match self {
            XAxis::SizeBytes => SIZE_BASE,
            XAxis::MemoryBytes => 4.0,
            XAxis::SlowerOneIn | XAxis::Clients | XAxis::Seconds => 10.0,
        }
    }
}

/// A figure of an axis, as short as it goes.
fn figure_text(figure: f64) -> String {
    if figure >= 10.0 || figure == 0.0 || figure.fract() == 0.0 {
        format!("{figure:.0}")
    } else {
        format!("{figure}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture() -> Picture {
        let series = |name: &str, is_limit, factor: f64| Series {
            name: name.into(),
            is_limit,
            points: vec![(1.0, factor), (4096.0, 20.0 * factor)],
        };
        let chart = |title: &str| Chart {
            title: title.into(),
            x: XAxis::SizeBytes,
            y: YAxis::Log,
            series: vec![series("one", false, 1.5), series("limit", true, 1.0)],
        };
        Picture {
            heading: "GET".into(),
            charts: vec![chart("latency, us"), chart("rate, M/s")],
        }
    }

    #[test]
    fn every_series_has_its_colour_in_every_chart() {
        let svg = picture().svg();
        // In two charts and in the legend.
        for colour in &COLOURS[..2] {
            assert_eq!(svg.matches(&format!("stroke=\"{colour}\"")).count(), 3);
        }
        assert_eq!(svg.matches("stroke-dasharray=\"5 4\"").count(), 3);
        for text in [
            "latency, us",
            "rate, M/s",
            ">4 KB<",
            ">100<",
            "size of the value",
        ] {
            assert!(svg.contains(text), "{text}");
        }
    }

    #[test]
    fn a_legend_that_is_wider_than_the_charts_fits() {
        let mut long = picture();
        long.charts.truncate(1);
        long.charts[0].series[0].name = "x".repeat(200);
        let svg = long.svg();
        let width = svg.split("width=\"").nth(1).unwrap().split('"').next();
        assert!(width.unwrap().parse::<f64>().unwrap() > LEFT + 200.0 * 6.6);
    }

    #[test]
    fn points_lie_inside_of_their_chart() {
        let svg = picture().svg();
        let places = svg.split("cx=\"").skip(1);
        for place in places {
            let x: f64 = place.split('"').next().unwrap().parse().unwrap();
            assert!((0.0..=2.0 * CHART_WIDTH).contains(&x), "{x}");
        }
    }

    #[test]
    fn parts_of_a_hundred_lie_evenly() {
        let mut shares = picture();
        shares.charts.truncate(1);
        shares.charts[0].y = YAxis::Percent;
        shares.charts[0].series.truncate(1);
        shares.charts[0].series[0].points = vec![(1.0, 100.0), (8.0, 50.0), (64.0, 0.5)];
        let svg = shares.svg();
        let places = svg.split("cy=\"").skip(1);
        let y: Vec<f64> = places
            .map(|place| place.split('"').next().unwrap().parse().unwrap())
            .collect();
        // The last two are the legend's.
        let (top, bottom) = (HEAD_HEIGHT + ABOVE, HEAD_HEIGHT + CHART_HEIGHT - BELOW);
        let chart: Vec<f64> = y.into_iter().skip(2).collect();
        assert_eq!(chart[..2], [top, (top + bottom) / 2.0]);
        assert!(chart[2] < bottom && chart[2] > bottom - 2.0);
    }

    #[test]
    fn even_axes_begin_at_nothing() {
        let mut over_time = picture();
        over_time.charts.truncate(1);
        let chart = &mut over_time.charts[0];
        (chart.x, chart.y) = (XAxis::Seconds, YAxis::Even);
        chart.series.truncate(1);
        chart.series[0].points = vec![(0.0, 0.0), (5.0, 50.0), (10.0, 100.0)];
        let svg = over_time.svg();
        assert!(svg.contains("seconds") && svg.contains(">0<"));
        let (left, bottom) = (LEFT, HEAD_HEIGHT + CHART_HEIGHT - BELOW);
        let first = format!("points=\"{left:.1},{bottom:.1} ");
        assert!(svg.contains(&first), "{first}");
    }

    #[test]
    fn a_chart_without_figures_says_so() {
        let mut empty = picture();
        empty.charts[0].series.clear();
        assert!(empty.svg().contains("not measured"));
    }
}
