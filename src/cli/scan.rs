//! `rehearsal scan`: searches files for values of known credentials and for key-like text.

use std::path::PathBuf;

use crate::secrets::{Scanner, Scrubber, Sources, Vault, suspicious, suspicious_tree};

use super::args::ScanArgs;
use super::exit;
use super::say::Say;
use super::settings::Effective;

pub fn scan(args: &ScanArgs, say: &Say) -> i32 {
    // Without a suite only key-like text can be found, and the values the environment names.
    let effective = Effective::find(args.suite.as_deref()).ok();
    let scrubber = Scrubber::new();
    let mut known = 0;
    if let Some(effective) = &effective {
        let suite = effective.suite();
        let vault =
            Vault::of_user(|name| std::env::var_os(name).map(PathBuf::from)).filter(Vault::exists);
        let mut sources = Sources::new(effective.file.credentials.clone()).vault(vault);
        let mut names: Vec<String> = suite
            .scenarios
            .iter()
            .flat_map(|s| s.credentials.iter().map(|c| c.value.clone()))
            .collect();
        names.sort();
        names.dedup();
        for name in names {
            sources.want(&name, "password");
            // A credential that can't be loaded can't be searched for; `doctor` says why.
            if let Ok(credential) = sources.load(&name) {
                credential.register(&scrubber);
                known += 1;
            }
        }
    }
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
