//! `rehearsal scan`: searches files for values of known credentials and for key-like text.

use crate::secrets::{Scanner, suspicious, suspicious_tree};

use super::args::ScanArgs;
use super::exit;
use super::known::known_secrets;
use super::say::Say;
use super::settings::Effective;

pub fn scan(args: &ScanArgs, say: &Say) -> i32 {
    // Without a suite only key-like text can be found, and the values the environment names.
    let effective = Effective::find(args.suite.as_deref()).ok();
    let (scrubber, known) = effective.as_ref().map(known_secrets).unwrap_or_default();
    let scanner = Scanner::new(&scrubber);
    let (mut files, mut bad) = (0, false);
    for path in &args.paths {
        if !path.exists() {
            return say.fail(
                exit::USAGE,
                &format!("{}: there is no such file or folder", path.display()),
            );
        }
        let report = if path.is_dir() {
            scanner.scan_tree(path)
        } else {
            match std::fs::read(path) {
                Ok(bytes) => {
                    let hits = scanner.scan_bytes(&path.to_string_lossy(), &bytes);
                    crate::secrets::ScanReport {
                        files: 1,
                        leaking: if hits.is_empty() {
                            Vec::new()
                        } else {
                            vec![(path.clone(), hits)]
                        },
                        unread: Vec::new(),
                    }
                }
                Err(error) => {
                    return say.fail(exit::ENVIRONMENT, &format!("{}: {error}", path.display()));
                }
            }
        };
        files += report.files;
        for (file, hits) in &report.leaking {
            bad = true;
            for hit in hits {
                say.line(&format!(
                    "LEAK     {}: {} as {} at byte {}",
                    file.display(),
                    hit.credential,
                    hit.form,
                    hit.offset
                ));
            }
        }
        for (file, why) in &report.unread {
            say.line(&format!("unread   {}: {why}", file.display()));
        }
        let key_like = if path.is_dir() {
            suspicious_tree(path).unwrap_or_default()
        } else {
            let text = std::fs::read_to_string(path).unwrap_or_default();
            suspicious(&text)
                .into_iter()
                .map(|s| (path.clone(), s))
                .collect()
        };
        for (file, found) in key_like {
            bad = true;
            say.line(&format!(
                "key-like {}:{}: {}",
                file.display(),
                found.line,
                found.kind
            ));
        }
    }
    say.line(&format!(
        "{files} files searched for {known} credentials and key-like text: {}",
        if bad { "found" } else { "clean" }
    ));
    if bad { exit::LEAK } else { exit::PASSED }
}
