//! Medians, quartiles and ratios of turns.

use serde::Serialize;
use std::fmt;
use std::time::Duration;

/// The middle one, or the mean of the two in the middle.
pub fn median(mut samples: Vec<f64>) -> Option<f64> {
    samples.sort_by(f64::total_cmp);
    let middle = samples.len() / 2;
    match samples.len() {
        0 => None,
        count if count % 2 == 1 => Some(samples[middle]),
        _ => Some((samples[middle - 1] + samples[middle]) / 2.0),
    }
}

/// The time in microseconds below which this part of the times lies, from 0 to 1. Sorts them.
///
/// # Panics
/// There are none.
pub fn quantile_us(times: &mut [Duration], part: f64) -> f64 {
    times.sort_unstable();
    let at = (times.len() as f64 * part) as usize;
    times[at.min(times.len() - 1)].as_secs_f64() * 1e6
}

/// The ratios of the turns; none where the servers had different numbers of them.
pub fn turn_ratios(ours: &[f64], theirs: &[f64]) -> Vec<f64> {
    if ours.len() != theirs.len() {
        return Vec::new();
    }
    let turns = ours.iter().zip(theirs);
    turns.map(|(ours, theirs)| ours / theirs).collect()
}

/// The first and the third quartile, each a sample; none of fewer than four.
pub fn quartiles(mut samples: Vec<f64>) -> Option<[f64; 2]> {
    samples.sort_by(f64::total_cmp);
    let last = samples.len().checked_sub(1)?;
    (samples.len() >= 4).then(|| [samples[last / 4], samples[last - last / 4]])
}

/// The median of the turns' ratios, and their quartiles.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ratio {
    /// The median.
    pub median: f64,
    /// First and third quartile, of four turns or more.
    pub quartiles: Option<[f64; 2]>,
}

impl fmt::Display for Ratio {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:.2}", self.median)?;
        match self.quartiles {
            Some([first, third]) => write!(out, " ({first:.2}-{third:.2})"),
            None => Ok(()),
        }
    }
}

impl Ratio {
    /// Of figures over others of the same turns; nothing without pairs of turns.
    pub fn of(ours: &[f64], theirs: &[f64]) -> Option<Ratio> {
        let ratios = turn_ratios(ours, theirs);
        Some(Ratio {
            median: median(ratios.clone())?,
            quartiles: quartiles(ratios),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_the_times_lies_below_its_quantile() {
        let mut times: Vec<_> = (0..100).rev().map(Duration::from_micros).collect();
        let quantiles = [0.0, 0.5, 0.99, 1.0].map(|part| quantile_us(&mut times, part));
        let near = quantiles.iter().zip([0.0, 50.0, 99.0, 99.0]);
        assert!(
            near.into_iter()
                .all(|(told, wanted)| (told - wanted).abs() < 1e-6)
        );
        assert!((quantile_us(&mut times[..1], 0.99)).abs() < 1e-6);
    }

    #[test]
    fn medians() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }

    #[test]
    fn a_ratio_is_the_median_of_the_turns_with_its_quartiles() {
        let ratio = Ratio::of(&[2.0, 6.0, 3.0, 8.0, 1.0], &[1.0, 2.0, 1.0, 2.0, 1.0]);
        assert_eq!(
            ratio.map(|ratio| ratio.to_string()),
            Some("3.00 (2.00-3.00)".into())
        );
        assert_eq!(Ratio::of(&[1.0], &[1.0, 2.0]), None);
    }
}
