use std::path::Path;

use super::server::Server;
use super::*;
use crate::agent::error::AgentError;

fn taped(base: Option<&str>, tape: Tape) -> Model {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    Model::from_settings(base.map(settings), tape)
        .unwrap()
        .unwrap()
}

async fn record(dir: &Path, egress: &dyn Egress, content: &str) {
    let server = Server::playing([says(content)]).await;
    let model = taped(Some(&server.base), Tape::Record(dir.into()));
    choose(&model, egress).await.outcome.unwrap();
}

async fn ask_about(model: &Model, sentence: &str) -> Asked<Choice> {
    let page = ten_controls();
    let offer = offer(&page, "save voyage plan");
    let question = Question {
        verb: Verb::Click,
        sentence,
        target: "the voyage plan",
        page: &page,
        offer: &offer,
        history: &[],
    };
    model.choose(&Asking::new(&NoSecrets), &question).await
}

#[tokio::test]
async fn a_recorded_answer_needs_no_server_and_no_settings() {
    let dir = tempfile::tempdir().unwrap();
    record(dir.path(), &NoSecrets, SAVE).await;
    let model = taped(None, Tape::Replay(dir.path().into()));
    let asked = choose_plainly(&model).await;
    assert!(is_save(&asked.outcome.unwrap()));
    assert_eq!(asked.calls[0].sent, 0);
    assert_eq!(asked.calls[0].completion_tokens, Some(9));
    assert!(model.shown().contains("recorded answers"));
}

#[tokio::test]
async fn recording_again_replaces_the_answer() {
    let dir = tempfile::tempdir().unwrap();
    record(dir.path(), &NoSecrets, r#"{"id":"none"}"#).await;
    record(dir.path(), &NoSecrets, SAVE).await;
    let asked = choose_plainly(&taped(None, Tape::Replay(dir.path().into()))).await;
    assert!(is_save(&asked.outcome.unwrap()));
}

#[tokio::test]
async fn a_replaying_model_never_asks_the_server() {
    let dir = tempfile::tempdir().unwrap();
    record(dir.path(), &NoSecrets, SAVE).await;
    let server = Server::playing([says(SAVE)]).await;
    let model = taped(Some(&server.base), Tape::Replay(dir.path().into()));
    choose_plainly(&model).await.outcome.unwrap();
    ask_about(&model, "Something new")
        .await
        .outcome
        .unwrap_err();
    assert_eq!(server.calls(), 0);
}

#[tokio::test]
async fn a_miss_shows_what_changed_in_the_question() {
    let dir = tempfile::tempdir().unwrap();
    record(dir.path(), &NoSecrets, SAVE).await;
    let model = taped(None, Tape::Replay(dir.path().into()));
    let asked = ask_about(&model, "Store the voyage plan").await;
    let Err(AgentError::TapeMiss { diff, .. }) = asked.outcome else {
        panic!("{:?}", asked.outcome)
    };
    let changed: Vec<&str> = diff
        .lines()
        .filter(|l| l.starts_with(['-', '+']))
        .skip(2)
        .collect();
    assert_eq!(
        changed,
        [
            "-Click \"the voyage plan\" (\"Save the voyage plan\")",
            "+Click \"the voyage plan\" (\"Store the voyage plan\")",
        ]
    );
}

#[tokio::test]
async fn both_askings_are_recorded() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::playing([says("{\"id\":\"e50\"}"), says(SAVE)]).await;
    let model = taped(Some(&server.base), Tape::Record(dir.path().into()));
    choose_plainly(&model).await.outcome.unwrap();
    let replayed = choose_plainly(&taped(None, Tape::Replay(dir.path().into()))).await;
    assert!(is_save(&replayed.outcome.unwrap()));
    assert_eq!(replayed.calls.len(), 2);
}

#[tokio::test]
async fn r01_a_tape_holds_no_secret() {
    let dir = tempfile::tempdir().unwrap();
    record(
        dir.path(),
        &Knows("hunter2"),
        r#"{"id":"e1","reason":"hunter2 it is"}"#,
    )
    .await;
    for entry in std::fs::read_dir(dir.path()).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        assert!(!text.contains("hunter2") && text.contains("‹code-host-user.password›"));
        assert!(!text.contains("canary"));
    }
}

#[tokio::test]
async fn a_broken_or_absent_tape_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let absent = dir.path().join("none");
    let asked = choose_plainly(&taped(None, Tape::Replay(absent))).await;
    assert!(
        matches!(asked.outcome, Err(AgentError::Tape { .. })),
        "{:?}",
        asked.outcome
    );
    let empty = choose_plainly(&taped(None, Tape::Replay(dir.path().into()))).await;
    assert_eq!(empty.outcome.unwrap_err().kind(), "tape_miss");
    record(dir.path(), &NoSecrets, SAVE).await;
    for entry in std::fs::read_dir(dir.path()).unwrap() {
        std::fs::write(entry.unwrap().path(), "{").unwrap();
    }
    let broken = choose_plainly(&taped(None, Tape::Replay(dir.path().into()))).await;
    assert_eq!(broken.outcome.unwrap_err().kind(), "tape");
}
