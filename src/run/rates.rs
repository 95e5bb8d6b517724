//! How often a repeated scenario passes: one tally a scenario, a verdict after its last attempt.

use crate::event::Rated;

/// Standard normal quantile of a two-sided 95 % interval.
const Z: f64 = 1.959_963_984_540_054;

/// Attempts of one scenario so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Attempts still to end.
    pub left: u32,
    pub passed: u32,
    pub of: u32,
    /// Highest attempt number given out: numbers are never used twice.
    pub numbered: u32,
    /// A passing attempt has offered its lock and tutorial; the others need not.
    pub offered: bool,
}

impl Tally {
    pub fn new(attempts: u32) -> Self {
        Self {
            left: attempts,
            numbered: attempts,
            ..Self::default()
        }
    }

    /// A number for an attempt that was not planned (a retry, a lost browser).
    pub fn next_number(&mut self) -> u32 {
        self.numbered += 1;
        self.numbered
    }

    /// Counts the end of one planned attempt; the verdict after the last.
    pub fn ended(&mut self, passed: bool, minimum: Option<f64>) -> Option<Rated> {
        self.left = self.left.saturating_sub(1);
        self.of += 1;
        self.passed += u32::from(passed);
        (self.left == 0).then(|| self.rate(minimum))
    }

    /// Without a minimum every attempt must pass.
    fn rate(&self, minimum: Option<f64>) -> Rated {
        let (low, high) = wilson(self.passed, self.of);
        Rated {
            passed: self.passed,
            of: self.of,
            low,
            high,
            minimum,
            holds: match minimum {
                Some(minimum) => low >= minimum,
                None => self.passed == self.of,
            },
        }
    }
}

/// The Wilson score interval (E. B. Wilson, 1927): honest at rates of 0 and 1 and for few tries.
pub fn wilson(passed: u32, of: u32) -> (f64, f64) {
    if of == 0 {
        return (0.0, 1.0);
    }
    let (n, p) = (f64::from(of), f64::from(passed) / f64::from(of));
    let z2 = Z * Z;
    let middle = p + z2 / (2.0 * n);
    let half = Z * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
    let bound = |x: f64| (x / (1.0 + z2 / n)).clamp(0.0, 1.0);
    // At the ends of the scale the bound is the end itself, whatever rounding makes of it.
    let low = if passed == 0 {
        0.0
    } else {
        bound(middle - half)
    };
    let high = if passed == of {
        1.0
    } else {
        bound(middle + half)
    };
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_the_books() {
        for (passed, of, low, high) in [
            (0, 10, 0.0, 0.277_5),
            (10, 10, 0.722_5, 1.0),
            (8, 10, 0.490_2, 0.943_3),
            (1, 1, 0.206_5, 1.0),
            (95, 100, 0.888_2, 0.978_5),
        ] {
            let (l, h) = wilson(passed, of);
            assert!((l - low).abs() < 1e-3, "{passed}/{of}: low {l}");
            assert!((h - high).abs() < 1e-3, "{passed}/{of}: high {h}");
        }
        assert_eq!(wilson(0, 0), (0.0, 1.0));
    }

    #[test]
    fn the_verdict_comes_after_the_last_attempt_and_is_judged_on_the_lower_bound() {
        let mut tally = Tally::new(3);
        assert_eq!(tally.ended(true, Some(0.4)), None);
        assert_eq!(tally.ended(true, Some(0.4)), None);
        let rated = tally.ended(true, Some(0.4)).expect("the last one");
        assert!(rated.holds && rated.low > 0.43 && rated.low < 0.44);
        let mut tally = Tally::new(1);
        let rated = tally.ended(true, Some(0.9)).expect("the last one");
        assert!(!rated.holds, "one pass proves no nine in ten");
    }

    #[test]
    fn without_a_minimum_every_attempt_must_pass() {
        let mut tally = Tally::new(2);
        tally.ended(true, None);
        assert!(!tally.ended(false, None).expect("the last one").holds);
    }

    #[test]
    fn numbers_are_never_used_twice() {
        let mut tally = Tally::new(4);
        assert_eq!((tally.next_number(), tally.next_number()), (5, 6));
    }
}
