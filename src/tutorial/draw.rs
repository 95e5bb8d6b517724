//! Drawing on pictures: outlines, numbers and dots, smooth at any size, with no font and no system.
//!
//! Every shape is a distance: a pixel's share is how deep it lies inside.

use image::imageops::FilterType;
use image::{ImageFormat, ImageReader, Limits, Rgb, RgbImage};
use std::io::Cursor;

use super::model::{Covered, Mark};

/// Crimson: rare on pages, clear on light and dark ones.
const ACCENT: [f32; 3] = [214.0, 32.0, 92.0];
const WHITE: [f32; 3] = [255.0, 255.0, 255.0];
/// Wider pictures are scaled down for reading.
const WIDTH: u32 = 1280;
/// Room between a control and its outline.
const AIR: f32 = 4.0;

/// A picture ready to be written, and where things lie on it now.
pub struct Drawn {
    pub png: Vec<u8>,
    pub width: u32,
    pub height: u32,
    pub scale: f32,
    /// Numbers of the marks that were drawn.
    pub marked: Vec<u32>,
}

/// Draws the marks on a frame. What was covered is covered once more, in the frame's own size, so that
/// neither scaling nor a frame that was touched shows it. Boxes that hold nothing (the page was scrolled since) are left out: an
/// outline around nothing misleads.
pub fn draw(png: &[u8], marks: &[Mark], covered: &[Covered]) -> Result<Drawn, String> {
    let mut reader = ImageReader::with_format(Cursor::new(png), ImageFormat::Png);
    let mut limits = Limits::default();
    limits.max_image_width = Some(20_000);
    limits.max_image_height = Some(20_000);
    limits.max_alloc = Some(512 << 20);
    reader.limits(limits);
    let mut original = reader.decode().map_err(|e| e.to_string())?.into_rgb8();
    covered.iter().for_each(|c| cover(&mut original, c.rect));
    let real: Vec<&Mark> = marks
        .iter()
        .filter(|m| holds_something(&original, m.rect))
        .collect();
    let scale = (WIDTH as f32 / original.width() as f32).min(1.0);
    let mut canvas = match scale < 1.0 {
        true => {
            let height = (original.height() as f32 * scale).round().max(1.0) as u32;
            image::imageops::resize(&original, WIDTH, height, FilterType::Lanczos3)
        }
        false => original,
    };
    // Found before anything is drawn: what lies there must be the page's.
    let places = badge_places(&canvas, &real, scale);
    real.iter()
        .for_each(|mark| outline(&mut canvas, mark, scale));
    real.iter().for_each(|mark| dot(&mut canvas, mark, scale));
    real.iter()
        .zip(places)
        .for_each(|(mark, place)| badge(&mut canvas, mark.number, place));
    let (width, height) = canvas.dimensions();
    let mut out = Vec::new();
    canvas
        .write_to(&mut Cursor::new(&mut out), ImageFormat::Png)
        .map_err(|e| e.to_string())?;
    Ok(Drawn {
        png: out,
        width,
        height,
        scale,
        marked: real.iter().map(|m| m.number).collect(),
    })
}

/// The colour of covers on frames.
const COVER: Rgb<u8> = Rgb([32, 33, 36]);

fn cover(image: &mut RgbImage, [x, y, w, h]: [i32; 4]) {
    let clip = |n: i32, size: u32| n.clamp(0, size as i32) as u32;
    let (left, right) = (
        clip(x, image.width()),
        clip(x.saturating_add(w), image.width()),
    );
    let (top, bottom) = (
        clip(y, image.height()),
        clip(y.saturating_add(h), image.height()),
    );
    for y in top..bottom {
        (left..right).for_each(|x| image.put_pixel(x, y, COVER));
    }
}

/// Whether a control may lie there: inside the picture, and not one single colour.
fn holds_something(image: &RgbImage, [x, y, w, h]: [i32; 4]) -> bool {
    let (width, height) = (image.width() as i32, image.height() as i32);
    let (left, top) = ((x - 1).max(0), (y - 1).max(0));
    let (right, bottom) = (
        x.saturating_add(w).saturating_add(1).min(width),
        y.saturating_add(h).saturating_add(1).min(height),
    );
    if w <= 0 || h <= 0 || right - left < 3 || bottom - top < 3 {
        return false;
    }
    let first = *image.get_pixel(left as u32, top as u32);
    (top..bottom).any(|y| (left..right).any(|x| *image.get_pixel(x as u32, y as u32) != first))
}

