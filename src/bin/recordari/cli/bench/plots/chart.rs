//! Draws one chart: a title, marks and lines on two axes, and a legend beside them. Knows nothing of what is
//! measured.

use super::scale::Scale;
use crate::cli::svg::{Anchor, INK, Line, PALE, Set, Shape, Svg};

const TOP: f64 = 84.0;
const LEFT: f64 = 92.0;
const HEIGHT: f64 = 330.0;
/// The least room that a group needs for its captions, and the most that it gets for its marks.
const GROUP_WIDTH: (f64, f64) = (160.0, 400.0);
/// The room that one mark needs beside another.
const COLUMN_WIDTH: f64 = 17.0;
const WIDTH_MIN: f64 = 560.0;
/// Between the frame and the outermost marks, so that none lies on it.
const PADDING: f64 = 14.0;
const LEGEND_ROW: f64 = 24.0;
const GRID: &str = "#d8dee4";
const GRID_MINOR: &str = "#eef1f4";
const BAND: &str = "#f6f8fa";
const FRAME: &str = "#8c959f";

/// A chart that is to be drawn.
pub struct Chart {
    pub title: String,
    /// What is shown and how to read it, in one line.
    pub subtitle: String,
    /// Where the figures come from.
    pub footer: String,
    pub x: Across,
    /// What the vertical axis shows, with its unit.
    pub y_label: String,
    pub y: Scale,
    pub series: Vec<Series>,
}

/// What the horizontal axis shows.
pub enum Across {
    /// Groups beside one another, each with so many columns of marks and a few lines of captions.
    Groups { label: String, columns: usize, captions: Vec<Vec<String>> },
    /// Numbers.
    Numbers { label: String, scale: Scale },
}

/// Marks of one kind.
pub struct Series {
    /// What they are called in the legend.
    pub name: String,
    pub colour: &'static str,
    pub shape: Shape,
    pub filled: bool,
    /// How they are joined; nothing if they are not.
    pub line: Option<Line>,
    /// Where they lie, as values of the axes, and what is said about each.
    pub points: Vec<(f64, f64, String)>,
}

impl Chart {
    /// The chart as the text of an SVG file.
    pub fn draw(&self) -> String {
        let names = self.series.iter().map(|series| width_of(&series.name, 12.5));
        let name_width = names.fold(0.0, f64::max);
        let frame_width = match &self.x {
            Across::Groups { captions, columns, .. } => {
                let group = (*columns as f64 * COLUMN_WIDTH).clamp(GROUP_WIDTH.0, GROUP_WIDTH.1);
                (captions.len() as f64 * group).max(WIDTH_MIN)
            }
            Across::Numbers { .. } => WIDTH_MIN,
        };
        let lines = match &self.x {
            Across::Groups { captions, .. } => captions.iter().map(Vec::len).max().unwrap_or(0),
            Across::Numbers { .. } => 1,
        };
        let frame_height = HEIGHT.max(self.series.len() as f64 * LEGEND_ROW);
        let heading = width_of(&self.title, 18.0).max(width_of(&self.subtitle, 12.5)) + 48.0;
        let width = (LEFT + frame_width + 24.0 + 44.0 + name_width + 20.0).max(heading);
        let height = TOP + frame_height + 22.0 + lines as f64 * 17.0 + 62.0;
        let mut svg = Svg::new(width, height, &self.title, &self.subtitle);
        let plain = |size, colour, anchor| Set { size, colour, anchor, bold: false };
        let heading = Set { bold: true, ..plain(18.0, INK, Anchor::Start) };
        svg.text(24.0, 36.0, &heading, &self.title);
        svg.text(24.0, 58.0, &plain(12.5, PALE, Anchor::Start), &self.subtitle);
        svg.text(24.0, height - 14.0, &plain(11.0, PALE, Anchor::Start), &self.footer);
        let frame = Frame { width: frame_width, height: frame_height };
        frame.draw(self, &mut svg);
        for series in &self.series {
            svg.begin(&series.name);
            let points = series.points.iter().filter_map(|(x, y, note)| {
                let at = (frame.x(self.x.place(*x)?), frame.y(self.y.place(*y)?));
                Some((at, note))
            });
            let points: Vec<((f64, f64), &String)> = points.collect();
            if let Some(line) = series.line {
                svg.path(&points.iter().map(|(at, _)| *at).collect::<Vec<_>>(), series.colour, line);
            }
            for (at, note) in points {
                svg.mark(at, series.shape, series.colour, series.filled, note);
            }
            svg.end();
        }
        let left = LEFT + frame_width + 24.0;
        for (row, series) in self.series.iter().enumerate() {
            let y = TOP + 12.0 + row as f64 * LEGEND_ROW;
            if let Some(line) = series.line {
                svg.path(&[(left, y), (left + 32.0, y)], series.colour, line);
            }
            svg.mark((left + 16.0, y), series.shape, series.colour, series.filled, "");
            svg.text(left + 42.0, y + 4.5, &plain(12.5, INK, Anchor::Start), &series.name);
        }
        svg.finish()
    }
}

