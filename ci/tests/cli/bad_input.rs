//! Bad input: exit 2, before anything is started, with file, line, column and a fix.

use super::rig::{SOUND, Suite};

/// A bad scenario file: what it holds, and what the message must hold beside place and exit code.
struct Bad {
    what: &'static str,
    text: &'static str,
    place: &'static str,
    words: &'static [&'static str],
}

const BAD: &[Bad] = &[
    Bad {
        what: "an unknown key",
        text: "name: a\nstart: http://app.test/\nsteps:\n  - { click: Save, timout: 5s }\nexpect: { see: x }\n",
        place: "scenarios/bad.yaml:4:",
        words: &["timout", "timeout"],
    },
    Bad {
        what: "a duplicate key",
        text: "name: a\nname: b\nstart: http://app.test/\nsteps: [ { click: Save } ]\nexpect: { see: x }\n",
        place: "scenarios/bad.yaml:2:",
        words: &["name", "twice"],
    },
    Bad {
        what: "a wrong type",
        text: "name: a\nstart: http://app.test/\ntags: { a: b }\nsteps: [ { click: Save } ]\nexpect: { see: x }\n",
        place: "scenarios/bad.yaml:3:7",
        words: &["tags", "list"],
    },
    Bad {
        what: "a tab",
        text: "name: a\nstart: http://app.test/\nsteps:\n\t- click: Save\nexpect: { see: x }\n",
        place: "scenarios/bad.yaml:4:1",
        words: &["tab", "blanks"],
    },
    Bad {
        what: "lost indentation",
        text: "name: a\nstart: http://app.test/\nsteps:\n  - fill: Code\n  - with: x\nexpect: { see: x }\n",
        place: "scenarios/bad.yaml:",
        words: &["with"],
    },
    Bad {
        what: "an alias bomb",
        text: "a: &a [x, x, x]\nb: &b [*a, *a, *a]\nc: &c [*b, *b, *b]\nd: [*c, *c, *c]\n",
        place: "scenarios/bad.yaml:1:",
        words: &["anchor"],
    },
    Bad {
        what: "an empty file",
        text: "",
        place: "scenarios/bad.yaml",
        words: &["empty"],
    },
    Bad {
        what: "a missing fixture",
        text: "name: a\nfixtures: [no-such-site]\nstart: http://app.test/\nsteps: [ { click: Save } ]\nexpect: { see: x }\n",
        place: "scenarios/bad.yaml:2:12",
        words: &["no-such-site", "fixtures/"],
    },
    Bad {
        what: "a host that is not allowed",
        text: "name: a\nstart: http://app.test/\nsteps: [ { goto: \"http://elsewhere.test/\" } ]\nexpect: { see: x }\n",
        place: "scenarios/bad.yaml:3:",
        words: &["elsewhere.test", "hosts"],
    },
    Bad {
        what: "an unknown variable",
        text: "name: a\nstart: http://app.test/\nvars: { repo: demo }\nsteps: [ { click: \"Open $(rebo)\" } ]\nexpect: { see: x }\n",
        place: "scenarios/bad.yaml:4:",
        words: &["rebo", "repo"],
    },
    Bad {
        what: "a credential that is not listed",
        text: "name: a\nstart: http://app.test/\nsteps: [ { login: shop-user } ]\nexpect: { see: x }\n",
        place: "scenarios/bad.yaml:3:",
        words: &["shop-user", "credentials"],
    },
    Bad {
        what: "a `write` that is no sentence",
        text: "name: a\nstart: http://app.test/\nsteps: [ { click: Save, write: yes } ]\nexpect: { see: x }\n",
        place: "scenarios/bad.yaml:3:",
        words: &["write"],
    },
    Bad {
        what: "a scheme that is no page's",
        text: "name: a\nstart: file:///etc/hostname\nsteps: [ { click: Save } ]\nexpect: { see: x }\n",
        place: "scenarios/bad.yaml:2:8",
        words: &["file"],
    },
    Bad {
        what: "a time zone nobody knows",
        text: "name: a\nstart: http://app.test/\ntime_zone: Europe/Roma\nsteps: [ { click: Save } ]\nexpect: { see: x }\n",
        place: "scenarios/bad.yaml:3:12",
        words: &["Europe/Roma", "Europe/Rome"],
    },
    Bad {
        what: "a locale that is no tag",
        text: "name: a\nstart: http://app.test/\nlocale: xx_notalocale!\nsteps: [ { click: Save } ]\nexpect: { see: x }\n",
        place: "scenarios/bad.yaml:3:9",
        words: &["xx_notalocale!", "en-GB"],
    },
];

