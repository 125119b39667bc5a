//! Whether a row shows what it should, as far as its turns allow to say.
//!
//! A median of a few turns lies on the right side of a limit by luck, or on the wrong one by noise.
//! So the interval decides in which the true median lies: two of the samples in order, as many from
//! either end, chosen by the binomial distribution alone (David and Nagaraja, *Order Statistics*,
//! 3rd edition, section 7.1). It assumes nothing of how the samples are spread.

use serde::Serialize;

/// Share of all runs in which the interval holds the true median, where there are enough samples
/// for it: five. Of fewer it goes from the least to the greatest.
const COVERAGE: f64 = 0.9;

/// What the turns say of something wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It is missed wherever in its interval the median lies.
    No,
    /// The limit lies within the interval: more turns could tell.
    Unclear,
    /// It is reached wherever in its interval the median lies.
    Yes,
}

impl Verdict {
    /// Judges an interval by what holds of a figure that is good enough.
    pub fn of([least, greatest]: [f64; 2], is_met: impl Fn(f64) -> bool) -> Verdict {
        match (is_met(least), is_met(greatest)) {
            (true, true) => Verdict::Yes,
            (false, false) => Verdict::No,
            _ => Verdict::Unclear,
        }
    }

    /// For the last column of a table: what is missed stands out.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Yes => "yes",
            Verdict::Unclear => "unclear",
            Verdict::No => "NO",
        }
    }
}

/// How many rows ended how, in a sentence.
pub fn summary(verdicts: impl Iterator<Item = Verdict>) -> String {
    let verdicts: Vec<_> = verdicts.collect();
    let count = |one| verdicts.iter().filter(|verdict| **verdict == one).count();
    let (met, unclear) = (count(Verdict::Yes), count(Verdict::Unclear));
    let missed = count(Verdict::No);
    let more = match unclear {
        0 => "",
        _ => ": their spread is too wide to tell, which more turns narrow (--turns)",
    };
    format!("{met} rows met, {missed} missed, {unclear} unclear{more}")
}

/// The interval of the true median; of a single sample that sample, of none nothing.
pub fn median_interval(mut samples: Vec<f64>) -> Option<[f64; 2]> {
    samples.sort_by(f64::total_cmp);
    let last = samples.len().checked_sub(1)?;
    let from_either_end = samples_left_out(samples.len());
    Some([samples[from_either_end], samples[last - from_either_end]])
}

/// Most samples that can be left out at either end so that the rest covers the median often enough.
fn samples_left_out(count: usize) -> usize {
    // Chance that exactly `below` of the samples lie below the true median, and of at most so many.
    let mut chance = 0.5_f64.powi(count as i32);
    let mut at_most = chance;
    let mut left_out = 0;
    for below in 1..=count / 2 {
        chance *= (count - below + 1) as f64 / below as f64;
        at_most += chance;
        if 1.0 - 2.0 * at_most < COVERAGE {
            break;
        }
        left_out = below;
    }
    left_out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_the_tables() {
        // As tables of the binomial distribution have it: the (r+1)th and the (n-r)th of n.
        let known = [
            (1, 0),
            (4, 0),
            (5, 0),
            (7, 0),
            (8, 1),
            (12, 2),
            (21, 6),
            (41, 14),
        ];
        for (count, left_out) in known {
            assert_eq!(samples_left_out(count), left_out, "of {count}");
        }
    }

    #[test]
    fn an_interval_is_made_of_samples() {
        assert_eq!(median_interval(vec![]), None);
        assert_eq!(median_interval(vec![3.0]), Some([3.0, 3.0]));
        assert_eq!(median_interval(vec![3.0, 1.0, 2.0]), Some([1.0, 3.0]));
        let eight = (1..=8).rev().map(f64::from).collect();
        assert_eq!(median_interval(eight), Some([2.0, 7.0]));
    }

    #[test]
    fn a_limit_within_the_interval_leaves_it_open() {
        let at_least_two = |figure: f64| figure >= 2.0;
        assert_eq!(Verdict::of([2.0, 3.0], at_least_two), Verdict::Yes);
        assert_eq!(Verdict::of([1.9, 3.0], at_least_two), Verdict::Unclear);
        assert_eq!(Verdict::of([1.0, 1.9], at_least_two), Verdict::No);
    }

    #[test]
    fn the_summary_says_what_to_do_about_what_is_unclear() {
        let all = [Verdict::Yes, Verdict::No, Verdict::Yes];
        assert_eq!(summary(all.into_iter()), "2 rows met, 1 missed, 0 unclear");
        assert!(summary([Verdict::Unclear].into_iter()).ends_with("(--turns)"));
    }
}