fn outline(canvas: &mut RgbImage, mark: &Mark, scale: f32) {
    let (cx, cy, hw, hh) = around(canvas, mark, scale);
    let radius = 8.0_f32.min(hw).min(hh);
    let edge = move |x: f32, y: f32| {
        let (dx, dy) = ((x - cx).abs() - hw + radius, (y - cy).abs() - hh + radius);
        let outside = (dx.max(0.0).powi(2) + dy.max(0.0).powi(2)).sqrt();
        outside + dx.max(dy).min(0.0) - radius
    };
    let area = (cx - hw - 8.0, cy - hh - 8.0, cx + hw + 8.0, cy + hh + 8.0);
    // A white halo keeps the line visible on pages of its own colour.
    fill(canvas, area, WHITE, 0.85, |x, y| edge(x, y).abs() - 3.2);
    fill(canvas, area, ACCENT, 1.0, |x, y| edge(x, y).abs() - 1.6);
}

/// Centre and half sizes.
type Frame = (f32, f32, f32, f32);

/// The outline's place, kept inside the picture.
fn around(canvas: &RgbImage, mark: &Mark, scale: f32) -> Frame {
    let [x, y, w, h] = mark.rect.map(|n| n as f32 * scale);
    let (width, height) = (canvas.width() as f32, canvas.height() as f32);
    let left = (x - AIR).clamp(2.0, width - 2.0);
    let top = (y - AIR).clamp(2.0, height - 2.0);
    let right = (x + w + AIR).clamp(left, width - 2.0);
    let bottom = (y + h + AIR).clamp(top, height - 2.0);
    (
        (left + right) / 2.0,
        (top + bottom) / 2.0,
        (right - left) / 2.0,
        (bottom - top) / 2.0,
    )
}

fn dot(canvas: &mut RgbImage, mark: &Mark, scale: f32) {
    let Some([x, y]) = mark.point else { return };
    let (x, y) = (x as f32 * scale, y as f32 * scale);
    // The halo shows the place, the small middle leaves the label readable.
    disc(canvas, x, y, 10.0, ACCENT, 0.22);
    disc(canvas, x, y, 4.2, WHITE, 0.9);
    disc(canvas, x, y, 3.0, ACCENT, 1.0);
}

/// Radius of a badge, and of the white ring around it.
const RADIUS: f32 = 12.0;
const RING: f32 = RADIUS + 1.8;

/// Where each number stands: outside its control and where it covers least of the page, never nearer
/// to another one. The left side comes first: labels stand above a control more often than before it.
fn badge_places(page: &RgbImage, marks: &[&Mark], scale: f32) -> Vec<(f32, f32)> {
    let boxes: Vec<Frame> = marks.iter().map(|m| around(page, m, scale)).collect();
    let mut taken: Vec<(f32, f32)> = Vec::new();
    for own in &boxes {
        let (width, height) = (page.width() as f32, page.height() as f32);
        let inside = |(x, y): (f32, f32)| {
            (
                x.clamp(RING, (width - RING).max(RING)),
                y.clamp(RING, (height - RING).max(RING)),
            )
        };
        let cost = |&(x, y): &(f32, f32)| {
            let near = distance((x, y), own);
            let clashes = [
                usize::from(near < RING - AIR),
                boxes
                    .iter()
                    .filter(|b| *b != own && distance((x, y), b) <= near)
                    .count(),
                taken
                    .iter()
                    .filter(|b| (x - b.0).hypot(y - b.1) < 2.0 * RING)
                    .count(),
            ];
            (clashes.into_iter().sum::<usize>(), ink(page, x, y) / 8)
        };
        taken.extend(around_it(own).map(inside).into_iter().min_by_key(cost));
    }
    taken
}

/// From a point to an outline; none inside it.
fn distance((x, y): (f32, f32), (cx, cy, hw, hh): &Frame) -> f32 {
    let (dx, dy) = ((x - cx).abs() - hw, (y - cy).abs() - hh);
    dx.max(0.0).hypot(dy.max(0.0))
}

/// Places that touch an outline from outside, the best first.
fn around_it(&(cx, cy, hw, hh): &Frame) -> [(f32, f32); 8] {
    const OUT: f32 = RADIUS - 1.0;
    let (left, right, top, bottom) = (cx - hw - OUT, cx + hw + OUT, cy - hh - OUT, cy + hh + OUT);
    let beside = (cy - hh + RADIUS + 4.0).min(cy);
    // Along the edge, but not past its middle.
    let (start, end) = ((cx - hw + OUT).min(cx), (cx + hw - OUT).max(cx));
    [
        (left, beside),
        (left, top),
        (start, top),
        (start, bottom),
        (right, beside),
        (right, top),
        (end, top),
        (end, bottom),
    ]
}