#[test]
fn bad_files_are_errors_with_place_and_fix() {
    for bad in BAD {
        let suite = Suite::with("bad", bad.text);
        for command in ["check", "run"] {
            let said = suite.say(&[command]);
            assert_eq!(said.code, Some(2), "{}: {}", bad.what, said.err);
            assert!(
                said.err.contains(bad.place),
                "{} at {}: {}",
                bad.what,
                bad.place,
                said.err
            );
            for word in bad.words {
                let (err, word) = (said.err.to_lowercase(), word.to_lowercase());
                assert!(
                    err.contains(&word),
                    "{}: no `{word}` in {}",
                    bad.what,
                    said.err
                );
            }
            assert!(!said.err.contains("panicked"), "{}", said.err);
        }
        assert!(
            !suite.path().join("runs").exists(),
            "{}: nothing was begun",
            bad.what
        );
    }
}

#[test]
fn all_files_are_told_about_at_once() {
    let suite = Suite::new();
    for name in ["one", "two", "three"] {
        suite.file(
            &format!("scenarios/{name}.yaml"),
            SOUND.replace("click", "clack"),
        );
    }
    suite.say(&["check"]).code(2).tells(&[
        "scenarios/one.yaml:4:",
        "scenarios/two.yaml:4:",
        "scenarios/three.yaml:4:",
        "3 errors",
    ]);
}

#[test]
fn a_huge_file_is_refused_by_its_size() {
    let suite = Suite::with(
        "bad",
        &format!("name: a\n# {}\n", "x".repeat(10 * 1024 * 1024)),
    );
    suite
        .say(&["check"])
        .code(2)
        .tells(&["scenarios/bad.yaml", "too large"]);
}

#[test]
fn bytes_that_are_no_text_are_refused_by_their_place() {
    let suite = Suite::empty();
    suite.file("scenarios/bad.yaml", b"name: caf\xe9\n");
    suite
        .say(&["check"])
        .code(2)
        .tells(&["scenarios/bad.yaml", "UTF-8"]);
}

#[test]
fn carriage_returns_and_a_byte_order_mark_are_no_errors() {
    let suite = Suite::with("crlf", &SOUND.replace('\n', "\r\n"));
    suite.file("scenarios/bom.yaml", format!("\u{feff}{SOUND}"));
    let said = suite.say(&["check"]).code(0);
    assert!(said.out.contains("2 scenarios"), "{}", said.out);
}

#[test]
fn an_unset_credential_is_told_before_any_browser() {
    let text = "name: a\nstart: http://app.test/\ncredentials: [shop-user]\nsteps: [ { login: shop-user } ]\nexpect: { see: x }\n";
    let suite = Suite::with("signs-in", text);
    suite
        .say(&["run"])
        .code(2)
        .tells(&["shop-user", "SHOP_USER_PASSWORD", "credentials add"]);
    assert!(!suite.path().join("runs").exists());
}

#[test]
fn nothing_selected_is_a_usage_error() {
    let suite = Suite::new();
    suite.say(&["run", "--tag", "no-such-tag"]).code(2);
    suite
        .say(&["run", "sund"])
        .code(2)
        .tells(&["sund", "sound"]);
    suite
        .say(&["check", "sund"])
        .code(2)
        .tells(&["sund", "sound"]);
    let empty = Suite::empty();
    empty.file("rehearsal.toml", "");
    empty.say(&["run"]).code(2);
}