impl Across {
    fn place(&self, value: f64) -> Option<f64> {
        match self {
            Across::Groups { captions, .. } => Scale::groups(captions.len()).place(value),
            Across::Numbers { scale, .. } => scale.place(value),
        }
    }
}

/// The rectangle in which marks lie.
struct Frame {
    width: f64,
    height: f64,
}

impl Frame {
    fn x(&self, share: f64) -> f64 {
        LEFT + share * self.width
    }

    fn y(&self, share: f64) -> f64 {
        TOP + self.height - PADDING - share * (self.height - 2.0 * PADDING)
    }

    fn draw(&self, chart: &Chart, svg: &mut Svg) {
        let (right, bottom) = (LEFT + self.width, TOP + self.height);
        let set = |size, colour, anchor| Set { size, colour, anchor, bold: false };
        if let Across::Groups { captions, .. } = &chart.x {
            let group = self.width / captions.len().max(1) as f64;
            for at in (0..captions.len()).step_by(2) {
                svg.area(LEFT + at as f64 * group, TOP, group, self.height, BAND);
            }
        }
        for tick in &chart.y.ticks {
            let Some(y) = chart.y.place(tick.value).map(|share| self.y(share)) else { continue };
            svg.rule((LEFT, y), (right, y), if tick.label.is_some() { GRID } else { GRID_MINOR });
            if let Some(label) = &tick.label {
                svg.text(LEFT - 9.0, y + 4.0, &set(12.0, INK, Anchor::End), label);
            }
        }
        let middle = LEFT + self.width / 2.0;
        let (label, lines) = match &chart.x {
            Across::Groups { label, captions, .. } => {
                let group = self.width / captions.len().max(1) as f64;
                for (at, lines) in captions.iter().enumerate() {
                    for (line, text) in lines.iter().enumerate() {
                        let (colour, size) = if line == 0 { (INK, 12.0) } else { (PALE, 11.5) };
                        let place = (LEFT + (at as f64 + 0.5) * group, bottom + 20.0 + 17.0 * line as f64);
                        svg.text(place.0, place.1, &set(size, colour, Anchor::Middle), text);
                    }
                }
                (label, captions.iter().map(Vec::len).max().unwrap_or(0))
            }
            Across::Numbers { label, scale } => {
                self.numbers(scale, svg);
                (label, 1)
            }
        };
        svg.text(middle, bottom + 30.0 + 17.0 * lines as f64, &set(12.5, INK, Anchor::Middle), label);
        svg.upright(26.0, TOP + self.height / 2.0, 12.5, &chart.y_label);
        for (from, to) in [((LEFT, TOP), (LEFT, bottom)), ((LEFT, bottom), (right, bottom))] {
            svg.rule(from, to, FRAME);
        }
    }

    /// The numbers below; one that would touch the one before it has a tick alone.
    fn numbers(&self, scale: &Scale, svg: &mut Svg) {
        let (bottom, mut free) = (TOP + self.height, f64::MIN);
        for tick in &scale.ticks {
            let Some(x) = scale.place(tick.value).map(|share| self.x(share)) else { continue };
            svg.rule((x, TOP), (x, bottom + 5.0), GRID);
            let label = tick.label.as_deref().unwrap_or_default();
            let half = width_of(label, 12.0) / 2.0;
            if x - half > free {
                let set = Set { size: 12.0, colour: INK, anchor: Anchor::Middle, bold: false };
                svg.text(x, bottom + 20.0, &set, label);
                free = x + half + 10.0;
            }
        }
    }
}

/// About how wide a text is in a font that the reader has and we don't know; rather more than less.
fn width_of(text: &str, size: f64) -> f64 {
    // Beyond the Latin letters many are as wide as they are high.
    text.chars().map(|c| if c < '\u{300}' { 0.6 } else { 1.0 }).sum::<f64>() * size
}
