//! Writes SVG: a few elements, every text escaped, every coordinate rounded, so that the same report is the
//! same file. Colours are attributes and no style sheet is needed: what shows the file may read none.

use std::fmt::Write as _;

/// The colour of what is written.
pub const INK: &str = "#1f2328";
/// The colour of what is written beside it.
pub const PALE: &str = "#59636e";
const PAPER: &str = "#ffffff";
const EDGE: &str = "#d1d9e0";
const FONT: &str = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', Helvetica, Arial, sans-serif";

/// A picture that is being written.
pub struct Svg {
    text: String,
}

/// How a text is set.
pub struct Set {
    pub size: f64,
    pub colour: &'static str,
    pub anchor: Anchor,
    pub bold: bool,
}

/// Which point of a text its place is.
#[derive(Clone, Copy)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// The form of a mark.
#[derive(Clone, Copy)]
pub enum Shape {
    Circle,
    Square,
    Triangle,
    Diamond,
    Cross,
    Tip,
}

/// How a line is drawn.
#[derive(Clone, Copy, PartialEq)]
pub enum Line {
    Solid,
    Dashed,
    Dotted,
}

impl Svg {
    /// A picture with a background of its own, so that it is read on any page.
    pub fn new(width: f64, height: f64, title: &str, description: &str) -> Svg {
        let (w, h) = (round(width), round(height));
        let mut svg = Svg { text: String::new() };
        svg.add(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" \
             role=\"img\" font-family=\"{FONT}\">"
        ));
        svg.add(format_args!("<title>{}</title>", escaped(title)));
        svg.add(format_args!("<desc>{}</desc>", escaped(description)));
        svg.add(format_args!(
            "<rect x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"6\" fill=\"{PAPER}\" stroke=\"{EDGE}\"/>",
            round(width - 1.0),
            round(height - 1.0)
        ));
        svg
    }

    /// The picture as the text of a file.
    pub fn finish(mut self) -> String {
        self.text.push_str("</svg>\n");
        self.text
    }

    /// Begins a group with a name, which is shown where the pointer rests on it.
    pub fn begin(&mut self, name: &str) {
        self.add(format_args!("<g><title>{}</title>", escaped(name)));
    }

    /// Ends a group.
    pub fn end(&mut self) {
        self.add(format_args!("</g>"));
    }

    pub fn text(&mut self, x: f64, y: f64, set: &Set, text: &str) {
        let anchor = match set.anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let bold = if set.bold { " font-weight=\"600\"" } else { "" };
        self.add(format_args!(
            "<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\" text-anchor=\"{anchor}\"{bold}>{}</text>",
            round(x),
            round(y),
            round(set.size),
            set.colour,
            escaped(text)
        ));
    }

    /// A text from below to above, with its middle at a place.
    pub fn upright(&mut self, x: f64, y: f64, size: f64, text: &str) {
        let (x, y) = (round(x), round(y));
        self.add(format_args!(
            "<text transform=\"translate({x} {y}) rotate(-90)\" font-size=\"{}\" fill=\"{INK}\" \
             text-anchor=\"middle\">{}</text>",
            round(size),
            escaped(text)
        ));
    }

    pub fn area(&mut self, x: f64, y: f64, width: f64, height: f64, fill: &str) {
        self.add(format_args!(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{fill}\"/>",
            round(x),
            round(y),
            round(width),
            round(height)
        ));
    }

    pub fn rule(&mut self, from: (f64, f64), to: (f64, f64), colour: &str) {
        self.add(format_args!(
            "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"{colour}\"/>",
            round(from.0),
            round(from.1),
            round(to.0),
            round(to.1)
        ));
    }

    /// A line from point to point; nothing if there is one alone.
    pub fn path(&mut self, points: &[(f64, f64)], colour: &str, line: Line) {
        if points.len() < 2 {
            return;
        }
        let points: Vec<String> =
            points.iter().map(|(x, y)| format!("{},{}", round(*x), round(*y))).collect();
        let dash = match line {
            Line::Solid => "",
            Line::Dashed => " stroke-dasharray=\"7 4\"",
            Line::Dotted => " stroke-dasharray=\"2 4\"",
        };
        self.add(format_args!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" \
             stroke-linejoin=\"round\"{dash}/>",
            points.join(" ")
        ));
    }

    /// A mark, filled or hollow, and what is shown where the pointer rests on it.
    pub fn mark(&mut self, (x, y): (f64, f64), shape: Shape, colour: &str, filled: bool, note: &str) {
        let fill = if filled { colour } else { PAPER };
        let corners = |corners: &[(f64, f64)]| {
            let corners: Vec<String> =
                corners.iter().map(|(dx, dy)| format!("{},{}", round(x + dx), round(y + dy))).collect();
            format!("<polygon points=\"{}\"", corners.join(" "))
        };
        let form = match shape {
            Shape::Circle => format!("<circle cx=\"{}\" cy=\"{}\" r=\"4.8\"", round(x), round(y)),
            Shape::Square => corners(&[(-4.3, -4.3), (4.3, -4.3), (4.3, 4.3), (-4.3, 4.3)]),
            Shape::Triangle => corners(&[(0.0, -5.6), (5.2, 3.9), (-5.2, 3.9)]),
            Shape::Diamond => corners(&[(0.0, -6.0), (6.0, 0.0), (0.0, 6.0), (-6.0, 0.0)]),
            Shape::Tip => corners(&[(0.0, 5.6), (5.2, -3.9), (-5.2, -3.9)]),
            Shape::Cross => corners(&[
                (-2.0, -5.5),
                (2.0, -5.5),
                (2.0, -2.0),
                (5.5, -2.0),
                (5.5, 2.0),
                (2.0, 2.0),
                (2.0, 5.5),
                (-2.0, 5.5),
                (-2.0, 2.0),
                (-5.5, 2.0),
                (-5.5, -2.0),
                (-2.0, -2.0),
            ]),
        };
        let note = if note.is_empty() { String::new() } else { format!("<title>{}</title>", escaped(note)) };
        let name = form.split([' ', '<']).nth(1).unwrap_or_default().to_owned();
        self.add(format_args!(
            "{form} fill=\"{fill}\" stroke=\"{colour}\" stroke-width=\"1.8\">{note}</{name}>"
        ));
    }

    fn add(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a text can't fail.
        let _ = writeln!(self.text, "{element}");
    }
}

