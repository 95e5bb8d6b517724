//! Comparing pictures as eyes do. Used only when asked for: fonts, smoothing and platforms differ, so
//! pictures are never part of what has to be equal (case 090).

use std::io::Cursor;

use image::{ImageFormat, ImageReader, Limits, RgbImage};

/// Difference of one pixel that nobody sees, 0 to 1.
const UNSEEN: f32 = 0.08;
/// Sizes that differ by so little are the same size.
const SIZE: u32 = 2;

/// How far two pictures are apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Likeness {
    /// Share of pixels that look different, 0 to 1, masked areas left out.
    Share(f32),
    /// Not the same picture at all.
    OtherSize { was: (u32, u32), is: (u32, u32) },
}

impl Likeness {
    /// Whether at most this share of the picture looks different.
    pub fn within(self, tolerance: f32) -> bool {
        matches!(self, Self::Share(share) if share <= tolerance)
    }
}

/// Compares two PNGs; `masks` are rectangles (x, y, width, height) that don't count.
pub fn compare(was: &[u8], is: &[u8], masks: &[[i32; 4]]) -> Result<Likeness, String> {
    let (was, is) = (decode(was)?, decode(is)?);
    let sizes = (was.dimensions(), is.dimensions());
    if sizes.0.0.abs_diff(sizes.1.0) > SIZE || sizes.0.1.abs_diff(sizes.1.1) > SIZE {
        return Ok(Likeness::OtherSize {
            was: sizes.0,
            is: sizes.1,
        });
    }
    let (width, height) = (sizes.0.0.min(sizes.1.0), sizes.0.1.min(sizes.1.1));
    let covered = |x: u32, y: u32| {
        masks.iter().any(|[left, top, w, h]| {
            let (x, y) = (i64::from(x), i64::from(y));
            let (left, top) = (i64::from(*left), i64::from(*top));
            x >= left && y >= top && x < left + i64::from(*w) && y < top + i64::from(*h)
        })
    };
    let (mut seen, mut different) = (0_u32, 0_u32);
    for y in 0..height {
        for x in 0..width {
            if covered(x, y) {
                continue;
            }
            seen += 1;
            different += u32::from(apart(&was, &is, x, y) > UNSEEN);
        }
    }
    Ok(Likeness::Share(if seen == 0 {
        0.0
    } else {
        different as f32 / seen as f32
    }))
}

fn decode(png: &[u8]) -> Result<RgbImage, String> {
    let mut reader = ImageReader::with_format(Cursor::new(png), ImageFormat::Png);
    let mut limits = Limits::default();
    limits.max_alloc = Some(512 << 20);
    reader.limits(limits);
    Ok(reader.decode().map_err(|e| e.to_string())?.into_rgb8())
}

/// A pixel against the best match within one pixel, both softened: a glyph's smoothing or a shift by
/// one pixel is no difference, a moved button is.
fn apart(was: &RgbImage, is: &RgbImage, x: u32, y: u32) -> f32 {
    let here = soft(was, i64::from(x), i64::from(y));
    let mut best = f32::MAX;
    for dy in -1..=1 {
        for dx in -1..=1 {
            let there = soft(is, i64::from(x) + dx, i64::from(y) + dy);
            best = best.min(distance(here, there));
            if best <= UNSEEN {
                return best;
            }
        }
    }
    best
}

/// Mean of the 3 × 3 pixels around.
fn soft(image: &RgbImage, x: i64, y: i64) -> [f32; 3] {
    let clip = |n: i64, size: u32| n.clamp(0, i64::from(size) - 1) as u32;
    let mut sum = [0.0; 3];
    for dy in -1..=1 {
        for dx in -1..=1 {
            let pixel = image.get_pixel(clip(x + dx, image.width()), clip(y + dy, image.height()));
            for (total, channel) in sum.iter_mut().zip(pixel.0) {
                *total += f32::from(channel) / 9.0;
            }
        }
    }
    sum
}

/// Weighted by how the eye sees brightness and colour (YIQ), 0 to 1.
fn distance(a: [f32; 3], b: [f32; 3]) -> f32 {
    let [r, g, b] = [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
    let y = 0.299 * r + 0.587 * g + 0.114 * b;
    let i = 0.596 * r - 0.274 * g - 0.322 * b;
    let q = 0.211 * r - 0.523 * g + 0.312 * b;
    ((0.5053 * y * y + 0.299 * i * i + 0.1957 * q * q) / (0.5053 * 255.0 * 255.0)).sqrt()
}