#[test]
fn bad_options_say_how_they_are_written() {
    let suite = Suite::new();
    for (args, words) in [
        (&["--shard", "4/3"][..], &["shard"][..]),
        (&["--shard", "x"], &["shard", "1/3"]),
        (&["--var", "repo"], &["--var", "name=value"]),
        (&["--var", "repo=demo"], &["repo"]),
        (&["--confirm", "no-such"], &["no-such"]),
        (&["--jobs", "many"], &["--jobs"]),
        (&["--min-rate", "0.9"], &["--repeat"]),
        (&["--locked", "--fresh"], &["--fresh"]),
        (&["--browser", "lynx"], &["lynx", "chromium"]),
        (&["--jobs", "0"], &["--jobs"]),
        (&["--repeat", "0"], &["--repeat"]),
        (
            &["--repeat", "2", "--min-rate", "2"],
            &["--min-rate", "0.9"],
        ),
        (&["--repeat", "2", "--min-rate", "NaN"], &["--min-rate"]),
        (
            &["--replay-model", "no-such"],
            &["--replay-model", "no-such"],
        ),
        (&[""], &["empty", "variable"]),
        (&["sound", ""], &["empty"]),
        (&["--tag", ""], &["empty"]),
        (&["--tag", "!"], &["empty"]),
        (&["--no-such-option"], &["--no-such-option"]),
        (&["--suite", "no-such-folder"], &["no-such-folder"]),
    ] {
        let mut all = vec!["run"];
        all.extend(args);
        suite.say(&all).code(2).tells(words);
    }
}

#[test]
fn settings_are_checked_like_scenarios() {
    let suite = Suite::new();
    suite.file("rehearsal.toml", "[run]\njbos = 2\n");
    suite
        .say(&["check"])
        .code(2)
        .tells(&["rehearsal.toml:2:", "jbos", "jobs"]);
    for (text, place, words) in [
        (
            "volatile = [\n  \"/(/\",\n]\n",
            ":2:",
            &["volatile", "/(/"][..],
        ),
        ("volatile = [\"/x*/\"]\n", ":1:", &["fits nothing at all"]),
        (
            "mask = [ { text = \"/(/\", as = \"x\" } ]\n",
            ":1:",
            &["mask"],
        ),
        (
            "[credentials.foo]\norigin = \"nope\"\n",
            ":2:",
            &["credentials.foo.origin"],
        ),
        (
            "[model]\nbase_url = \"ftp://x\"\n",
            ":2:",
            &["model.base_url", "ftp"],
        ),
        (
            "[model]\nbase_url = \"http://example.com/v1\"\n",
            ":2:",
            &["https"],
        ),
        ("[model]\nmax_tokens = 9\n", ":2:", &["max_tokens"]),
        ("[model]\ntimeout = \"0s\"\n", ":2:", &["model.timeout"]),
        ("[browser]\nname = \"lynx\"\n", ":2:", &["lynx", "chromium"]),
        (
            "[browser]\nviewport = \"1x1\"\n",
            ":2:",
            &["1x1", "1280x800"],
        ),
        (
            "[browser]\ntime_zone = \"Mars/Olympus\"\n",
            ":2:",
            &["Mars/Olympus"],
        ),
        (
            "[browser]\nlocale = \"en_GB\"\n",
            ":2:",
            &["en_GB", "en-GB"],
        ),
        (
            "[browser]\nwebdriver = \"here\"\n",
            ":2:",
            &["browser.webdriver"],
        ),
        (
            "[network]\nupstream = \"socks://x\"\n",
            ":2:",
            &["upstream"],
        ),
        (
            "[network]\nca_file = \"absent.pem\"\n",
            ":2:",
            &["absent.pem"],
        ),
        (
            "[network]\nbind = \"0.0.0.0\"\n",
            ":2:",
            &["network.bind", "0.0.0.0", "10.0.0.5"],
        ),
        ("[run]\njobs = 0\n", ":2:", &["run.jobs"]),
    ] {
        suite.file("rehearsal.toml", text);
        for args in [&["check"][..], &["run", "--dry"]] {
            let said = suite.say(args).code(2).tells(words);
            let place = format!("rehearsal.toml{place}");
            assert!(said.err.contains(&place), "{place}: {}", said.err);
            assert!(said.err.contains("1 error"), "once: {}", said.err);
        }
    }
    for line in [
        "[network]\nupstream = \"socks://u:Kelpie77@x\"",
        "[model]\nbase_url = \"ftp://u:Kelpie77@x\"",
    ] {
        suite.file("rehearsal.toml", line);
        let said = suite.say(&["check"]).code(2).tells(&["rehearsal.toml:2:"]);
        assert!(!said.err.contains("Kelpie"), "{}", said.err);
    }
    suite.file("rehearsal.toml", "[credentials.foo]\npassword = \"x\"\n");
    suite
        .say(&["check"])
        .code(2)
        .tells(&["password", "1 error"]);
}

