use super::super::sample;
use super::*;

/// Writes samples to look at, where `REPORT_SAMPLES` names a folder.
#[test]
fn samples() {
    let Some(folder) = std::env::var_os("REPORT_SAMPLES") else {
        return;
    };
    let folder = std::path::PathBuf::from(folder);
    let options = Options::default();
    std::fs::write(
        folder.join("report.html"),
        render(&sample::journal(), &options),
    )
    .unwrap();
    std::fs::write(
        folder.join("large.html"),
        render(&sample::large(1000), &options),
    )
    .unwrap();
}