/// A coordinate with two decimals at most, and no minus before a zero.
fn round(value: f64) -> f64 {
    (value * 100.0).round() / 100.0 + 0.0
}

/// A text as it may stand in an element or an attribute; what XML can't hold is replaced.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_never_markup() {
        assert_eq!(
            escaped("a<b>&\"c\"'\u{1}\n\u{ffff}é"),
            "a&lt;b&gt;&amp;&quot;c&quot;&#39;\u{fffd}\u{fffd}\u{fffd}é"
        );
        let mut svg = Svg::new(10.0, 10.0, "</title><script>", "&");
        svg.begin("<g>");
        svg.mark((1.0, 1.0), Shape::Circle, INK, true, "\"><x>");
        svg.end();
        let text = svg.finish();
        assert!(!text.contains("<script>") && !text.contains("<x>") && text.contains("&lt;script&gt;"));
    }

    #[test]
    fn coordinates_are_short() {
        assert_eq!([1.0 / 3.0, -0.001, 2.0].map(|value| round(value).to_string()), ["0.33", "0", "2"]);
    }

    #[test]
    fn an_element_closes_as_it_opens() {
        let mut svg = Svg::new(10.0, 10.0, "", "");
        svg.mark((1.0, 1.0), Shape::Circle, INK, true, "a");
        svg.mark((1.0, 1.0), Shape::Cross, INK, false, "");
        let text = svg.finish();
        assert!(text.contains("<title>a</title></circle>") && text.contains("></polygon>"), "{text}");
    }
}
