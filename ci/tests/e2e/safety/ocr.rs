//! What a person would read in a picture.

use std::path::Path;
use std::process::Command;

use image::imageops::FilterType;

/// Letters and digits of a picture, as a reader sees them enlarged, and in negative.
pub fn read(picture: &Path) -> String {
    let seen = image::open(picture).expect("a picture").into_luma8();
    let (width, height) = seen.dimensions();
    let mut large = image::imageops::resize(&seen, width * 2, height * 2, FilterType::CatmullRom);
    let mut all = String::new();
    for negative in [false, true] {
        if negative {
            image::imageops::invert(&mut large);
        }
        let out = picture.with_extension("ocr.png");
        large.save(&out).expect("saved");
        let text = Command::new("tesseract")
            .arg(&out)
            .args(["-", "--psm", "11"])
            .env("OMP_THREAD_LIMIT", "1")
            .output()
            .expect("tesseract");
        let _ = std::fs::remove_file(&out);
        all.push_str(&String::from_utf8_lossy(&text.stdout));
    }
    plain(&all)
}

fn plain(text: &str) -> String {
    text.to_lowercase()
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect()
}

/// Any six letters in a row of a value are a leak: OCR drops one now and then.
pub fn shows(read: &str, value: &str) -> bool {
    let value = plain(value);
    value.as_bytes().windows(6).any(|piece| {
        let piece = std::str::from_utf8(piece).unwrap_or("");
        read.contains(piece)
    })
}
