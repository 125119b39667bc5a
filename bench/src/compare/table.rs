//! The rows that are compared, their samples, and the table of the medians.

use crate::statistics::{median, turn_ratios};
use crate::verdict::{self, Verdict, median_interval};
use farcache_harness::server_process::Product;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// What a row should show.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Wanted {
    /// farcached over memcached at least this.
    RatioAtLeast(f64),
    /// farcached over memcached above this.
    RatioAbove(f64),
    /// farcached over memcached at most this.
    RatioAtMost(f64),
    /// farcached itself at most this.
    AtMost(f64),
    /// farcached itself at least this.
    AtLeast(f64),
    /// For information.
    Nothing,
}

impl Wanted {
    /// Judges the intervals of farcached's figure and of the ratio.
    fn verdict(self, ours: Option<[f64; 2]>, ratio: Option<[f64; 2]>) -> Option<Verdict> {
        let at_least = |interval, least| Verdict::of(interval, |figure| figure >= least);
        let at_most = |interval, most| Verdict::of(interval, |figure| figure <= most);
        match self {
            Wanted::RatioAtLeast(least) => ratio.map(|ratio| at_least(ratio, least)),
            Wanted::RatioAbove(least) => ratio.map(|ratio| Verdict::of(ratio, |one| one > least)),
            Wanted::RatioAtMost(most) => ratio.map(|ratio| at_most(ratio, most)),
            Wanted::AtMost(most) => ours.map(|ours| at_most(ours, most)),
            Wanted::AtLeast(least) => ours.map(|ours| at_least(ours, least)),
            Wanted::Nothing => None,
        }
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wanted::RatioAtLeast(least) => write!(formatter, ">= {least}x"),
            Wanted::RatioAbove(least) => write!(formatter, "> {least}x"),
            Wanted::RatioAtMost(most) => write!(formatter, "<= {most}x"),
            Wanted::AtMost(most) => write!(formatter, "<= {most}"),
            Wanted::AtLeast(least) => write!(formatter, ">= {least}"),
            Wanted::Nothing => Ok(()),
        }
    }
}

/// One line of the table.
#[derive(Clone, Debug)]
pub struct Row {
    /// What is measured.
    pub title: String,
    /// Unit of the figures.
    pub unit: &'static str,
    /// What it should show.
    pub wanted: Wanted,
    /// Rows whose best memcached figure this one is compared with; none: its own.
    pub rivals: Vec<String>,
}

impl Row {
    /// A row compared with itself.
    pub fn new(title: impl Into<String>, unit: &'static str, wanted: Wanted) -> Self {
        Row {
            title: title.into(),
            unit,
            wanted,
            rivals: Vec::new(),
        }
    }
}

/// Rows and what was measured for them.
#[derive(Default)]
pub struct Table {
    rows: Vec<Row>,
    samples: BTreeMap<(String, Product), Vec<f64>>,
}

/// A row with its medians, for people and for programs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// What is measured.
    pub title: String,
    /// Unit of the figures.
    pub unit: &'static str,
    /// Median of memcached, or of the best of its rivals.
    pub memcached: Option<f64>,
    /// Median of farcached.
    pub farcached: Option<f64>,
    /// farcached over memcached: the median of the turns' ratios, where both had as many turns,
    /// else the medians' ratio.
    pub ratio: Option<f64>,
    /// In which the ratio lies, by the turns; nothing where they cannot be compared in pairs.
    pub ratio_interval: Option<[f64; 2]>,
    /// What it should show.
    pub wanted: Wanted,
    /// Whether it does, by the interval of what is wanted.
    pub met: Option<Verdict>,
    /// Every farcached sample.
    pub farcached_samples: Vec<f64>,
    /// Every memcached sample.
    pub memcached_samples: Vec<f64>,
}

impl Table {
    /// Adds a sample, and the row the first time.
    pub fn add(&mut self, row: &Row, product: Product, sample: f64) {
        if !self.rows.iter().any(|known| known.title == row.title) {
            self.rows.push(row.clone());
        }
        self.samples
            .entry((row.title.clone(), product))
            .or_default()
            .push(sample);
    }

    fn samples(&self, title: &str, product: Product) -> Vec<f64> {
        self.samples
            .get(&(title.to_owned(), product))
            .cloned()
            .unwrap_or_default()
    }

    fn median(&self, title: &str, product: Product) -> Option<f64> {
        median(self.samples(title, product))
    }

    /// The row of memcached's that a row is compared with: its own, or the best of its rivals.
    fn rival<'r>(&self, row: &'r Row) -> &'r str {
        let median = |title: &&String| {
            let median = self.median(title, Product::Memcached);
            median.unwrap_or(f64::MIN)
        };
        let rivals = row.rivals.iter();
        let best = rivals.max_by(|one, other| median(one).total_cmp(&median(other)));
        best.unwrap_or(&row.title)
    }

    fn line(&self, row: &Row) -> Line {
        let theirs = self.samples(self.rival(row), Product::Memcached);
        let ours = self.samples(&row.title, Product::Farcached);
        let (memcached, farcached) = (median(theirs.clone()), median(ours.clone()));
        let ratios = turn_ratios(&ours, &theirs);
        let of_medians = || farcached.zip(memcached).map(|(ours, theirs)| ours / theirs);
        let ratio = median(ratios.clone()).or_else(of_medians);
        let ratio_interval = median_interval(ratios);
        // Without pairs of turns there is nothing but the ratio itself.
        let judged = ratio_interval.or(ratio.map(|ratio| [ratio, ratio]));
        Line {
            title: row.title.clone(),
            unit: row.unit,
            memcached,
            farcached,
            ratio,
            ratio_interval,
            wanted: row.wanted,
            met: row.wanted.verdict(median_interval(ours.clone()), judged),
            farcached_samples: ours,
            memcached_samples: self.samples(&row.title, Product::Memcached),
        }
    }

    /// Every row with its medians.
    pub fn lines(&self) -> Vec<Line> {
        self.rows.iter().map(|row| self.line(row)).collect()
    }

    /// The table in Markdown.
    pub fn markdown(&self) -> String {
        let head = "| | unit | memcached | farcached | ratio | interval | wanted | met |\n|---|---|---|---|---|---|---|---|\n";
        let lines = self.lines();
        lines
            .iter()
            .fold(head.to_owned(), |text, line| text + &line.markdown())
    }

    /// Whether no row certainly falls short of what it should show.
    pub fn none_missed(&self) -> bool {
        self.lines()
            .iter()
            .all(|line| line.met != Some(Verdict::No))
    }
}

