//! Axes of numbers: where a value lies between 0 and 1, and which ticks have labels.

use super::super::tables::grouped;

/// The most ticks of an axis that are labelled, and the most steps of 1, 2 and 5 that all are.
const LABELS_MAX: usize = 9;
const STEPS_MAX: usize = 12;
/// What can be drawn on a logarithmic axis; anything else is no measurement.
const DRAWN: std::ops::RangeInclusive<f64> = 1e-9..=1e15;

/// An axis.
pub struct Scale {
    logarithmic: bool,
    low: f64,
    high: f64,
    /// Where a line is drawn across, from low to high.
    pub ticks: Vec<Tick>,
}

/// One line across.
pub struct Tick {
    pub value: f64,
    /// What is written beside it; nothing for a minor one.
    pub label: Option<String>,
}

impl Scale {
    /// A logarithmic axis that holds the values, from tick to tick; nothing if there are none to draw.
    pub fn logarithmic(values: impl IntoIterator<Item = f64>) -> Option<Scale> {
        let (low, high) = ends(values.into_iter().filter(|value| is_drawn(*value)))?;
        let steps = steps(low, high);
        let (low, high) = (*steps.first()?, *steps.last()?);
        let decades: Vec<f64> = steps.iter().copied().filter(|step| is_decade(*step)).collect();
        // Every step if there is room, else every decade, else every so many.
        let every = decades.len().div_ceil(LABELS_MAX);
        let labelled = |value: f64| match steps.len() <= STEPS_MAX {
            true => true,
            false => decades.iter().position(|decade| *decade == value).is_some_and(|at| at % every == 0),
        };
        let ticks = steps.iter().filter(|step| steps.len() <= 3 * STEPS_MAX || is_decade(**step));
        let ticks = ticks.map(|value| Tick { value: *value, label: labelled(*value).then(|| label(*value)) });
        Some(Scale { logarithmic: true, low, high, ticks: ticks.collect() })
    }

    /// A logarithmic axis with a tick at each of these values alone, and some room on both sides.
    pub fn at(values: &[f64]) -> Option<Scale> {
        let (low, high) = ends(values.iter().copied().filter(|value| is_drawn(*value)))?;
        let room = ((high / low).ln() * 0.08).max(0.1).exp();
        let ticks = values.iter().map(|value| Tick { value: *value, label: Some(label(*value)) }).collect();
        Some(Scale { logarithmic: true, low: low / room, high: high * room, ticks })
    }

    /// An axis in equal steps that holds the values and what is between `low` and `high`.
    pub fn linear(values: impl IntoIterator<Item = f64>, low: f64, high: f64) -> Option<Scale> {
        let values: Vec<f64> = values.into_iter().filter(|value| value.abs() <= *DRAWN.end()).collect();
        ends(values.iter().copied())?;
        let (low, high) = ends(values.into_iter().chain([low, high]))?;
        let (step, digits) = step((high - low).max(1e-9), LABELS_MAX - 3);
        // A hair more than the quotient, so that 0.9 / 0.02 is 45 and not 44.99.
        let (first, last) = ((low / step + 1e-6).floor(), (high / step - 1e-6).ceil());
        let ticks = (0..=(last - first) as usize).map(|at| (first + at as f64) * step);
        let ticks = ticks.map(|value| Tick { value, label: Some(format!("{value:.digits$}")) });
        Some(Scale { logarithmic: false, low: first * step, high: last * step, ticks: ticks.collect() })
    }

    /// Places `count` groups beside one another: group 0 around 0, group 1 around 1.
    pub fn groups(count: usize) -> Scale {
        Scale { logarithmic: false, low: -0.5, high: count as f64 - 0.5, ticks: Vec::new() }
    }

    /// Where a value lies: 0 at the low end, 1 at the high end; nothing for what can't be drawn.
    pub fn place(&self, value: f64) -> Option<f64> {
        let share = if self.logarithmic {
            is_drawn(value).then(|| (value / self.low).ln() / (self.high / self.low).ln())?
        } else {
            (value - self.low) / (self.high - self.low)
        };
        (-1e-6..=1.0 + 1e-6).contains(&share).then_some(share)
    }
}

fn is_drawn(value: f64) -> bool {
    DRAWN.contains(&value)
}

fn ends(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |ends, value| match ends {
        None => Some((value, value)),
        Some((low, high)) => Some((f64::min(low, value), f64::max(high, value))),
    })
}