/// How many pixels under a badge differ from their neighbour: letters, lines, pictures.
fn ink(page: &RgbImage, cx: f32, cy: f32) -> u32 {
    const SEEN: u8 = 24;
    let (x0, y0) = ((cx - RING).max(0.0) as u32, (cy - RING).max(0.0) as u32);
    let (x1, y1) = (
        ((cx + RING) as u32).min(page.width() - 1),
        ((cy + RING) as u32).min(page.height() - 1),
    );
    let mut count = 0;
    for y in y0..y1 {
        for x in x0..x1 {
            let Rgb(here) = page.get_pixel(x, y);
            let differs = |other: &Rgb<u8>| (0..3).any(|i| here[i].abs_diff(other.0[i]) > SEEN);
            if differs(page.get_pixel(x + 1, y)) || differs(page.get_pixel(x, y + 1)) {
                count += 1;
            }
        }
    }
    count
}

fn badge(canvas: &mut RgbImage, number: u32, (x, y): (f32, f32)) {
    disc(canvas, x, y, RING, WHITE, 1.0);
    disc(canvas, x, y, RADIUS, ACCENT, 1.0);
    let digits: Vec<u32> = number
        .to_string()
        .chars()
        .filter_map(|c| c.to_digit(10))
        .collect();
    let (size, step) = if digits.len() > 1 {
        (9.0, 7.0)
    } else {
        (11.0, 0.0)
    };
    let first = x - step * (digits.len() as f32 - 1.0) / 2.0;
    for (i, digit) in digits.into_iter().enumerate() {
        glyph(canvas, digit, first + step * i as f32, y, size);
    }
}

fn disc(canvas: &mut RgbImage, cx: f32, cy: f32, radius: f32, colour: [f32; 3], strength: f32) {
    let r = radius + 1.0;
    fill(
        canvas,
        (cx - r, cy - r, cx + r, cy + r),
        colour,
        strength,
        |x, y| (x - cx).hypot(y - cy) - radius,
    );
}

/// A digit as strokes in a box of 0.6 by 1, centred at `(cx, cy)`.
fn glyph(canvas: &mut RgbImage, digit: u32, cx: f32, cy: f32, size: f32) {
    let lines = strokes(digit);
    let distance = |x: f32, y: f32| {
        let (x, y) = ((x - cx) / size + 0.3, (y - cy) / size + 0.5);
        let of_line = |line: &Vec<(f32, f32)>| {
            line.windows(2)
                .map(|ab| to_segment((x, y), ab[0], ab[1]))
                .fold(f32::MAX, f32::min)
        };
        lines.iter().map(of_line).fold(f32::MAX, f32::min) * size - size * 0.085
    };
    let (w, h) = (size * 0.5, size * 0.7);
    fill(
        canvas,
        (cx - w, cy - h, cx + w, cy + h),
        WHITE,
        1.0,
        distance,
    );
}

fn to_segment(p: (f32, f32), a: (f32, f32), b: (f32, f32)) -> f32 {
    let (vx, vy) = (b.0 - a.0, b.1 - a.1);
    let along = ((p.0 - a.0) * vx + (p.1 - a.1) * vy) / (vx * vx + vy * vy).max(1e-6);
    let along = along.clamp(0.0, 1.0);
    (p.0 - a.0 - along * vx).hypot(p.1 - a.1 - along * vy)
}

/// Part of an ellipse, angles in turns from the right, clockwise.
fn arc(cx: f32, cy: f32, rx: f32, ry: f32, from: f32, to: f32) -> Vec<(f32, f32)> {
    let at = |i: u32| {
        let angle = (from + (to - from) * i as f32 / 16.0) * std::f32::consts::TAU;
        (cx + rx * angle.cos(), cy + ry * angle.sin())
    };
    (0..=16).map(at).collect()
}

fn strokes(digit: u32) -> Vec<Vec<(f32, f32)>> {
    match digit {
        0 => vec![arc(0.3, 0.5, 0.27, 0.48, 0.0, 1.0)],
        1 => vec![vec![(0.12, 0.18), (0.34, 0.02), (0.34, 0.98)]],
        2 => {
            let mut line = arc(0.3, 0.29, 0.26, 0.27, 0.5, 1.1);
            line.extend([(0.04, 0.97), (0.58, 0.97)]);
            vec![line]
        }
        3 => vec![
            arc(0.28, 0.26, 0.24, 0.24, 0.55, 1.25),
            arc(0.28, 0.74, 0.27, 0.25, 0.75, 1.45),
        ],
        4 => vec![vec![(0.42, 0.98), (0.42, 0.02), (0.02, 0.70), (0.60, 0.70)]],
        5 => {
            let mut line = vec![(0.52, 0.02), (0.12, 0.02), (0.07, 0.45)];
            line.extend(arc(0.28, 0.67, 0.28, 0.31, 0.62, 1.42));
            vec![line]
        }
        6 => vec![
            arc(0.3, 0.68, 0.26, 0.29, 0.0, 1.0),
            vec![(0.44, 0.02), (0.2, 0.32), (0.06, 0.6)],
        ],
        7 => vec![vec![(0.03, 0.03), (0.57, 0.03), (0.22, 0.98)]],
        8 => vec![
            arc(0.3, 0.26, 0.22, 0.23, 0.0, 1.0),
            arc(0.3, 0.74, 0.27, 0.25, 0.0, 1.0),
        ],
        _ => vec![
            arc(0.3, 0.32, 0.26, 0.29, 0.0, 1.0),
            vec![(0.54, 0.4), (0.4, 0.68), (0.16, 0.98)],
        ],
    }
}

