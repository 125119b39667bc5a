//! Axes: by logarithm, or even.

/// Maps figures to pixels by their logarithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogAxis {
    low: f64,
    high: f64,
    from_px: f64,
    to_px: f64,
}

impl LogAxis {
    /// From `low` at `from_px` to `high` at `to_px`.
    ///
    /// # Panics
    /// If `low` is not above 0 or `high` not above `low`.
    pub fn new(low: f64, high: f64, from_px: f64, to_px: f64) -> Self {
        assert!(low > 0.0 && high > low, "an axis from {low} to {high}");
        LogAxis {
            low,
            high,
            from_px,
            to_px,
        }
    }

    /// Where a figure lies.
    pub fn place(&self, figure: f64) -> f64 {
        let share = (figure / self.low).ln() / (self.high / self.low).ln();
        self.from_px + share * (self.to_px - self.from_px)
    }
}

/// Maps figures to pixels evenly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EvenAxis {
    high: f64,
    from_px: f64,
    to_px: f64,
}

impl EvenAxis {
    /// From 0 at `from_px` to `high` at `to_px`.
    ///
    /// # Panics
    /// If `high` is not above 0.
    pub fn new(high: f64, from_px: f64, to_px: f64) -> Self {
        assert!(high > 0.0, "an axis to {high}");
        EvenAxis {
            high,
            from_px,
            to_px,
        }
    }

    /// Where a figure lies.
    pub fn place(&self, figure: f64) -> f64 {
        self.from_px + figure / self.high * (self.to_px - self.from_px)
    }
}

/// Round figures at even distances from 0 to the greatest figure or a little above: from two to
/// about six. None where there is no figure above 0.
pub fn even_marks(figures: impl Iterator<Item = f64>) -> Option<Vec<f64>> {
    let high = figures
        .filter(|figure| figure.is_finite())
        .fold(0.0, f64::max);
    if high <= 0.0 {
        return None;
    }
    let power = 10.0_f64.powf((high / 5.0).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
    let step = steps
        .into_iter()
        .find(|step| high / step <= 5.0)
        .unwrap_or(high);
    let count = (high / step - 1e-9).ceil().max(1.0) as u32;
    Some((0..=count).map(|mark| f64::from(mark) * step).collect())
}

/// The powers of `base` that enclose the figures: at least two, the first not above any figure and
/// the last not below. None where there is no figure above 0.
pub fn powers_around(figures: impl Iterator<Item = f64>, base: f64) -> Option<Vec<f64>> {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for figure in figures.filter(|figure| figure.is_finite() && *figure > 0.0) {
        (low, high) = (low.min(figure), high.max(figure));
    }
    if low > high {
        return None;
    }
    // A hair of tolerance, so that a power itself needs no further one.
    let first = (low.log(base) + 1e-9).floor() as i32;
    let last = ((high.log(base) - 1e-9).ceil() as i32).max(first + 1);
    Some((first..=last).map(|power| base.powi(power)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_lie_by_their_logarithm() {
        let axis = LogAxis::new(1.0, 100.0, 0.0, 200.0);
        assert_eq!(
            [1.0, 10.0, 100.0].map(|figure| axis.place(figure).round()),
            [0.0, 100.0, 200.0]
        );
        let upwards = LogAxis::new(1.0, 100.0, 200.0, 0.0);
        assert_eq!(upwards.place(10.0).round(), 100.0);
    }

    #[test]
    fn even_marks_are_round_and_enclose_every_figure() {
        let around = |figures: &[f64]| even_marks(figures.iter().copied());
        assert_eq!(
            around(&[0.0, 23.0]),
            Some(vec![0.0, 5.0, 10.0, 15.0, 20.0, 25.0])
        );
        assert_eq!(
            around(&[100.0]),
            Some(vec![0.0, 20.0, 40.0, 60.0, 80.0, 100.0])
        );
        assert_eq!(around(&[0.0, f64::NAN]), None);
        let axis = EvenAxis::new(25.0, 200.0, 100.0);
        assert_eq!(
            [0.0, 5.0, 25.0].map(|figure| axis.place(figure)),
            [200.0, 180.0, 100.0]
        );
    }

    #[test]
    fn powers_enclose_every_figure() {
        let around = |figures: &[f64], base| powers_around(figures.iter().copied(), base);
        assert_eq!(
            around(&[1.4, 130.0], 10.0),
            Some(vec![1.0, 10.0, 100.0, 1000.0])
        );
        assert_eq!(around(&[8.0, 512.0], 8.0), Some(vec![8.0, 64.0, 512.0]));
        assert_eq!(around(&[10.0], 10.0), Some(vec![10.0, 100.0]));
        assert_eq!(around(&[0.0, f64::NAN], 10.0), None);
    }
}
