//! A sheet of paper to draw on: metres to pixels, the elements of SVG, frame, grid, scale bar, legend, labels that do not
//! cover each other.

use super::outline::{Form, Outline};
use glam::DVec2;
use std::fmt::{Display, Write};

/// Room around the map for title, ticks and legend, px.
const LEFT: f64 = 58.0;
const TOP: f64 = 96.0;
const RIGHT: f64 = 206.0;
const BOTTOM: f64 = 64.0;
/// The longer side of the map, px, and the least of the other.
const LONG: f64 = 860.0;
const SHORT: f64 = 300.0;
/// Distance of lines in the legend, px.
const LINE: f64 = 19.0;

/// Text in which nothing is taken for markup.
pub(super) fn escaped(text: &str) -> String {
    let visible = text.chars().filter(|c| !c.is_control());
    visible.fold(String::new(), |mut out, c| {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\'' => out.push_str("&apos;"),
            '"' => out.push_str("&quot;"),
            other => out.push(other),
        }
        out
    })
}

/// A round number near a length: 1, 2 or 5 times a power of ten, at least as large.
pub(super) fn round_up(length: f64) -> f64 {
    let mut unit = 1e-6;
    while unit * 10.0 < length {
        unit *= 10.0;
    }
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|factor| factor * unit).find(|round| *round >= length).unwrap_or(unit)
}

/// A picture in the making.
pub(super) struct Sheet {
    svg: String,
    least: DVec2,
    most: DVec2,
    px_per_m: f64,
    /// Least and greatest corners of labels, px.
    labels: Vec<(DVec2, DVec2)>,
    legend_px: f64,
}

impl Sheet {
    /// A sheet that shows what is between two corners, m.
    pub(super) fn new(least: DVec2, most: DVec2) -> Self {
        let middle = 0.5 * (least + most);
        let px_per_m = LONG / (most - least).max_element();
        let half = 0.5 * (most - least).max(DVec2::splat(SHORT / px_per_m));
        let (least, most) = (middle - half, middle + half);
        Self { svg: String::new(), least, most, px_per_m, labels: Vec::new(), legend_px: TOP + 14.0 }
    }

    pub(super) fn px_per_m(&self) -> f64 {
        self.px_per_m
    }

    /// Where a place of the world is on the sheet.
    pub(super) fn px(&self, place: DVec2) -> DVec2 {
        DVec2::new(place.x - self.least.x, self.most.y - place.y) * self.px_per_m + DVec2::new(LEFT, TOP)
    }

    fn path(&self, places: &[DVec2]) -> String {
        let mut text = String::new();
        for place in places {
            let at = self.px(*place);
            _ = write!(text, "{}{:.1},{:.1}", if text.is_empty() { "" } else { " " }, at.x, at.y);
        }
        text
    }

    /// Adds an element as it is.
    pub(super) fn add(&mut self, element: impl Display) {
        _ = writeln!(self.svg, "{element}");
    }

    /// An outline, with what shows when one points at it.
    pub(super) fn outline(&mut self, form: &Form, style: &str, title: &str) {
        let title = if title.is_empty() { String::new() } else { format!("<title>{}</title>", escaped(title)) };
        match form {
            Form::Round(centre, radius_m) => {
                let (at, radius) = (self.px(*centre), radius_m * self.px_per_m);
                self.add(format_args!(
                    "<circle cx='{:.1}' cy='{:.1}' r='{radius:.1}' {style}>{title}</circle>",
                    at.x, at.y
                ));
            }
            Form::Polygon(corners) => {
                let points = self.path(corners);
                self.add(format_args!("<polygon points='{points}' {style}>{title}</polygon>"));
            }
        }
    }

    /// Many polygons as one, so that no seams show.
    pub(super) fn areas(&mut self, areas: &[Vec<DVec2>], style: &str) {
        let paths: Vec<String> = areas.iter().map(|corners| format!("M{}Z", self.path(corners))).collect();
        self.add(format_args!("<path d='{}' {style}/>", paths.join("")));
    }

