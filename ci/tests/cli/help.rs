//! The whole command line's help, as a person reads it.

use super::rig::Suite;

const COMMANDS: &[&[&str]] = &[
    &[],
    &["init"],
    &["run"],
    &["check"],
    &["accept"],
    &["review"],
    &["look"],
    &["replay"],
    &["credentials"],
    &["credentials", "add"],
    &["scan"],
    &["schema"],
    &["serve"],
    &["mcp"],
    &["draft"],
    &["doctor"],
    &["completions"],
];

fn help(suite: &Suite, of: &[&str]) -> String {
    let mut args = of.to_vec();
    args.push("--help");
    let mut command = suite.command(&args);
    command.env("COLUMNS", "100");
    super::rig::said(command.output().expect("the program starts"))
        .code(0)
        .out
}

#[test]
fn help_reads_as_agreed() {
    let suite = Suite::empty();
    for of in COMMANDS {
        let name = match of {
            [] => "rehearsal".to_owned(),
            words => words.join(" "),
        };
        insta::with_settings!({ prepend_module_to_snapshot => false, snapshot_path => "help" }, {
            insta::assert_snapshot!(name.replace(' ', "-"), help(&suite, of));
        });
    }
}

#[test]
fn every_command_s_help_has_an_example() {
    let suite = Suite::empty();
    let top = help(&suite, &[]);
    let listed = top.split("Commands:").nth(1).expect("a list of commands");
    let names: Vec<&str> = listed
        .lines()
        .skip(1)
        .take_while(|line| !line.trim().is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(names.len() >= 12, "{names:?}");
    for name in names {
        let text = help(&suite, &[name]);
        assert!(text.contains("Example"), "{name}: {text}");
        assert!(
            text.contains(&format!("rehearsal {name}")),
            "{name}: {text}"
        );
    }
}

#[test]
fn version_and_no_command() {
    let suite = Suite::empty();
    let said = suite.say(&["--version"]).code(0);
    assert!(said.out.starts_with("rehearsal "), "{}", said.out);
    suite
        .say(&[])
        .code(2)
        .tells(&["rehearsal run", "rehearsal init"]);
    suite.say(&["chekc"]).code(2).tells(&["chekc", "check"]);
}
