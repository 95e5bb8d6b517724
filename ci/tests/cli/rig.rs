//! A suite in a temporary folder and the program run on it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

pub struct Suite {
    dir: TempDir,
}

pub struct Said {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

pub const SOUND: &str =
    "name: Sound\nstart: http://app.test/\nsteps:\n  - click: Sign in\nexpect: { see: Welcome }\n";

impl Suite {
    pub fn empty() -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir(dir.path().join("tmp")).expect("a folder");
        Self { dir }
    }

    /// One sound scenario, `sound`.
    pub fn new() -> Self {
        let suite = Self::empty();
        suite.file("scenarios/sound.yaml", SOUND);
        suite
    }

    pub fn with(id: &str, text: &str) -> Self {
        let suite = Self::empty();
        suite.file(&format!("scenarios/{id}.yaml"), text);
        suite
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn file(&self, path: &str, text: impl AsRef<[u8]>) -> &Self {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("a file");
        self
    }

    pub fn read(&self, path: &str) -> String {
        let path = self.path().join(path);
        fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    /// No driver on PATH, no credential and no model in the environment.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rehearsal"));
        command
            .args(args)
            .current_dir(self.path())
            .env_clear()
            .env("PATH", self.path().join("no-programs"))
            .env("HOME", self.path().join("tmp"))
            .env("TMPDIR", self.path().join("tmp"))
            .stdin(Stdio::null());
        command
    }

    pub fn say(&self, args: &[&str]) -> Said {
        said(self.command(args).output().expect("the program starts"))
    }

    /// Every file below the suite but the program's own temporary folder.
    pub fn files(&self) -> Vec<String> {
        fn walk(folder: &Path, base: &Path, into: &mut Vec<String>) {
            for entry in fs::read_dir(folder).expect("a folder").flatten() {
                let path = entry.path();
                if path.is_dir() && !path.is_symlink() {
                    walk(&path, base, into);
                } else {
                    let name = path.strip_prefix(base).expect("below");
                    into.push(name.to_string_lossy().into_owned());
                }
            }
        }
        let mut found = Vec::new();
        walk(self.path(), self.path(), &mut found);
        found.sort();
        found
    }
}

pub fn said(output: Output) -> Said {
    Said {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

impl Said {
    #[track_caller]
    pub fn code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}\n{}", self.out, self.err);
        self
    }

    /// Every word stands on standard error.
    #[track_caller]
    pub fn tells(self, words: &[&str]) -> Self {
        for word in words {
            assert!(self.err.contains(word), "`{word}` is not in:\n{}", self.err);
        }
        self
    }
}
