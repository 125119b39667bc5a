//! The few elements of SVG that a chart needs.

use std::fmt::Write;

/// A document under construction.
#[derive(Debug)]
pub struct Svg {
    text: String,
}

/// Where a text's given place is in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// At its start.
    Start,
    /// In its middle.
    Middle,
    /// At its end.
    End,
}

impl Anchor {
    fn word(self) -> &'static str {
        match self {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        }
    }
}

impl Svg {
    /// An empty document on a white fixture, in units of pixels.
    pub fn new(width: f64, height: f64) -> Self {
        let mut svg = Svg {
            text: String::new(),
        };
        svg.element(&format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" font-family="sans-serif">"#
        ));
        svg.element(r#"<rect width="100%" height="100%" fill="white"/>"#);
        svg
    }

    /// A straight line.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), colour: &str) {
        self.element(&format!(
            r#"<line x1="{:.1}" y1="{:.1}" x2="{:.1}" y2="{:.1}" stroke="{colour}"/>"#,
            from.0, from.1, to.0, to.1
        ));
    }

    /// Lines from point to point, and a mark on each point.
    pub fn path(&mut self, points: &[(f64, f64)], colour: &str, dashes: &str) {
        let places: Vec<_> = points
            .iter()
            .map(|(x, y)| format!("{x:.1},{y:.1}"))
            .collect();
        self.element(&format!(
            r#"<polyline points="{}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dashes}"/>"#,
            places.join(" ")
        ));
        for (x, y) in points {
            self.element(&format!(
                r#"<circle cx="{x:.1}" cy="{y:.1}" r="2.5" fill="{colour}"/>"#
            ));
        }
    }

    /// A text whose base line is at the place.
    pub fn text(&mut self, place: (f64, f64), anchor: Anchor, size: f64, text: &str) {
        let (x, y) = place;
        self.element(&format!(
            r##"<text x="{x:.1}" y="{y:.1}" text-anchor="{}" font-size="{size}" fill="#222">{}</text>"##,
            anchor.word(),
            escaped(text)
        ));
    }

    /// The document.
    pub fn finish(mut self) -> String {
        self.element("</svg>");
        self.text
    }

    fn element(&mut self, element: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{element}");
    }
}

/// The text with the characters replaced that mean something to XML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_holds_its_elements_and_escapes_texts() {
        let mut svg = Svg::new(10.0, 20.0);
        svg.text((1.0, 2.0), Anchor::End, 12.0, "a < b & c");
        svg.path(&[(0.0, 1.0), (2.0, 3.0)], "red", "");
        let text = svg.finish();
        assert!(text.starts_with("<svg ") && text.ends_with("</svg>\n"));
        assert!(text.contains("a &lt; b &amp; c"));
        assert!(text.contains(r#"points="0.0,1.0 2.0,3.0""#));
        assert_eq!(text.matches("<circle").count(), 2);
    }
}
