//! Short values, the vault by its commands, values as arguments, the search on demand (R6, R11, R12,
//! cases 071 and 086).

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Output, Stdio};

use super::lab::{Lab, canary};
use super::stage::{LOGIN, Stage};

/// Runs `rehearsal credentials …` on a terminal of its own and types the answers. The terminal
/// itself is told not to echo first: what is typed before the program asks would show otherwise.
fn on_terminal(lab: &Lab, arguments: &str, answers: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_rehearsal");
    let from = lab.command();
    let mut command = Command::new("script");
    let line = format!("stty -echo; echo READY; exec '{program}' credentials {arguments}");
    command
        .args(["-qec", &line, "/dev/null"])
        .current_dir(lab.path("suite"))
        .env_clear()
        .envs(
            from.get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("a terminal");
    let mut out = BufReader::new(child.stdout.take().expect("its output"));
    let mut said = String::new();
    while !said.contains("READY") {
        assert!(out.read_line(&mut said).expect("a line") > 0, "{said}");
    }
    let mut keys = child.stdin.take().expect("its keys");
    for answer in answers {
        writeln!(keys, "{answer}").expect("typed");
    }
    let mut rest = Vec::new();
    out.read_to_end(&mut rest).expect("the rest");
    let mut output = child.wait_with_output().expect("it ends");
    output.stdout = [said.into_bytes(), rest].concat();
    output
}

#[test]
fn r11_r12_the_vault_by_its_commands_shows_no_value_and_serves_a_run() {
    let (first, second, user) = (canary(16), canary(16), "ada@example.test");
    let stage = Stage::open(&second);
    stage.page("*", "/login", &format!("<title>Sign in</title>{LOGIN}"));
    stage.page("*", "/home", "<title>Home</title><h1>Orders</h1>");
    let lab = Lab::on(&stage, &["shop.test"], true);
    let clean = |output: &Output| {
        let mut all = String::from_utf8_lossy(&output.stdout).into_owned();
        all.push_str(&String::from_utf8_lossy(&output.stderr));
        assert!(!all.contains(&first) && !all.contains(&second), "{all}");
        all
    };
    let added = on_terminal(&lab, "add shop --origin http://shop.test", &[user, &first]);
    let said = clean(&added);
    assert!(
        added.status.success() && said.contains("kept for http://shop.test"),
        "{said}"
    );
    let rotated = on_terminal(&lab, "rotate shop", &[&second]);
    let said = clean(&rotated);
    assert!(rotated.status.success(), "{said}");
    let list = lab
        .command()
        .args(["credentials", "list"])
        .output()
        .expect("a list");
    let said = clean(&list);
    assert!(said.contains("shop") && said.contains("password"), "{said}");
    // On disk: nothing in the clear, and nobody else may read it.
    let mut files = 0;
    for entry in walk(&lab) {
        let bytes = std::fs::read(&entry).expect("a file");
        let text = String::from_utf8_lossy(&bytes);
        assert!(
            !text.contains(&second) && !text.contains(&first),
            "{}",
            entry.display()
        );
        files += 1;
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(&entry)
            .expect("its mode")
            .permissions()
            .mode();
        assert_eq!(mode & 0o077, 0, "{} is {mode:o}", entry.display());
    }
    assert!(files >= 2, "vault and key");
    lab.scenario(
        "in",
        "start: http://shop.test/login\ncredentials: [shop]\nsteps:\n  - login: shop\nexpect: [ { see: Orders } ]\n",
    );
    let run = lab.run(&["--fresh"]);
    run.check(&[("in", "passed/completed")]);
    // Damage fails closed, before any browser, without quoting anything.
    let vault = walk(&lab)
        .into_iter()
        .find(|p| p.extension().is_some_and(|e| e == "age"))
        .expect("a vault file");
    let mut bytes = std::fs::read(&vault).expect("a vault");
    let last = bytes.len() - 5;
    bytes[last] ^= 1;
    std::fs::write(&vault, bytes).expect("written");
    let run = lab.run(&["--fresh"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(
        !run.browser_seen && !run.stderr.contains(&second),
        "{}",
        run.stderr
    );
}

fn walk(lab: &Lab) -> Vec<std::path::PathBuf> {
    let mut all = Vec::new();
    let mut folders = vec![lab.path("home"), lab.path("state")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.path().is_dir() {
                true => folders.push(entry.path()),
                false => all.push(entry.path()),
            }
        }
    }
    all
}

#[test]
fn r12_a_value_as_an_argument_is_refused_and_not_repeated() {
    let lab = Lab::new();
    let value = canary(16);
    for arguments in [
        vec![
            "add",
            "shop",
            "--origin",
            "http://shop.test",
            "--password",
            &value,
        ],
        vec![
            "add",
            "shop",
            "--origin",
            "http://shop.test",
            &format!("--password={value}"),
        ],
        vec!["add", "shop", &value, "--origin", "http://shop.test"],
        vec!["rotate", "shop", &value],
        vec!["rotate", "shop", "-p", &value],
    ] {
        let output = lab
            .command()
            .arg("credentials")
            .args(&arguments)
            .output()
            .expect("the program");
        let said = format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(!said.contains(&value), "{said}");
        assert!(said.contains("argument"), "{said}");
    }
}

#[test]
fn case_071_a_short_secret_is_hidden_in_its_field_and_spoils_nothing() {
    let stage = Stage::open("");
    let mut lab = Lab::on(&stage, &["site.test"], true);
    lab.credential("harbour", "http://site.test", "ada", "47");
    lab.scenario(
        "berth",
        "start: http://site.test/pages/071-short-secret-overmatch.html\ncredentials: [harbour]\nsteps:\n  - { fill: PIN, credential: harbour.password }\n  - click: Berth 47\nexpect: [ { see: berth 47 }, { see: \"price 47.47\" } ]\n",
    );
    let run = lab.run(&["--fresh", "--steps"]);
    run.check(&[("berth", "passed/completed")]);
    let warned = run.events.iter().any(|e| {
        e["event"] == "note"
            && e["text"]
                .as_str()
                .is_some_and(|t| t.contains("harbour.password is shorter than"))
    });
    assert!(warned, "{}", run.stdout);
    let field = run
        .events
        .iter()
        .find(|e| e["event"] == "acted" && e["name"] == "PIN")
        .expect("a fill");
    assert!(!field.to_string().contains("\"47\""), "{field}");
}

#[test]
fn rehearsal_scan_finds_values_and_key_like_text_on_demand() {
    let stage = Stage::open("");
    let mut lab = Lab::on(&stage, &["site.test"], true);
    let value = canary(16);
    lab.credential("shop", "http://site.test", "ada@example.test", &value);
    lab.scenario("one", "start: http://site.test/\ncredentials: [shop]\nsteps:\n  - login: shop\nexpect: [ { see: x } ]\n");
    let scan = |folder: &str| {
        let output = lab
            .command()
            .args(["scan", folder])
            .output()
            .expect("a scan");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.code(), said)
    };
    assert_eq!(scan("scenarios").0, Some(0));
    let hex: String = value.bytes().map(|b| format!("{b:02x}")).collect();
    lab.write(
        "suite/snapshots/one/tutorial.md.new",
        &format!("a picture of {hex}"),
    );
    let (code, said) = scan("snapshots");
    assert_eq!(code, Some(5), "{said}");
    assert!(
        said.contains("shop.password as hex") && !said.contains(&value),
        "{said}"
    );
    lab.write(
        "suite/fixtures/key.txt",
        "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ\n",
    );
    let (code, said) = scan("fixtures");
    assert_eq!(code, Some(5), "{said}");
    assert!(said.contains("key-like"), "{said}");
    let mut planted = std::fs::OpenOptions::new()
        .append(true)
        .open(lab.path("suite/scenarios/one.yaml"))
        .expect("a file");
    writeln!(planted, "# {value}").expect("written");
    assert_eq!(scan("scenarios").0, Some(5));
}

/// Said before a person has typed a password for nothing, and as a mistake in what was asked.
#[test]
fn credentials_add_says_what_is_wrong_before_it_asks() {
    let lab = Lab::new();
    for (arguments, words) in [
        (&["add", "shop"][..], "--origin"),
        (&["add", "--origin", "http://shop.test"], "<NAME>"),
        (
            &["add", "Shop_1", "--origin", "http://shop.test"],
            "a-z, 0-9 and -",
        ),
        (&["add", "shop", "--origin", "shop.test"], "https://host"),
        (&["put", "shop"], "add, list"),
    ] {
        let mut command = lab.command();
        let output = command.arg("credentials").args(arguments).output();
        let output = output.expect("the program");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
}
