use super::super::sample;
use super::*;

fn printed(events: &[Event], style: Style) -> String {
    let mut out = Vec::new();
    let mut console = Console::new(style, &mut out).with_options(Options {
        run_folder: "runs/now".to_owned(),
        ..Options::default()
    });
    events.iter().for_each(|event| console.event(event));
    console.finish(&Outputs {
        tutorials: vec!["runs/now/code-host/add-readme/tutorial.md".to_owned()],
        journal: Some("runs/now/events.jsonl".to_owned()),
        junit: Some("runs/now/junit.xml".to_owned()),
        html: Some("runs/now/report.html".to_owned()),
        json: None,
    });
    String::from_utf8(out).unwrap()
}

fn plain_style() -> Style {
    Style::default()
}

#[test]
fn each_scenario_has_a_line_and_the_summary_adds_up() {
    let text = printed(&sample::journal(), plain_style());
    for line in [
        "      passed     1.8 s  Add a README to an empty repository  code-host/add-readme",
        "      passed     1.8 s  Watch the newest clip of a channel (attempt 2)  clips/newest",
        " as expected     0.6 s  A wrong password is rejected  parcels/wrong-password",
        "not finished  parcels/track  The run ended inside this scenario.",
        "3 passed, 2 failed, 1 error, 1 refused, 1 leak, 1 pending, 1 not finished, 1 flaky  in 12.",
        "runs/now/code-host/add-readme/tutorial.md",
        "runs/now/junit.xml",
    ] {
        assert!(text.contains(line), "{line} is missing in:\n{text}");
    }
}

#[test]
fn a_failure_says_where_what_was_seen_and_how_to_mend_it() {
    let text = printed(&sample::journal(), plain_style());
    let block = "
    step 2: Click button “Sign in”

    No button named “Sign in” on the page.

     --> scenarios/code-host/sign-in.yaml:10:5
       |
    10 |   - click: Sign in
       |            ^^^^^^^ nothing on the page has this name

    seen      heading \"Welcome back\"
              textbox \"User name\", textbox \"Password\"
    nearest   button \"Log in\"  (0.62)
              link \"Sign up\"  in banner  (0.55)
    fix       Name the control as the page does: `click: button \"Log in\"`.
    picture   runs/now/code-host/sign-in/frames/0002.png
    page      http://code.test/login
    again     rehearsal run code-host/sign-in
";
    assert!(text.contains(block), "{text}");
}

#[test]
fn both_looks_are_shown_where_they_disagree() {
    let text = printed(&sample::journal(), plain_style());
    assert!(text.contains("first look saw: Saved\n"), "{text}");
    assert!(text.contains("second look saw: Not saved: you are offline\n"));
}

#[test]
fn page_text_brings_no_control_to_the_terminal() {
    for style in [
        plain_style(),
        Style {
            verbose: true,
            ..plain_style()
        },
    ] {
        let text = printed(&sample::journal(), style);
        let bad = |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{202a}'..='\u{202e}');
        assert_eq!(text.chars().find(|c| bad(*c)), None);
        assert!(!text.contains("[31m"));
        assert!(text.contains("⟨U+202E⟩"));
    }
}

#[test]
fn colours_are_the_only_difference_a_terminal_makes() {
    let colour = printed(
        &sample::journal(),
        Style {
            colour: true,
            ..plain_style()
        },
    );
    assert!(colour.contains("\u{1b}[32m"));
    assert_eq!(
        plain::plain(&colour),
        printed(&sample::journal(), plain_style())
    );
}

#[test]
fn steps_are_listed_on_request_live_or_together() {
    let mut events = sample::journal();
    let verbose = Style {
        verbose: true,
        ..plain_style()
    };
    let together = printed(&events, verbose);
    let step = "  ✓   4  Click button “Add a README”  0.3 s\n";
    assert!(together.contains(step), "{together}");
    assert!(together.contains("  ✓   1  Open the newest clip  model · 1.8 s"));
    assert!(!printed(&events, plain_style()).contains(step));
    if let What::RunStarted(run) = &mut events[0].what {
        run.jobs = 1;
    }
    let mut out = Vec::new();
    let mut console = Console::new(verbose, &mut out);
    let cut = events
        .iter()
        .position(|event| matches!(&event.what, What::StepFinished(done) if done.step == "4"));
    events[..=cut.unwrap()]
        .iter()
        .for_each(|event| console.event(event));
    drop(console);
    let live = String::from_utf8(out).unwrap();
    assert!(live.ends_with(step), "{live}");
}

/// Takes some bytes, then fails like a closed pipe.
struct Closing(usize);

impl Write for Closing {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.0 < bytes.len() {
            return Err(std::io::ErrorKind::BrokenPipe.into());
        }
        self.0 -= bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn r64_a_closed_output_silences_the_console_and_nothing_else() {
    let mut console = Console::new(plain_style(), Closing(300));
    sample::journal()
        .iter()
        .for_each(|event| console.event(event));
    console.finish(&Outputs::default());
    assert!(console.out.is_none());
}

#[test]
fn a_long_list_of_unfinished_scenarios_is_cut() {
    let events = &sample::large(100)[..40];
    let text = printed(events, plain_style());
    assert!(text.contains("… and 70 more"), "{text}");
    assert!(text.contains("100 not finished"), "{text}");
}

#[test]
fn nothing_selected_still_has_a_summary() {
    let journal = super::super::sample::Journal::new(&[]);
    assert!(printed(&journal.events, plain_style()).contains("0 passed  in 0 ms"));
}
