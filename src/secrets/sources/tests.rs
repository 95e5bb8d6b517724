use super::*;
use crate::secrets::vault::{Place, Unlock};

fn sources(settings: &str, environment: &[(&str, &str)]) -> Sources {
    let settings = toml::from_str(settings).expect("settings");
    let environment: BTreeMap<String, OsString> = environment
        .iter()
        .map(|(k, v)| (k.to_string(), OsString::from(v)))
        .collect();
    Sources::with_environment(settings, move |name| environment.get(name).cloned())
}

fn vault(dir: &std::path::Path) -> Vault {
    let place = Place {
        file: dir.join("data/vault.age"),
        identity_file: dir.join("config/key"),
        state: dir.join("state"),
    };
    let unlock = Unlock::IdentityFile(place.identity_file.clone());
    Vault::new(place, unlock)
}

fn secret(text: &str) -> Secret {
    Secret::new(text.into()).expect("value")
}

fn problem(sources: &Sources, name: &str) -> String {
    let problems = sources.check([name]);
    let problem = problems.first().expect("a problem");
    assert_eq!(problem.exit(), 2);
    assert!(
        sources.load(name).is_err(),
        "what check finds, load refuses"
    );
    problem.to_string()
}

#[test]
fn r3_the_environment_serves_a_name() {
    let sources = sources(
        "",
        &[
            ("CODE_HOST_USER_USERNAME", "alice"),
            ("CODE_HOST_USER_PASSWORD", "TILLER-3030"),
            ("CODE_HOST_USER_TOTP", "GEZDGNBVGY3TQOJQ"),
            ("CODE_HOST_USER_ORIGIN", "https://Code.Test:443"),
        ],
    );
    assert!(sources.check(["code-host-user"]).is_empty());
    let credential = sources.load("code-host-user").expect("load");
    assert_eq!(credential.fields["password"].expose(), "TILLER-3030");
    assert_eq!(
        credential.fields.keys().collect::<Vec<_>>(),
        ["password", "username"]
    );
    assert_eq!(credential.origin.as_deref(), Some("https://code.test"));
    assert!(credential.totp.is_some());
    assert_eq!(credential.source, SourceKind::Environment);
    let scrubber = Scrubber::new();
    credential.register(&scrubber);
    assert_eq!(
        scrubber.clean("alice, TILLER-3030, GEZDGNBVGY3TQOJQ"),
        "‹code-host-user.username›, ‹code-host-user.password›, ‹code-host-user.totp›"
    );
}

#[test]
fn r6_a_name_without_source_origin_or_value_is_a_problem() {
    let none = problem(&sources("", &[]), "site");
    assert!(
        none.contains("SITE_PASSWORD") && none.contains("credentials add site"),
        "{none}"
    );
    let no_origin = problem(&sources("", &[("SITE_PASSWORD", "TILLER-3030")]), "site");
    assert!(
        no_origin.contains("SITE_ORIGIN") && !no_origin.contains("TILLER"),
        "{no_origin}"
    );
    let half = problem(
        &sources(
            "site.origin = 'http://s.test'",
            &[("SITE_USERNAME", "alice")],
        ),
        "site",
    );
    assert!(
        half.contains("SITE_PASSWORD") && !half.contains("alice"),
        "{half}"
    );
    let bad = problem(
        &sources("site.origin = 's.test'", &[("SITE_PASSWORD", "x")]),
        "site",
    );
    assert!(bad.contains("https://host"), "{bad}");
    assert!(problem(&sources("", &[]), "Not A Name").contains("a-z"));
}

#[test]
fn case_072_a_variable_that_is_set_but_empty_is_named() {
    let settings = "site.origin = 'http://s.test'\nsite.command = 'echo other'";
    let text = problem(&sources(settings, &[("SITE_PASSWORD", "")]), "site");
    assert!(text.contains("SITE_PASSWORD is set but empty"), "{text}");
}

#[test]
fn r6_nothing_falls_back_silently() {
    let dir = tempfile::tempdir().expect("folder");
    let fields = BTreeMap::from([("password".to_owned(), secret("from the vault"))]);
    vault(dir.path())
        .add("site", "http://s.test", fields)
        .expect("add");
    let settings = "site.origin = 'http://s.test'\nsite.command = 'echo from the command'";
    let half = sources(settings, &[("SITE_USERNAME", "alice")]).vault(Some(vault(dir.path())));
    assert!(problem(&half, "site").contains("no other source is asked"));
    let stored = sources(settings, &[]).vault(Some(vault(dir.path())));
    assert_eq!(
        stored.load("site").expect("load").fields["password"].expose(),
        "from the vault"
    );
    let command = sources(settings, &[]).vault(Some(vault(&dir.path().join("empty"))));
    let credential = command.load("site").expect("load");
    assert_eq!(credential.fields["password"].expose(), "from the command");
    assert_eq!(credential.source, SourceKind::Command);
}

#[test]
fn f40_a_vault_that_cannot_be_read_stops_the_run_with_3() {
    let dir = tempfile::tempdir().expect("folder");
    let broken = vault(dir.path());
    broken.create().expect("create");
    std::fs::write(dir.path().join("data/vault.age"), "nothing").expect("break");
    let settings = "site.origin = 'http://s.test'\nsite.command = 'echo x'";
    let problems = sources(settings, &[]).vault(Some(broken)).check(["site"]);
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].exit(), 3);
}

#[test]
fn r22_the_vault_and_the_settings_must_name_the_same_origin() {
    let dir = tempfile::tempdir().expect("folder");
    let fields = BTreeMap::from([("password".to_owned(), secret("TILLER-3030"))]);
    vault(dir.path())
        .add("site", "https://login.s.test", fields)
        .expect("add");
    let other = sources("site.origin = 'https://s.test'", &[]).vault(Some(vault(dir.path())));
    assert!(problem(&other, "site").contains("https://login.s.test"));
}

#[test]
fn further_fields_are_read_only_when_they_are_used() {
    let environment = [
        ("SITE_PASSWORD", "TILLER-3030"),
        ("SITE_PIN", "4711"),
        ("SITE_ORIGIN", "http://s.test"),
    ];
    let mut sources = sources("", &environment);
    assert!(
        !sources
            .load("site")
            .expect("load")
            .fields
            .contains_key("pin")
    );
    sources.want("site", "pin");
    assert_eq!(
        sources.load("site").expect("load").fields["pin"].expose(),
        "4711"
    );
    sources.want("site", "puk");
    assert!(problem(&sources, "site").contains("SITE_PUK"));
}

#[test]
fn check_runs_no_command_and_load_says_what_failed_without_quoting() {
    let dir = tempfile::tempdir().expect("folder");
    let trace = dir.path().join("ran");
    let settings = format!(
        "[site]\norigin = 'http://s.test'\ncommand = {{ password = ['sh', '-c', 'touch {}; echo TILLER >&2; exit 1'], username = 'echo alice' }}",
        trace.display()
    );
    let sources = sources(&settings, &[]);
    assert!(sources.check(["site"]).is_empty());
    assert!(!trace.exists());
    let error = sources.load("site").err().expect("fails").to_string();
    assert!(trace.exists());
    assert!(
        error.contains("password") && !error.contains("TILLER"),
        "{error}"
    );
}
