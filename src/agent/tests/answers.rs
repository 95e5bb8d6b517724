//! The ladder, through the whole way: server, client, checks.

use serde_json::{Value, json};

use super::server::Server;
use super::*;
use crate::agent::error::{AgentError, AnswerError};

/// The outcome of one reply that comes again at the second asking.
async fn after(reply: Value) -> (Asked<Choice>, usize) {
    let server = Server::playing([reply]).await;
    let asked = choose_plainly(&model(settings(&server.base))).await;
    (asked, server.calls())
}

async fn accepted(content: &str) {
    let (asked, calls) = after(says(content)).await;
    let choice = asked.outcome.unwrap_or_else(|e| panic!("{content:?}: {e}"));
    assert!(is_save(&choice), "{content:?}: {choice:?}");
    assert_eq!(calls, 1);
}

/// Refused at the first and at the second asking, and not asked a third time.
async fn refused(content: &str) -> AnswerError {
    let (asked, calls) = after(says(content)).await;
    assert_eq!(calls, 2, "{content:?}");
    assert_eq!(asked.calls.len(), 2);
    match asked.outcome {
        Err(AgentError::Answer {
            error, asked: 2, ..
        }) => error,
        other => panic!("{content:?}: {other:?}"),
    }
}

async fn refused_at_once(reply: Value) -> AnswerError {
    let (asked, calls) = after(reply).await;
    assert_eq!(calls, 1);
    match asked.outcome {
        Err(AgentError::Answer {
            error, asked: 1, ..
        }) => error,
        other => panic!("{other:?}"),
    }
}

fn choice_of(finish: &str, message: Value) -> Value {
    json!({
        "choices": [{ "finish_reason": finish, "message": message }],
        "usage": { "completion_tokens": 8000 },
    })
}

#[tokio::test]
async fn case_117_null_content_with_reasoning_is_an_error_of_its_own() {
    let message = json!({ "role": "assistant", "content": null, "reasoning_content": SAVE });
    let error = refused_at_once(choice_of("stop", message)).await;
    assert_eq!(error, AnswerError::EmptyWithReasoning);
    assert!(
        error
            .to_string()
            .contains("empty content, reasoning present")
    );
    let message = json!({ "content": format!("<think>perhaps {SAVE}") });
    let error = refused_at_once(choice_of("stop", message)).await;
    assert_eq!(error, AnswerError::EmptyWithReasoning);
}

