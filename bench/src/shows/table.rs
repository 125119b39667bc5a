//! What was measured of the fabric, beside the limits, sockets and memcached.

use crate::statistics::{median, turn_ratios};
use crate::verdict::{self, Verdict, median_interval};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// Whose figure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Column {
    /// Bare UCX as it is installed.
    Limit,
    /// Bare UCX with the fabric's settings.
    Tuned,
    /// farcached over the fabric.
    Fabric,
    /// farcached over sockets.
    Sockets,
    /// memcached over sockets.
    Memcached,
}

/// What a row should show.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wanted {
    /// The fabric at most so many times the limit.
    OfLimitAtMost(f64),
    /// The fabric at least so many times the limit.
    OfLimitAtLeast(f64),
    /// The fabric at least so many times below memcached.
    BelowMemcached(f64),
    /// The fabric at least so many times above memcached.
    AboveMemcached(f64),
    /// The fabric's figure at most this.
    AtMost(f64),
    /// The fabric's figure at least this.
    AtLeast(f64),
}

impl fmt::Display for Wanted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wanted::OfLimitAtMost(most) => write!(formatter, "<= {most}x limit"),
            Wanted::OfLimitAtLeast(least) => write!(formatter, ">= {least}x limit"),
            Wanted::BelowMemcached(times) => write!(formatter, "{times}x below memcached"),
            Wanted::AboveMemcached(times) => write!(formatter, "{times}x above memcached"),
            Wanted::AtMost(most) => write!(formatter, "<= {most}"),
            Wanted::AtLeast(least) => write!(formatter, ">= {least}"),
        }
    }
}

/// One line of the table before anything was measured.
#[derive(Clone, Debug)]
pub struct Row {
    /// What is measured.
    pub title: String,
    /// Unit of the figures.
    pub unit: &'static str,
    /// What it should show, all of it.
    pub wanted: Vec<Wanted>,
}

impl Row {
    /// A row that is for information.
    pub fn new(title: impl Into<String>, unit: &'static str) -> Self {
        Row {
            title: title.into(),
            unit,
            wanted: Vec::new(),
        }
    }

    /// The row, which should show this too.
    #[must_use]
    pub fn wants(mut self, wanted: Wanted) -> Self {
        self.wanted.push(wanted);
        self
    }
}

/// Whether something wanted was reached.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judgement {
    /// What was wanted.
    pub wanted: String,
    /// The figure or the ratio that decides: the median of the turns' ratios, where both were
    /// measured in the same turns, else that of the medians.
    pub figure: Option<f64>,
    /// In which it lies, by the turns.
    pub interval: Option<[f64; 2]>,
    /// Whether it was reached, by the interval; nothing where a figure is missing.
    pub met: Option<Verdict>,
}

/// A line of the table: the medians, and what they are worth.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// What is measured.
    pub title: String,
    /// Unit of the figures.
    pub unit: &'static str,
    /// Bare UCX as it is installed.
    pub limit: Option<f64>,
    /// Bare UCX with the fabric's settings.
    pub tuned: Option<f64>,
    /// farcached over the fabric.
    pub fabric: Option<f64>,
    /// farcached over sockets.
    pub sockets: Option<f64>,
    /// memcached over sockets.
    pub memcached: Option<f64>,
    /// What was wanted.
    pub judgements: Vec<Judgement>,
    /// Every sample.
    pub samples: BTreeMap<Column, Vec<f64>>,
}

/// Rows and what was measured for them.
#[derive(Default)]
pub struct Table {
    rows: Vec<(Row, BTreeMap<Column, Vec<f64>>)>,
}

impl Table {
    /// Adds a sample, and the row the first time.
    pub fn add(&mut self, row: &Row, column: Column, sample: f64) {
        let known = self
            .rows
            .iter()
            .position(|(known, _)| known.title == row.title);
        let index = known.unwrap_or_else(|| {
            self.rows.push((row.clone(), BTreeMap::new()));
            self.rows.len() - 1
        });
        self.rows[index].1.entry(column).or_default().push(sample);
    }

    /// Every row with its medians.
    pub fn lines(&self) -> Vec<Line> {
        self.rows
            .iter()
            .map(|(row, samples)| line(row, samples))
            .collect()
    }

    /// Whether nothing that was wanted was certainly missed.
    pub fn none_missed(&self) -> bool {
        self.lines()
            .iter()
            .all(|line| line.met() != Some(Verdict::No))
    }

    /// The table in Markdown.
    pub fn markdown(&self) -> String {
        let head = "| | unit | bare UCX | with our settings | fabric | sockets | memcached | wanted | met |\n\
                    |---|---|--:|--:|--:|--:|--:|---|---|\n";
        let lines = self.lines();
        lines.iter().fold(head.to_owned(), |text, line| {
            let cells = line.cells().join(" | ");
            text + &format!(
                "| {cells} | {} | {} |\n",
                line.wanted_text(),
                line.met_text()
            )
        })
    }
}