#[test]
fn variables_of_the_environment_are_checked_like_settings() {
    let suite = Suite::new();
    for (name, value) in [
        ("REHEARSAL_JOBS", "abc"),
        ("REHEARSAL_RETRIES", "-1"),
        ("REHEARSAL_UPSTREAM", "here"),
        ("REHEARSAL_NETWORK_MODE", "off"),
    ] {
        for args in [&["check"][..], &["run", "--dry"], &["doctor"]] {
            let mut command = suite.command(args);
            let output = command.env(name, value).output().expect("it starts");
            super::rig::said(output).code(2).tells(&[name]);
        }
    }
}

/// What stands there under a scenario's name and can't be read is told, never passed over.
#[test]
fn links_that_lead_nowhere_and_pipes_are_told() {
    use std::os::unix::fs::symlink;
    let pipe = |path: &std::path::Path| {
        let made = std::process::Command::new("mkfifo").arg(path).status();
        assert!(made.expect("mkfifo").success());
    };
    let suite = Suite::new();
    let at = |name: &str| suite.path().join("scenarios").join(name);
    symlink("loop.yaml", at("loop.yaml")).expect("a link");
    symlink("/no/such/place", at("dangling.yaml")).expect("a link");
    pipe(&at("pipe.yaml"));
    for args in [&["check"][..], &["run", "--dry"]] {
        suite.say(args).code(2).tells(&[
            "scenarios/loop.yaml can't be read",
            "scenarios/dangling.yaml can't be read: it is a link to /no/such/place",
            "scenarios/pipe.yaml can't be read: it is not a regular file",
        ]);
    }
    let linked = Suite::new();
    linked.file("elsewhere/more.yaml", SOUND);
    symlink(
        linked.path().join("elsewhere"),
        linked.path().join("scenarios/elsewhere"),
    )
    .expect("a link");
    linked
        .say(&["check"])
        .code(0)
        .tells(&["scenarios/elsewhere", "is not read", "1 warning"]);
    for settings in ["dangling", "pipe"] {
        let suite = Suite::new();
        let path = suite.path().join("rehearsal.toml");
        match settings {
            "pipe" => pipe(&path),
            _ => symlink("/no/such/place", &path).expect("a link"),
        }
        suite
            .say(&["check"])
            .code(2)
            .tells(&["rehearsal.toml can't be read"]);
    }
}

#[test]
fn a_folder_without_a_suite_says_how_to_make_one() {
    let nowhere = Suite::empty();
    for command in ["run", "check", "accept", "review"] {
        nowhere.say(&[command]).code(2).tells(&["rehearsal init"]);
    }
}

#[test]
fn r12_a_secret_is_no_argument_and_not_echoed() {
    let suite = Suite::new();
    let said = suite
        .say(&[
            "credentials",
            "add",
            "shop-user",
            "--origin",
            "http://app.test",
            "--password",
            "hunter2-canary",
        ])
        .code(2);
    assert!(!said.err.contains("hunter2-canary"), "{}", said.err);
    let said = suite
        .say(&[
            "credentials",
            "add",
            "shop-user",
            "hunter2-canary",
            "--origin",
            "http://app.test",
        ])
        .code(2);
    assert!(!said.err.contains("hunter2-canary"), "{}", said.err);
}
