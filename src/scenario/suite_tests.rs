//! A folder of files.

use std::fs;
use std::path::Path;

use super::*;
use crate::text::render::one_line;

fn write(root: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

const GOOD: &str =
    "start: http://a.test/\ntags: [smoke]\nsteps: [ { click: A } ]\nexpect: { see: x }\n";

fn messages(suite: &Suite) -> Vec<String> {
    suite.problems.iter().map(one_line).collect()
}

#[test]
fn the_root_is_the_nearest_folder_upwards() {
    let dir = tempfile::tempdir().unwrap();
    write(
        dir.path(),
        &[("scenarios/a/b.yaml", GOOD), ("other/x.txt", "")],
    );
    assert_eq!(
        find_root(&dir.path().join("scenarios/a/b.yaml")).as_deref(),
        Some(dir.path())
    );
    assert_eq!(
        find_root(&dir.path().join("other")).as_deref(),
        Some(dir.path())
    );
}

#[test]
fn all_files_are_read_and_all_their_problems_reported() {
    let dir = tempfile::tempdir().unwrap();
    write(
        dir.path(),
        &[
            ("scenarios/b.yaml", GOOD),
            ("scenarios/a/c.yaml", GOOD),
            (
                "scenarios/bad.yaml",
                "start: http://a.test/\nstps: 1\ngoal: x\nfixtures: [sit]\nexpect: { see: x }\n",
            ),
            ("scenarios/worse.yaml", "a: [\n"),
            ("scenarios/empty.yaml", ""),
            (
                "scenarios/missing.yaml",
                "start: http://a.test/\ngoal: x\nfixtures: [sit]\nexpect: { see: $(repo) }\n",
            ),
            ("scenarios/old.yml", GOOD),
            ("fixtures/site.yaml", "serve: pages\n"),
        ],
    );
    let suite = Suite::load(dir.path());
    let ids: Vec<_> = suite.scenarios.iter().map(|s| s.id.as_str()).collect();
    assert_eq!(ids, ["a/c", "b"]);
    assert_eq!(
        messages(&suite),
        [
            "warning: scenarios/old.yml is not read",
            "scenarios/bad.yaml:2:1: error: unknown key `stps`",
            "scenarios/bad.yaml:4:12: error: there is no fixture `sit`",
            "scenarios/empty.yaml:1:1: error: the file is empty",
            "scenarios/missing.yaml:3:12: error: there is no fixture `sit`",
            "scenarios/missing.yaml:4:16: error: unknown variable `$(repo)`",
            "scenarios/worse.yaml:1:4: error: a `[` or `{` is not closed",
        ]
    );
    assert!(
        suite.problems[4]
            .help
            .as_ref()
            .unwrap()
            .contains("did you mean `site`?")
    );
    assert!(suite.has_errors());
}

#[test]
fn flows_are_checked_across_files() {
    let dir = tempfile::tempdir().unwrap();
    write(
        dir.path(),
        &[
            (
                "scenarios/a.yaml",
                "start: http://a.test/\nsteps:\n  - use: inn\n  - use: { flow: in, vars: { pag: x } }\n  - use: site\nexpect: { see: x }\n",
            ),
            (
                "fixtures/in.yaml",
                "credentials: [user]\nvars: { page: orders }\nsteps: [ { login: user } ]\n",
            ),
            ("fixtures/site.yaml", "serve: pages\n"),
            ("fixtures/one.yaml", "steps: [ { use: two } ]\n"),
            ("fixtures/two.yaml", "steps: [ { use: one } ]\n"),
        ],
    );
    assert_eq!(
        messages(&Suite::load(dir.path())),
        [
            "fixtures/two.yaml:1:10: error: these flows use each other in a circle: one → two → one",
            "scenarios/a.yaml:3:5: error: there is no fixture `inn`",
            "scenarios/a.yaml:4:5: error: the flow `in` has no variable `pag`",
            "scenarios/a.yaml:5:5: error: `site` is a server, not a flow",
        ]
    );
}

#[test]
fn scenarios_are_chosen_by_id_glob_path_and_tag() {
    let dir = tempfile::tempdir().unwrap();
    let slow = GOOD.replace("[smoke]", "[smoke, slow]");
    write(
        dir.path(),
        &[
            ("scenarios/a/one.yaml", GOOD),
            ("scenarios/a/two.yaml", &slow),
            ("scenarios/b.yaml", GOOD),
        ],
    );
    let suite = Suite::load(dir.path());
    let chosen = |names: &[&str], tags: &[&str]| {
        let all = |words: &[&str]| words.iter().map(|w| w.to_string()).collect();
        let (chosen, problems) = suite.select(&Selection {
            names: all(names),
            tags: all(tags),
        });
        (
            chosen.into_iter().map(|s| s.id.clone()).collect::<Vec<_>>(),
            problems.len(),
        )
    };
    assert_eq!(
        chosen(&[], &["!slow"]),
        (vec!["a/one".into(), "b".into()], 0)
    );
    assert_eq!(
        chosen(&["a/*"], &[]),
        (vec!["a/one".into(), "a/two".into()], 0)
    );
    assert_eq!(chosen(&["scenarios/b.yaml"], &[]), (vec!["b".into()], 0));
    assert_eq!(
        chosen(&["scenarios/a"], &["slow"]),
        (vec!["a/two".into()], 0)
    );
    let absolute = dir.path().join("scenarios/b.yaml");
    assert_eq!(
        chosen(&[absolute.to_str().unwrap()], &[]),
        (vec!["b".into()], 0)
    );
    assert_eq!(chosen(&["c"], &[]), (vec![], 1));
}

#[test]
fn a_suite_brings_its_own_words() {
    let dir = tempfile::tempdir().unwrap();
    write(
        dir.path(),
        &[
            (
                "lexicon/de.yaml",
                "forms: { click: [\"klicke auf {target}\"] }\n",
            ),
            (
                "lexicon/en.yaml",
                "forms: { click: [\"whack {target}\"] }\n",
            ),
            (
                "scenarios/a.yaml",
                "language: de\nstart: http://a.test/\nsteps: [ Klicke auf Sichern ]\nexpect: { see: x }\n",
            ),
            (
                "scenarios/b.yaml",
                "start: http://a.test/\nsteps: [ Whack Save, Click Save ]\nexpect: { see: x }\n",
            ),
            (
                "scenarios/c.yaml",
                "language: dee\nstart: http://a.test/\ngoal: x\nexpect: { see: x }\n",
            ),
        ],
    );
    let suite = Suite::load(dir.path());
    assert_eq!(suite.scenarios.len(), 2);
    assert_eq!(
        messages(&suite),
        ["scenarios/c.yaml:1:11: error: language: there is no lexicon `dee`"]
    );
}

#[test]
fn a_ten_megabyte_file_is_refused_without_reading_it() {
    let dir = tempfile::tempdir().unwrap();
    write(
        dir.path(),
        &[("scenarios/a.yaml", &"# x\n".repeat(2_621_440))],
    );
    assert_eq!(
        messages(&Suite::load(dir.path())),
        ["error: scenarios/a.yaml is too large: 10240 KiB, and 1024 KiB are the limit"]
    );
}