fn line(row: &Row, samples: &BTreeMap<Column, Vec<f64>>) -> Line {
    let of = |column| samples.get(&column).and_then(|one| median(one.clone()));
    let judge = |wanted: &Wanted| {
        let (ratio, bound, is_most) = match *wanted {
            Wanted::OfLimitAtMost(most) => (Ratio::to_limit(samples, f64::min), most, true),
            Wanted::OfLimitAtLeast(least) => (Ratio::to_limit(samples, f64::max), least, false),
            Wanted::BelowMemcached(times) => (
                Ratio::of(samples, Column::Memcached, Column::Fabric),
                times,
                false,
            ),
            Wanted::AboveMemcached(times) => (
                Ratio::of(samples, Column::Fabric, Column::Memcached),
                times,
                false,
            ),
            Wanted::AtMost(most) => (Ratio::figure(samples), most, true),
            Wanted::AtLeast(least) => (Ratio::figure(samples), least, false),
        };
        let is_met = |figure| match is_most {
            true => figure <= bound,
            false => figure >= bound,
        };
        Judgement {
            wanted: wanted.to_string(),
            figure: ratio.figure,
            interval: ratio.interval,
            met: ratio.interval.map(|interval| Verdict::of(interval, is_met)),
        }
    };
    Line {
        title: row.title.clone(),
        unit: row.unit,
        limit: of(Column::Limit),
        tuned: of(Column::Tuned),
        fabric: of(Column::Fabric),
        sockets: of(Column::Sockets),
        memcached: of(Column::Memcached),
        judgements: row.wanted.iter().map(judge).collect(),
        samples: samples.clone(),
    }
}

/// What decides whether something wanted was reached.
#[derive(Default)]
struct Ratio {
    figure: Option<f64>,
    interval: Option<[f64; 2]>,
}

impl Ratio {
    /// The fabric's figure, which stands for itself.
    fn figure(samples: &BTreeMap<Column, Vec<f64>>) -> Ratio {
        let samples = samples.get(&Column::Fabric).cloned().unwrap_or_default();
        Ratio {
            figure: median(samples.clone()),
            interval: median_interval(samples),
        }
    }

    /// One column over another.
    fn of(samples: &BTreeMap<Column, Vec<f64>>, above: Column, below: Column) -> Ratio {
        let (Some(above), Some(below)) = (samples.get(&above), samples.get(&below)) else {
            return Ratio::default();
        };
        let ratios = turn_ratios(above, below);
        let medians = || Some(median(above.clone())? / median(below.clone())?);
        let figure = median(ratios.clone()).or_else(medians);
        Ratio {
            figure,
            // Without pairs of turns there is nothing but the figure itself.
            interval: median_interval(ratios).or(figure.map(|figure| [figure, figure])),
        }
    }

    /// The fabric over bare UCX, with those settings of the two with which UCX did better.
    fn to_limit(samples: &BTreeMap<Column, Vec<f64>>, better: fn(f64, f64) -> f64) -> Ratio {
        let of = |column| samples.get(&column).and_then(|one| median(one.clone()));
        let stricter = match (of(Column::Limit), of(Column::Tuned)) {
            (Some(limit), Some(tuned)) if better(limit, tuned) != limit => Column::Tuned,
            (None, Some(_)) => Column::Tuned,
            _ => Column::Limit,
        };
        Ratio::of(samples, Column::Fabric, stricter)
    }
}

impl Line {
    /// Whether everything wanted was reached; nothing where nothing is known.
    pub fn met(&self) -> Option<Verdict> {
        self.judgements.iter().filter_map(|one| one.met).min()
    }

    fn cells(&self) -> [String; 7] {
        let figures = [
            self.limit,
            self.tuned,
            self.fabric,
            self.sockets,
            self.memcached,
        ];
        let [limit, tuned, fabric, sockets, memcached] = figures.map(figure);
        [
            self.title.clone(),
            self.unit.into(),
            limit,
            tuned,
            fabric,
            sockets,
            memcached,
        ]
    }

    /// What was wanted, each with the figure that decides.
    fn wanted_text(&self) -> String {
        let text = |one: &Judgement| {
            let range = |[least, greatest]: [f64; 2]| match least == greatest {
                true => String::new(),
                false => format!(" ({}-{})", figure(Some(least)), figure(Some(greatest))),
            };
            let interval = one.interval.map_or(String::new(), range);
            format!("{}: {}{interval}", one.wanted, figure(one.figure))
        };
        let texts: Vec<_> = self.judgements.iter().map(text).collect();
        texts.join(", ")
    }

    fn met_text(&self) -> &'static str {
        self.met().map_or("", Verdict::word)
    }
}

/// A figure with the three or four digits that matter.
fn figure(number: Option<f64>) -> String {
    match number {
        None => "-".into(),
        Some(number) if number.abs() >= 100.0 => format!("{number:.0}"),
        Some(number) if number.abs() >= 10.0 => format!("{number:.1}"),
        Some(number) => format!("{number:.2}"),
    }
}