/// Mixes a colour in where the distance is negative; the edge is one pixel soft.
fn fill(
    canvas: &mut RgbImage,
    (x0, y0, x1, y1): (f32, f32, f32, f32),
    colour: [f32; 3],
    strength: f32,
    distance: impl Fn(f32, f32) -> f32,
) {
    let clip = |n: f32, max: u32| (n.max(0.0) as u32).min(max);
    let (x0, x1) = (
        clip(x0.floor(), canvas.width()),
        clip(x1.ceil() + 1.0, canvas.width()),
    );
    let (y0, y1) = (
        clip(y0.floor(), canvas.height()),
        clip(y1.ceil() + 1.0, canvas.height()),
    );
    for y in y0..y1 {
        for x in x0..x1 {
            let share = (0.5 - distance(x as f32 + 0.5, y as f32 + 0.5)).clamp(0.0, 1.0) * strength;
            if share > 0.0 {
                let Rgb(old) = *canvas.get_pixel(x, y);
                let mix = |i: usize| {
                    (f32::from(old[i]) * (1.0 - share) + colour[i] * share).round() as u8
                };
                canvas.put_pixel(x, y, Rgb([mix(0), mix(1), mix(2)]));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Letters of a label: black and white columns.
    fn letters(page: &mut RgbImage, [x, y, w, h]: [u32; 4]) {
        for (column, row) in (x..x + w).flat_map(|c| (y..y + h).map(move |r| (c, r))) {
            page.put_pixel(column, row, Rgb([if column % 4 < 2 { 0 } else { 255 }; 3]));
        }
    }

    fn mark(number: u32, rect: [i32; 4]) -> Mark {
        Mark {
            number,
            rect,
            point: None,
        }
    }

    #[test]
    fn a_number_covers_neither_its_control_nor_what_stands_beside_it() {
        for rect in [
            [8, 60, 90, 24],
            [8, 4, 90, 24],
            [60, 60, 90, 24],
            [0, 0, 40, 16],
            [300, 180, 100, 20],
            [0, 90, 400, 24],
        ] {
            let mut page = RgbImage::from_pixel(400, 200, Rgb([255; 3]));
            let own = rect.map(|n| n as u32);
            letters(&mut page, own);
            // A neighbour on the right, as in a row of buttons.
            if rect[0] + rect[2] < 290 {
                letters(&mut page, [own[0] + own[2] + 6, own[1], 90, own[3]]);
            }
            let one = mark(1, rect);
            let [(x, y)] = badge_places(&page, &[&one], 1.0)[..] else {
                panic!("one place")
            };
            assert_eq!(ink(&page, x, y), 0, "{rect:?}: {x} {y}");
        }
    }

    #[test]
    fn a_number_stands_nearest_to_its_own_control() {
        let mut page = RgbImage::from_pixel(400, 200, Rgb([255; 3]));
        // A label before the field, the button right behind it.
        letters(&mut page, [8, 86, 64, 16]);
        let marks = [mark(1, [76, 84, 180, 22]), mark(2, [260, 84, 40, 22])];
        let places = badge_places(&page, &marks.each_ref(), 1.0);
        let boxes = marks.each_ref().map(|m| around(&page, m, 1.0));
        assert!(
            distance(places[0], &boxes[0]) < distance(places[0], &boxes[1]),
            "{places:?}"
        );
        assert!(
            distance(places[1], &boxes[1]) < distance(places[1], &boxes[0]),
            "{places:?}"
        );
        assert!(places[0].0 < places[1].0, "{places:?}");
    }

    #[test]
    fn numbers_of_neighbours_do_not_cover_each_other() {
        let page = RgbImage::from_pixel(400, 200, Rgb([255; 3]));
        let marks = [
            mark(1, [60, 40, 200, 20]),
            mark(2, [60, 66, 200, 20]),
            mark(3, [60, 92, 200, 20]),
        ];
        let places = badge_places(&page, &marks.each_ref(), 1.0);
        for (i, a) in places.iter().enumerate() {
            for b in &places[i + 1..] {
                assert!((a.0 - b.0).hypot(a.1 - b.1) >= 2.0 * RADIUS, "{places:?}");
            }
        }
    }
}
