use secrecy::ExposeSecret;

use super::server::Server;
use super::*;
use crate::agent::AnswerError;
use crate::agent::settings::{MAX_TOKENS, SettingsError, TEMPERATURE};
use crate::scenario::ModelTable;

fn read(pairs: &[(&str, &str)]) -> Result<Option<ModelSettings>, SettingsError> {
    let table = ModelTable::default();
    ModelSettings::read(&table, |name| {
        let found = pairs.iter().find(|(n, _)| *n == name);
        found.map(|(_, v)| (*v).to_owned())
    })
}

#[tokio::test]
async fn case_127_the_slash_is_put_right_and_no_version_is_added() {
    let server = Server::playing([says(SAVE)]).await;
    for (path, asked) in [
        ("/v1/", "/v1/chat/completions"),
        ("/v1", "/v1/chat/completions"),
        ("", "/chat/completions"),
        ("//", "/chat/completions"),
        ("/api/paas/v4", "/api/paas/v4/chat/completions"),
        (
            "/openai?api-version=2025",
            "/openai/chat/completions?api-version=2025",
        ),
    ] {
        let base = format!("{}{path}", server.base);
        choose_plainly(&model(settings(&base)))
            .await
            .outcome
            .unwrap();
        assert_eq!(server.paths().last().unwrap(), asked);
    }
}

#[test]
fn clear_text_is_for_this_machine_only() {
    for good in [
        "http://127.0.0.1:8080/v1",
        "http://localhost:1/",
        "http://[::1]:9",
        "https://model.test/v1",
    ] {
        assert!(Base::parse(good, "K").is_ok(), "{good}");
    }
    let refused = Base::parse("http://model.test/v1", "K");
    assert!(matches!(refused, Err(SettingsError::ClearText(_))));
    for bad in ["ftp://127.0.0.1/", "model.test", "http://", "file:///etc"] {
        assert!(Base::parse(bad, "K").is_err(), "{bad}");
    }
}

#[test]
fn an_address_never_holds_the_key() {
    let refused = Base::parse("https://u:sk-canary-77aa@model.test/v1", "MY_KEY").unwrap_err();
    assert!(refused.to_string().contains("MY_KEY"));
    assert!(!refused.to_string().contains("sk-canary"));
    assert_eq!(
        Base::parse("https://m.test/v1?key=abc", "K")
            .unwrap()
            .to_string(),
        "https://m.test/v1"
    );
}

#[test]
fn a_key_loses_its_newline_and_a_broken_one_is_named() {
    let pairs = [("OPENAI_API_KEY", "sk-1234\r\n"), ("OPENAI_MODEL", "m")];
    let settings = read(&pairs).unwrap().unwrap();
    assert_eq!(settings.key.unwrap().expose_secret(), "sk-1234");
    assert_eq!(settings.base.to_string(), "https://api.openai.com/v1");
    let broken = read(&[("OPENAI_API_KEY", "sk-1\nsk-2"), ("OPENAI_MODEL", "m")]).unwrap_err();
    assert_eq!(broken, SettingsError::Key("OPENAI_API_KEY".into()));
    assert!(!broken.to_string().contains("sk-"));
}

#[test]
fn no_model_is_no_error() {
    assert!(read(&[]).unwrap().is_none());
    assert!(read(&[("OPENAI_API_KEY", "sk-1")]).unwrap().is_none());
    assert!(
        read(&[("OPENAI_BASE_URL", " "), ("OPENAI_MODEL", "m")])
            .unwrap()
            .is_none()
    );
    let unnamed = read(&[("OPENAI_BASE_URL", "http://127.0.0.1:1")]).unwrap_err();
    assert_eq!(unnamed, SettingsError::NoName);
    assert!(Model::from_settings(None, Tape::Off).unwrap().is_none());
}

#[test]
fn a_key_is_in_no_debug_text() {
    let shown = format!("{:?}", settings("http://127.0.0.1:1"));
    assert!(!shown.contains("canary"), "{shown}");
    assert_eq!(
        settings("http://127.0.0.1:1/v1/").shown(),
        "small at http://127.0.0.1:1/v1"
    );
}

#[test]
fn durations_are_checked() {
    let table: ModelTable =
        toml::from_str("base_url = \"http://127.0.0.1:1\"\nname = \"m\"\ntimeout = \"500ms\"")
            .unwrap();
    let settings = ModelSettings::read(&table, |_| None).unwrap().unwrap();
    assert_eq!(settings.timeout, Duration::from_millis(500));
    for bad in ["5", "0s", "s", "-1s", "5h"] {
        let table = ModelTable {
            timeout: Some(bad.into()),
            ..table.clone()
        };
        let refused = ModelSettings::read(&table, |_| None).unwrap_err();
        assert_eq!(refused, SettingsError::Timeout(bad.into()));
    }
}

#[test]
fn case_131_the_limit_a_message_names_is_the_one_that_can_be_set() {
    let with = |name: &str, value: &str| {
        read(&[
            ("OPENAI_BASE_URL", "http://127.0.0.1:1/v1"),
            ("OPENAI_MODEL", "m"),
            (name, value),
        ])
    };
    let limit = with(MAX_TOKENS, "").unwrap().unwrap().max_tokens;
    for error in [
        AnswerError::Truncated { limit },
        AnswerError::Empty { tokens: Some(9) },
    ] {
        assert!(error.to_string().contains(MAX_TOKENS), "{error}");
    }
    assert_eq!(with(MAX_TOKENS, "4096").unwrap().unwrap().max_tokens, 4096);
    let warm = with(TEMPERATURE, "0").unwrap().unwrap();
    assert_eq!(warm.temperature, Some(0.0));
    assert_eq!(with(TEMPERATURE, " ").unwrap().unwrap().temperature, None);
    for (name, bad) in [
        (MAX_TOKENS, "0"),
        (MAX_TOKENS, "-1"),
        (MAX_TOKENS, "many"),
        (TEMPERATURE, "99"),
        (TEMPERATURE, "NaN"),
        (TEMPERATURE, "-0.1"),
    ] {
        let refused = with(name, bad).unwrap_err().to_string();
        assert!(refused.contains(name) && refused.contains(bad), "{refused}");
    }
}

#[test]
fn a_placeholder_is_no_key_to_be_hidden() {
    let with = |key: &str| {
        let pairs = [
            ("OPENAI_BASE_URL", "http://127.0.0.1:1/v1"),
            ("OPENAI_MODEL", "m"),
            ("OPENAI_API_KEY", key),
        ];
        let settings = read(&pairs).expect("fine").expect("configured");
        settings.key_for_scrubber().is_some()
    };
    assert!(!with("none") && !with("EMPTY"));
    assert!(with("sk-0123456789"));
}