impl fmt::Display for Table {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            formatter,
            "{:<66} {:<9} {:>9} {:>9} {:>9} {:>9} {:>9}  {:<7} wanted",
            "", "unit", "bare UCX", "tuned", "fabric", "sockets", "memcached", "met"
        )?;
        for line in self.lines() {
            let [title, unit, limit, tuned, fabric, sockets, memcached] = line.cells();
            writeln!(
                formatter,
                "{title:<66} {unit:<9} {limit:>9} {tuned:>9} {fabric:>9} {sockets:>9} {memcached:>9}  {:<7} {}",
                line.met_text(),
                line.wanted_text()
            )?;
        }
        let verdicts = self.lines().into_iter().filter_map(|line| line.met());
        writeln!(formatter, "{}", verdict::summary(verdicts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(wanted: &[Wanted], figures: [f64; 4]) -> Table {
        let columns = [
            Column::Limit,
            Column::Fabric,
            Column::Sockets,
            Column::Memcached,
        ];
        let row = wanted
            .iter()
            .fold(Row::new("row", "us"), |row, one| row.wants(*one));
        let mut table = Table::default();
        for (column, figure) in columns.into_iter().zip(figures) {
            table.add(&row, column, figure);
        }
        table
    }

    #[test]
    fn latencies_are_judged_by_limit_and_memcached() {
        let wanted = [Wanted::OfLimitAtMost(1.4), Wanted::BelowMemcached(10.0)];
        let good = table(&wanted, [1.0, 1.4, 13.0, 14.0]);
        let line = &good.lines()[0];
        assert_eq!(line.judgements[0].figure, Some(1.4));
        assert!((line.judgements[1].figure.unwrap() - 10.0).abs() < 1e-9);
        assert!(good.none_missed());
        assert!(!table(&wanted, [1.0, 1.41, 13.0, 15.0]).none_missed());
        assert!(!table(&wanted, [1.0, 1.4, 13.0, 13.9]).none_missed());
    }

    #[test]
    fn rates_are_judged_by_themselves_limit_and_memcached() {
        let wanted = [
            Wanted::AtLeast(2.0),
            Wanted::AboveMemcached(9.0),
            Wanted::OfLimitAtLeast(0.5),
        ];
        assert!(table(&wanted, [4.0, 2.0, 0.2, 0.2]).none_missed());
        assert!(!table(&wanted, [4.0, 1.9, 0.2, 0.2]).none_missed());
        assert!(!table(&wanted, [4.1, 2.0, 0.2, 0.2]).none_missed());
        assert!(!table(&wanted, [4.0, 2.0, 0.2, 0.3]).none_missed());
        assert!(!table(&[Wanted::AtMost(1.0)], [0.0, 1.1, 0.0, 0.0]).none_missed());
    }

    #[test]
    fn what_was_not_measured_is_neither_met_nor_missed() {
        let row = Row::new("row", "us").wants(Wanted::OfLimitAtMost(1.4));
        let mut table = Table::default();
        table.add(&row, Column::Limit, 1.0);
        assert_eq!(table.lines()[0].met(), None);
        assert!(table.none_missed());
        assert!(
            table
                .markdown()
                .contains("| row | us | 1.00 | - | - | - | - | <= 1.4x limit: - |  |")
        );
    }

    #[test]
    fn the_median_of_the_turns_decides_against_the_better_of_the_limits() {
        let row = Row::new("row", "us").wants(Wanted::OfLimitAtMost(1.4));
        let mut table = Table::default();
        // A slow turn takes all columns along: the medians' ratio would be 3.
        for (limit, tuned, fabric) in [
            (1.0, 0.5, 0.6),
            (3.1, 3.0, 3.6),
            (1.1, 1.0, 1.2),
            (1.0, 1.0, 3.0),
            (3.0, 1.0, 1.2),
        ] {
            table.add(&row, Column::Limit, limit);
            table.add(&row, Column::Tuned, tuned);
            table.add(&row, Column::Fabric, fabric);
        }
        let line = &table.lines()[0];
        let figure = line.judgements[0].figure.unwrap();
        assert!((figure - 1.2).abs() < 1e-9, "{figure}");
        assert_eq!(line.judgements[0].interval, Some([1.2, 3.0]));
        assert_eq!(line.met(), Some(Verdict::Unclear));
        assert_eq!(line.tuned, Some(1.0));
    }

    #[test]
    fn medians_of_all_samples_are_shown_and_kept() {
        let row = Row::new("row", "us");
        let mut table = Table::default();
        for sample in [3.0, 1.0, 2.0] {
            table.add(&row, Column::Fabric, sample);
        }
        let line = &table.lines()[0];
        assert_eq!(line.fabric, Some(2.0));
        let json = serde_json::to_value(line).unwrap();
        assert_eq!(json["samples"]["fabric"][0], 3.0);
        assert_eq!(json["fabric"], 2.0);
        assert!(json["limit"].is_null() && json["judgements"].is_array());
        assert!(table.to_string().contains("row"));
    }
}