impl Line {
    /// The verdict, or nothing.
    fn met_word(&self) -> &'static str {
        self.met.map_or("", Verdict::word)
    }

    fn ratio_text(&self) -> String {
        self.ratio.map_or("-".into(), |ratio| format!("{ratio:.2}"))
    }

    /// The interval of the ratio; of farcached's figure where there is nothing to compare it with.
    /// A single turn has none.
    fn interval_text(&self) -> String {
        if self.farcached_samples.len() < 2 {
            return String::new();
        }
        let own = || {
            let samples = self.farcached_samples.clone();
            self.memcached_samples.is_empty().then_some(samples)
        };
        let interval = self.ratio_interval.or_else(|| median_interval(own()?));
        interval.map_or(String::new(), |[least, greatest]| {
            format!("{least:.2} - {greatest:.2}")
        })
    }

    /// The line as one row of a Markdown table.
    fn markdown(&self) -> String {
        format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} |\n",
            self.title,
            self.unit,
            figure(self.memcached),
            figure(self.farcached),
            self.ratio_text(),
            self.interval_text(),
            self.wanted,
            self.met_word()
        )
    }
}

/// A figure with three or four digits that matter.
fn figure(number: Option<f64>) -> String {
    match number {
        None => "-".into(),
        Some(number) if number.abs() >= 100.0 => format!("{number:.0}"),
        Some(number) if number.abs() >= 10.0 => format!("{number:.1}"),
        Some(number) => format!("{number:.3}"),
    }
}

impl fmt::Display for Table {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            formatter,
            "{:<52} {:<9} {:>10} {:>10} {:>7}  {:<13} {:<9} met",
            "", "unit", "memcached", "farcached", "ratio", "interval", "wanted"
        )?;
        for line in self.lines() {
            writeln!(
                formatter,
                "{:<52} {:<9} {:>10} {:>10} {:>7}  {:<13} {:<9} {}",
                line.title,
                line.unit,
                figure(line.memcached),
                figure(line.farcached),
                line.ratio_text(),
                line.interval_text(),
                line.wanted.to_string(),
                line.met_word(),
            )?;
        }
        let verdicts = self.lines().into_iter().filter_map(|line| line.met);
        writeln!(formatter, "{}", verdict::summary(verdicts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_is_the_median_of_the_turns() {
        let mut table = Table::default();
        let row = Row::new("row", "x", Wanted::RatioAtLeast(2.0));
        // The machine is twice as fast in the last two turns.
        for (theirs, ours) in [(1.0, 2.0), (1.0, 2.1), (1.0, 1.9), (2.0, 4.0), (2.0, 4.4)] {
            table.add(&row, Product::Memcached, theirs);
            table.add(&row, Product::Farcached, ours);
        }
        let line = &table.lines()[0];
        assert_eq!((line.ratio, line.met), (Some(2.0), Some(Verdict::Unclear)));
        assert_eq!(line.ratio_interval, Some([1.9, 2.2]));
        assert!(table.to_string().contains("unclear"));
        assert!(table.none_missed());
    }

    #[test]
    fn fewer_turns_of_one_server_leave_the_ratio_of_the_medians() {
        let mut table = Table::default();
        let row = Row::new("row", "x", Wanted::Nothing);
        table.add(&row, Product::Memcached, 1.0);
        table.add(&row, Product::Farcached, 2.0);
        table.add(&row, Product::Farcached, 4.0);
        let line = &table.lines()[0];
        assert_eq!((line.ratio, line.ratio_interval), (Some(3.0), None));
    }

    #[test]
    fn a_row_is_compared_with_the_best_of_its_rivals() {
        let mut table = Table::default();
        let mut one = Row::new("one", "x", Wanted::RatioAtLeast(2.0));
        one.rivals = vec!["one".into(), "other".into()];
        let other = Row::new("other", "x", Wanted::RatioAtLeast(2.0));
        table.add(&one, Product::Memcached, 1.0);
        table.add(&one, Product::Farcached, 5.0);
        table.add(&other, Product::Memcached, 4.0);
        table.add(&other, Product::Farcached, 9.0);
        let lines = table.lines();
        assert_eq!(
            (lines[0].memcached, lines[0].met),
            (Some(4.0), Some(Verdict::No))
        );
        assert_eq!(
            (lines[1].ratio, lines[1].met),
            (Some(2.25), Some(Verdict::Yes))
        );
        assert!(!table.none_missed());
    }

    #[test]
    fn what_was_not_measured_is_neither_met_nor_missed() {
        let mut table = Table::default();
        table.add(
            &Row::new("row", "x", Wanted::RatioAtMost(1.0)),
            Product::Memcached,
            1.0,
        );
        assert_eq!(table.lines()[0].met, None);
        assert!(table.to_string().contains("row"));
        assert!(
            table
                .markdown()
                .ends_with("| row | x | 1.000 | - | - |  | <= 1x |  |\n")
        );
    }
}