    /// Lines that need not be joined.
    pub(super) fn lines(&mut self, lines: &[[DVec2; 2]], style: &str) {
        let paths: Vec<String> = lines.iter().map(|line| format!("M{}", self.path(line))).collect();
        self.add(format_args!("<path d='{}' fill='none' {style}/>", paths.join("")));
    }

    /// A line through places.
    pub(super) fn trail(&mut self, places: &[DVec2], style: &str) {
        let points = self.path(places);
        self.add(format_args!("<polyline points='{points}' fill='none' {style}/>"));
    }

    /// The shadow of an outline on a floor, with the light from the north-west.
    pub(super) fn shadow(&mut self, outline: &Outline, floor_m: f64) {
        let longest = 0.03 * (self.most - self.least).length();
        let shift = |height_m: f64| DVec2::new(1.0, -1.0) * (0.16 * (height_m - floor_m).max(0.0)).min(longest);
        let (low, high) = (shift(outline.bottom_m), shift(outline.top_m));
        match &outline.form {
            Form::Round(centre, radius_m) => {
                let width = 2.0 * radius_m * self.px_per_m;
                let style = format!("stroke='#1c2430' stroke-linecap='round' stroke-width='{width:.1}'");
                self.trail(&[*centre + low, *centre + high], &style);
            }
            Form::Polygon(corners) => {
                let swept = corners.iter().flat_map(|corner| [*corner + low, *corner + high]).collect();
                let swept = Form::Polygon(super::outline::hull(swept));
                self.outline(&swept, "fill='#1c2430'", "");
            }
        }
    }

    /// Writes at a place of the sheet, or as near to it as the map goes, unless another label is there.
    pub(super) fn label(&mut self, at: DVec2, text: &str, style: &str) {
        let half = DVec2::new(3.1 * text.chars().count() as f64 + 2.0, 7.0);
        let anchor = DVec2::new(if style.contains("middle") { 0.0 } else { half.x }, -4.0);
        let corner = DVec2::new(LEFT, TOP);
        let room = (self.most - self.least) * self.px_per_m - half;
        let centre = (at + anchor).min(corner + room).max(corner + half);
        let (at, least, most) = (centre - anchor, centre - half, centre + half);
        let covers = |(other_least, other_most): &(DVec2, DVec2)| {
            least.cmplt(*other_most).all() && other_least.cmplt(most).all()
        };
        if self.labels.iter().any(covers) {
            return;
        }
        self.labels.push((least, most));
        self.add(format_args!(
            "<text x='{:.1}' y='{:.1}' font-size='11' paint-order='stroke' stroke='#ffffff' stroke-opacity='0.75' \
             stroke-width='3' stroke-linejoin='round' {style}>{}</text>",
            at.x,
            at.y,
            escaped(text)
        ));
    }

    /// A rectangle over the whole map.
    pub(super) fn cover(&mut self, style: &str, title: &str) {
        let corners =
            [self.least, DVec2::new(self.most.x, self.least.y), self.most, DVec2::new(self.least.x, self.most.y)];
        self.outline(&Form::Polygon(corners.to_vec()), style, title);
    }

    /// Lines of the grid, and their numbers beside the map.
    pub(super) fn grid(&mut self) {
        let step = round_up(70.0 / self.px_per_m);
        let decimals = if step < 1.0 { 1 } else { 0 };
        for axis in 0..2 {
            let (from, to) = ((self.least[axis] / step).ceil() as i64, (self.most[axis] / step).floor() as i64);
            for number in from..=to {
                let value = number as f64 * step;
                let (mut a, mut b) = (self.least, self.most);
                (a[axis], b[axis]) = (value, value);
                let (p, q) = (self.px(a), self.px(b));
                let opacity = if number == 0 { 0.28 } else { 0.1 };
                self.lines(&[[a, b]], &format!("stroke='#1c2430' stroke-opacity='{opacity}' stroke-width='0.8'"));
                let (at, anchor) = match axis {
                    0 => (p.max(q) + DVec2::new(0.0, 16.0), "middle"),
                    _ => (p.min(q) + DVec2::new(-8.0, 4.0), "end"),
                };
                self.add(format_args!(
                    "<text x='{:.1}' y='{:.1}' font-size='11' fill='#6b7480' text-anchor='{anchor}'>{value:.decimals$}</text>",
                    at.x, at.y
                ));
            }
        }
    }

