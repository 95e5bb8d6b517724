//! A build can plant leaks only if it was made with the feature for it; no other holds a trace of it.

use super::rig::Suite;

/// How the injector is told what to do.
const VARIABLE: &str = "LEAK_INJECTOR_SINKS";
const VALUE: &str = "K7-harbour-TILLER-3030";

#[test]
fn r1_only_a_build_for_the_leak_harness_can_plant_a_leak() {
    let program = std::fs::read(env!("CARGO_BIN_EXE_rehearsal")).expect("the program");
    let mark = aho_corasick::AhoCorasick::new([VARIABLE]).expect("a mark");
    let marked = mark.is_match(&program);
    assert_eq!(marked, cfg!(feature = "leak-injector"));

    let suite = Suite::with(
        "signs-in",
        "name: Signs in\nstart: http://app.test/\ncredentials: [app-user]\nsteps: [ { login: app-user } ]\nexpect: { see: Welcome }\n",
    );
    let output = suite
        .command(&["run"])
        .env("APP_USER_ORIGIN", "http://app.test")
        .env("APP_USER_USERNAME", "marisol")
        .env("APP_USER_PASSWORD", VALUE)
        .env(VARIABLE, "journal,standard output,junit.xml,file name")
        .output()
        .expect("the program starts");
    let said = String::from_utf8_lossy(&output.stdout);
    // No driver on PATH; or the gravest, a leak.
    let code = if marked { 5 } else { 3 };
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert_eq!(said.contains(VALUE), marked, "{said}");
    let quarantined = suite.files().iter().any(|f| f.contains("/quarantine/"));
    assert_eq!(quarantined, marked);
}
