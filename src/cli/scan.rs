//! `rehearsal scan`: searches files for values of known credentials and for key-like text.

use crate::secrets::{Scanner, suspicious_tree};

use super::args::ScanArgs;
use super::exit;
use super::known::known_secrets;
use super::say::Say;
use super::settings::Effective;

pub fn scan(args: &ScanArgs, say: &Say) -> i32 {
    // Without a suite only key-like text can be found, and the values the environment names.
    let effective = match Effective::search(args.suite.as_deref()) {
        Ok(effective) => effective,
        Err(problems) => {
            say.problems(&problems);
            return exit::USAGE;
        }
    };
    let mut paths = Vec::new();
    for path in &args.paths {
        match path.canonicalize() {
            // Shown as it was given; a link to a file is followed.
            Ok(real) if real.is_dir() => paths.push(path.clone()),
            Ok(real) => paths.push(real),
            Err(error) => {
                let why = format!(
                    "{}: there is no such file or folder ({error})",
                    path.display()
                );
                return say.fail(exit::USAGE, &why);
            }
        }
    }
    let (scrubber, known) = effective.as_ref().map(known_secrets).unwrap_or_default();
    let scanner = Scanner::new(&scrubber);
    let (mut files, mut unread, mut bad) = (0, 0, false);
    for path in &paths {
        let report = match path.is_dir() {
            true => scanner.scan_tree(path),
            false => scanner.scan_file(path),
        };
        files += report.files;
        unread += report.unread.len();
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
        for (file, found) in suspicious_tree(path) {
            bad = true;
            say.line(&format!(
                "key-like {}:{}: {}",
                file.display(),
                found.line,
                found.kind
            ));
        }
    }
    // What was not looked into is not proven clean.
    let (verdict, code) = match (bad, unread) {
        (true, _) => ("found".to_owned(), exit::LEAK),
        (false, 0) => ("clean".to_owned(), exit::PASSED),
        (false, n) => (
            format!("clean as far as they could be read; {n} could not"),
            exit::ENVIRONMENT,
        ),
    };
    say.line(&format!(
        "{files} files searched for {known} credentials and key-like text: {verdict}"
    ));
    code
}