    /// A heading of the legend.
    pub(super) fn legend_heading(&mut self, text: &str) {
        let x = LEFT + (self.most - self.least).x * self.px_per_m + 20.0;
        let y = self.legend_px + if self.legend_px > TOP + 14.0 { 8.0 } else { 0.0 };
        self.add(format_args!("<text x='{x:.1}' y='{y:.1}' font-size='11' fill='#8a929c'>{}</text>", escaped(text)));
        self.legend_px = y + LINE;
    }

    /// A line of the legend: a swatch and words.
    pub(super) fn legend(&mut self, swatch: &str, text: &str) {
        let x = LEFT + (self.most - self.least).x * self.px_per_m + 20.0;
        let y = self.legend_px;
        self.add(format_args!("<rect x='{x:.1}' y='{:.1}' width='14' height='11' rx='2' {swatch}/>", y - 9.5));
        self.add(format_args!(
            "<text x='{:.1}' y='{y:.1}' font-size='12' fill='#2a323d'>{}</text>",
            x + 21.0,
            escaped(text)
        ));
        self.legend_px += LINE;
    }

    /// The picture, with frame, title and scale.
    pub(super) fn finish(mut self, title: &str, about: &str) -> String {
        let size = (self.most - self.least) * self.px_per_m;
        let width = LEFT + size.x + RIGHT;
        let height = (TOP + size.y + BOTTOM).max(self.legend_px + 20.0);
        self.cover("fill='none' stroke='#2a323d' stroke-width='1.2'", "");
        let bar_m = round_up(0.11 * size.x / self.px_per_m);
        let (bar, right, y) = (bar_m * self.px_per_m, LEFT + size.x, TOP + size.y + 40.0);
        self.add(format_args!(
            "<path d='M{:.1},{y:.1}v6h{bar:.1}v-6' fill='none' stroke='#2a323d' stroke-width='1.4'/>\n\
             <text x='{:.1}' y='{:.1}' font-size='12' fill='#2a323d' text-anchor='end'>{bar_m} m</text>\n\
             <text x='{LEFT}' y='{:.1}' font-size='11' fill='#6b7480'>x east, y north, in metres</text>\n\
             <path d='M{:.1},{:.1}l7,20l-7,-5l-7,5z' fill='#2a323d'/>\n\
             <text x='{:.1}' y='{:.1}' font-size='12' fill='#2a323d' text-anchor='middle'>N</text>",
            right - bar,
            right - bar - 10.0,
            y + 6.0,
            y + 6.0,
            right - 12.0,
            TOP - 42.0,
            right - 12.0,
            TOP - 8.0,
        ));
        format!(
            "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:.0} {height:.0}' width='{width:.0}' \
             height='{height:.0}' font-family='Helvetica, Arial, sans-serif'>\n<title>{title}</title>\n\
             <rect width='100%' height='100%' fill='#ffffff'/>\n\
             <clipPath id='map'><rect x='{LEFT}' y='{TOP}' width='{:.1}' height='{:.1}'/></clipPath>\n\
             <text x='{LEFT}' y='36' font-size='20' font-weight='bold' fill='#1c2430'>{title}</text>\n\
             {}{}</svg>\n",
            size.x,
            size.y,
            two_lines(about, ((size.x - 60.0) / 6.5) as usize),
            self.svg,
            title = escaped(title),
        )
    }
}

/// As many whole words as fit on two lines.
fn two_lines(text: &str, most: usize) -> String {
    let (mut lines, mut number) = ([String::new(), String::new()], 0);
    for word in text.split_whitespace() {
        if lines[number].chars().count() + word.chars().count() >= most {
            number += 1;
        }
        let Some(line) = lines.get_mut(number) else {
            lines[1].push_str(" …");
            break;
        };
        _ = write!(line, "{}{word}", if line.is_empty() { "" } else { " " });
    }
    let line = |(number, line): (usize, &String)| {
        let y = 58 + 17 * number;
        format!("<text x='{LEFT}' y='{y}' font-size='12.5' fill='#5b6470'>{}</text>\n", escaped(line))
    };
    lines.iter().enumerate().map(line).collect()
}