#[tokio::test]
async fn case_118_one_object_among_words_is_taken_and_two_are_not() {
    accepted(&format!(
        "<think>maybe {{\"id\":\"e2\"}}</think> Sure: {SAVE}"
    ))
    .await;
    accepted(&format!("Sure: {SAVE} as you asked.")).await;
    let error = refused(&format!("<think>maybe e2</think> {SAVE} {{\"note\":1}}")).await;
    assert_eq!(error, AnswerError::Ambiguous(2));
    for garbage in ["}", "{", "\n{\"id\":"] {
        let error = refused(&format!("{SAVE}{garbage}")).await;
        assert!(matches!(error, AnswerError::Malformed { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn case_119_one_fence_is_taken_at_the_first_try() {
    accepted(&format!("```json\n{SAVE}\n```")).await;
    accepted(&format!("Here:\n```\n{SAVE}\n```\n")).await;
    let error = refused(&format!("```json\n{SAVE}\n```\n```json\n{SAVE}\n```")).await;
    assert_eq!(error, AnswerError::Ambiguous(2));
}

#[tokio::test]
async fn case_120_broken_json_is_not_mended_and_its_place_is_told_once() {
    let broken = "{\"id\":\"e1\",\n\"reason\":\"field \"Search by no.\" }";
    let server = Server::playing([says(broken)]).await;
    let asked = choose_plainly(&model(settings(&server.base))).await;
    let Err(AgentError::Answer { error, raw, .. }) = asked.outcome else {
        panic!("{:?}", asked.outcome)
    };
    let AnswerError::Malformed { line, column, .. } = error else {
        panic!("{error:?}")
    };
    assert_eq!((line, column), (2, 18));
    assert_eq!(raw, broken);
    assert!(server.prompt(1).contains("breaks at line 2, column 18"));
    assert!(matches!(
        refused(r#"[{"id":"e1"}]"#).await,
        AnswerError::Malformed { .. }
    ));
}

#[tokio::test]
async fn case_131_a_cut_answer_is_called_cut() {
    let error = refused_at_once(choice_of("length", json!({ "content": "{\"id\":\"e1" }))).await;
    assert_eq!(error, AnswerError::Truncated { limit: 2048 });
    assert!(error.to_string().contains("REHEARSAL_MODEL_MAX_TOKENS"));
    // Whole as it looks, it is not acted upon.
    let error = refused_at_once(choice_of("length", json!({ "content": SAVE }))).await;
    assert_eq!(error.kind(), "truncated");
}

#[tokio::test]
async fn case_132_an_empty_reply_tells_what_it_cost() {
    for finish in ["length", "stop"] {
        let error = refused_at_once(choice_of(finish, json!({ "content": "" }))).await;
        assert_eq!(error, AnswerError::Empty { tokens: Some(8000) });
    }
}

#[tokio::test]
async fn refusals_and_filters_are_not_asked_again() {
    let message = json!({ "content": null, "refusal": "I can't\nhelp" });
    let error = refused_at_once(choice_of("stop", message)).await;
    assert_eq!(error, AnswerError::Refused("I can't help".into()));
    let error = refused_at_once(choice_of("content_filter", json!({ "content": SAVE }))).await;
    assert_eq!(error, AnswerError::Filtered);
    for empty in [
        json!({ "choices": [] }),
        json!({}),
        json!({ "choices": [{}] }),
    ] {
        assert_eq!(refused_at_once(empty).await, AnswerError::NoChoice);
    }
}

#[tokio::test]
async fn a_tool_call_passes_the_same_checks() {
    let call = |arguments: &str| {
        choice_of(
            "tool_calls",
            json!({ "content": null, "tool_calls": [
                { "id": "t", "type": "function",
                  "function": { "name": "click_anything", "arguments": arguments } }] }),
        )
    };
    let (asked, calls) = after(call(SAVE)).await;
    assert!(is_save(&asked.outcome.unwrap()));
    assert_eq!(calls, 1);
    let (asked, _) = after(call(r#"{"id":"e99"}"#)).await;
    assert_eq!(asked.outcome.unwrap_err().kind(), "unknown_id");
    accepted(&format!(r#"{{"name":"choice","arguments":{SAVE}}}"#)).await;
    let error = refused(r#"{"name":"choice","arguments":{"id":"e1","xpath":"/button"}}"#).await;
    assert_eq!(error, AnswerError::UnknownField("xpath".into()));
}

#[tokio::test]
async fn what_is_no_strict_json_is_refused() {
    for (content, kind) in [
        (r#"{"id":"e1","id":"e2"}"#, "not_json"),
        (r#"{"id":NaN}"#, "not_json"),
        ("{\"id\":\"e1\\u0000\"}", "not_json"),
        (r#"{"id":"\ud800"}"#, "not_json"),
        (r#"{"id":1}"#, "invalid"),
        (r#"{"id":["e1"]}"#, "invalid"),
        (r#"{"id":{"name":"env:HOME"}}"#, "invalid"),
        ("{}", "invalid"),
        ("", "empty"),
    ] {
        let (asked, _) = after(says(content)).await;
        assert_eq!(asked.outcome.unwrap_err().kind(), kind, "{content:?}");
    }
    let long = format!("{{\"id\":\"e1\",\"reason\":\"{}\"}}", "x".repeat(70 * 1024));
    assert_eq!(refused(&long).await.kind(), "too_long");
}

#[tokio::test]
async fn case_052_an_id_that_was_never_offered_is_asked_about_once() {
    for id in [
        "e9999",
        "1100-1102",
        "E1",
        " e1",
        "e01",
        "e-1",
        "none of them",
    ] {
        let error = refused(&format!("{{\"id\":{}}}", json!(id))).await;
        assert_eq!(error, AnswerError::UnknownId(id.into()));
    }
    let server = Server::playing([says(r#"{"id":"e9999"}"#), says(SAVE)]).await;
    let asked = choose_plainly(&model(settings(&server.base))).await;
    assert!(is_save(&asked.outcome.unwrap()));
    let outcomes: Vec<&str> = asked.calls.iter().map(|c| c.outcome.as_str()).collect();
    assert_eq!(outcomes, ["unknown_id", "ok"]);
    assert!(server.prompt(1).contains("e9999"));
}

#[tokio::test]
async fn case_053_r40_there_is_no_place_for_selectors_or_addresses() {
    for field in [
        "selector",
        "url",
        "script",
        "credential",
        "consent",
        "approved",
    ] {
        let error = refused(&format!(r#"{{"id":"e1","{field}":"xpath=/button"}}"#)).await;
        assert_eq!(error, AnswerError::UnknownField(field.into()));
    }
}

#[tokio::test]
async fn r08_a_selector_is_no_answer() {
    for selector in ["#save", "xpath=/button", "button[name=save]", "//button"] {
        let error = refused(&format!("{{\"id\":{}}}", json!(selector))).await;
        assert_eq!(error.kind(), "unknown_id");
    }
}

#[tokio::test]
async fn r35_prose_two_answers_and_reasons_of_two_lines_are_refused() {
    assert_eq!(refused("I would click Save.").await.kind(), "not_json");
    assert_eq!(
        refused(&format!("{SAVE}\n{SAVE}")).await,
        AnswerError::Ambiguous(2)
    );
    let error = refused(r#"{"id":"e1","reason":"one\ntwo"}"#).await;
    assert_eq!(error, AnswerError::ReasonNotOneLine);
}

#[tokio::test]
async fn none_is_an_answer() {
    let (asked, _) = after(says(r#"{"id":"none","reason":"no such button"}"#)).await;
    let reason = Some("no such button".to_owned());
    assert_eq!(asked.outcome.unwrap(), Choice::None { reason });
}

#[tokio::test]
async fn case_126_fields_nobody_needs_may_be_anything() {
    let replies = [
        json!({ "service_tier": "on_demand", "choices": [{ "finish_reason": "", "message": { "content": SAVE } }] }),
        json!({ "choices": [{ "finish_reason": "eos", "message": { "content": SAVE } }], "usage": null }),
        json!({ "id": 7, "created": "now", "choices": [{ "index": "a", "message": { "content": SAVE, "role": 4 } }], "usage": { "prompt_tokens": "many" } }),
        json!({ "choices": [{ "finish_reason": 3, "message": { "content": [{ "type": "text", "text": SAVE }], "tool_calls": null } }] }),
    ];
    for reply in replies {
        let (asked, calls) = after(reply.clone()).await;
        assert!(is_save(&asked.outcome.unwrap()), "{reply}");
        assert_eq!(calls, 1);
    }
}