/// The values 1, 2 and 5 of every decade, from the last that is not above `low` to the first that is not
/// below `high`; two at least.
fn steps(low: f64, high: f64) -> Vec<f64> {
    let decades = low.log10().floor() as i32 - 1..=high.log10().ceil() as i32 + 1;
    let all: Vec<f64> =
        decades.flat_map(|power| [1.0, 2.0, 5.0].map(|digit| of_power(digit, power))).collect();
    let first = all.iter().rposition(|step| *step <= low).unwrap_or(0);
    let last = all.iter().position(|step| *step >= high).unwrap_or(all.len() - 1);
    // A value on a step alone gets room on both sides.
    let (first, last) = if first == last { (first - 1, last + 1) } else { (first, last) };
    all[first..=last].to_vec()
}

/// The number as it would be written, so that 0.2 is the nearest number to 0.2.
fn of_power(digit: f64, power: i32) -> f64 {
    if power < 0 { digit / 10f64.powi(-power) } else { digit * 10f64.powi(power) }
}

fn is_decade(value: f64) -> bool {
    of_power(1.0, value.log10().round() as i32) == value
}

/// The least step of 1, 2 or 5 in a decade that needs no more than so many to cover a span, and the decimals
/// that its multiples have.
fn step(span: f64, most: usize) -> (f64, usize) {
    let power = (span / most as f64).log10().floor() as i32;
    let steps = [(1.0, power), (2.0, power), (5.0, power), (1.0, power + 1)];
    let fits = |(digit, power): &(f64, i32)| of_power(*digit, *power) * most as f64 >= span * (1.0 - 1e-9);
    let (digit, power) = steps.into_iter().find(fits).unwrap_or((1.0, power + 1));
    (of_power(digit, power), usize::try_from(-power).unwrap_or(0))
}

/// A tick in figures: whole in groups of thousands, or with the decimals that it has.
fn label(value: f64) -> String {
    if !(1e-4..1e9).contains(&value) {
        return format!("{value:e}");
    }
    if value.fract() == 0.0 { grouped(value as u64) } else { format!("{value}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: &Scale) -> Vec<&str> {
        scale.ticks.iter().filter_map(|tick| tick.label.as_deref()).collect()
    }

    #[test]
    fn a_logarithmic_axis_goes_from_step_to_step() {
        let scale = Scale::logarithmic([0.13, 4.46, 0.0, -1.0, f64::NAN]).unwrap();
        assert_eq!(labels(&scale), ["0.1", "0.2", "0.5", "1", "2", "5"]);
        let place = |value| scale.place(value).unwrap();
        assert!((place(0.1), place(5.0)) == (0.0, 1.0) && (place(0.5f64.sqrt()) - 0.5).abs() < 1e-9);
        assert_eq!((scale.place(0.0), scale.place(6.0)), (None, None));
        assert!(Scale::logarithmic([0.0, f64::INFINITY]).is_none());
    }

    #[test]
    fn one_value_has_room_on_both_sides() {
        assert_eq!(labels(&Scale::logarithmic([2.0]).unwrap()), ["1", "2", "5"]);
        assert_eq!(labels(&Scale::logarithmic([3293.0, 3575.0]).unwrap()), ["2,000", "5,000"]);
    }

    #[test]
    fn many_decades_have_few_labels() {
        let scale = Scale::logarithmic([0.01, 90_000.0]).unwrap();
        assert_eq!(labels(&scale), ["0.01", "0.1", "1", "10", "100", "1,000", "10,000", "100,000"]);
        assert_eq!(scale.ticks.len(), 22, "the steps between are drawn without a label");
        let scale = Scale::logarithmic([1e-9, 1e15]).unwrap();
        assert_eq!(
            labels(&scale),
            ["1e-9", "1e-6", "0.001", "1", "1,000", "1,000,000", "1e9", "1e12", "1e15"]
        );
    }

    #[test]
    fn a_linear_axis_has_equal_steps() {
        let scale = Scale::linear([0.98, 1.0], 0.9, 1.0).unwrap();
        assert_eq!(labels(&scale), ["0.90", "0.92", "0.94", "0.96", "0.98", "1.00"]);
        assert_eq!((scale.place(0.9), scale.place(1.0)), (Some(0.0), Some(1.0)));
        assert_eq!(
            labels(&Scale::linear([0.0], 0.9, 1.0).unwrap()),
            ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]
        );
        assert!(Scale::linear([], 0.9, 1.0).is_none());
    }

    #[test]
    fn sizes_are_ticks_themselves() {
        let scale = Scale::at(&[10_000.0, 100_000.0]).unwrap();
        assert_eq!(labels(&scale), ["10,000", "100,000"]);
        assert!(scale.place(10_000.0).unwrap() > 0.05 && scale.place(100_000.0).unwrap() < 0.95);
    }
}
