//! What a person would read in a picture.

use std::path::Path;
use std::process::Command;

/// Letters and digits of a picture, as a reader sees them at two sizes and in negative.
pub fn read(picture: &Path) -> String {
    let mut all = String::new();
    for more in [&[][..], &["-negate"][..]] {
        let out = picture.with_extension("ocr.png");
        let converted = Command::new("convert")
            .arg(picture)
            .args(["-resize", "200%", "-colorspace", "Gray"])
            .args(more)
            .arg(&out)
            .status()
            .expect("ImageMagick");
        assert!(converted.success());
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
