//! What a server doesn't take is found out once and remembered.

use serde_json::{Value, json};

use super::server::{Says, Server};
use super::*;
use crate::agent::learn::Mode;

fn refusal(status: u16, message: &str, code: Option<&str>, param: Option<&str>) -> Says {
    Says::json(
        status,
        json!({ "error": { "message": message, "code": code, "param": param } }),
    )
}

/// The wanted answer, in whichever way it was asked for.
fn good() -> Option<Says> {
    Some(says(SAVE).into())
}

/// Two questions of one session: both answered, the second at once.
async fn learns(server: &Server, settings: ModelSettings, first_calls: usize) -> Value {
    let model = model(settings);
    assert!(is_save(&choose_plainly(&model).await.outcome.unwrap()));
    assert_eq!(server.calls(), first_calls);
    assert!(is_save(&choose_plainly(&model).await.outcome.unwrap()));
    assert_eq!(server.calls(), first_calls + 1, "learnt for the session");
    server.bodies().pop().unwrap()
}

#[tokio::test]
async fn case_121_prose_leads_to_one_plain_try_and_then_a_clear_failure() {
    let server = Server::playing([says("I would click the button Save.")]).await;
    let asked = choose_plainly(&model(settings(&server.base))).await;
    assert_eq!(server.calls(), 2);
    let error = asked.outcome.unwrap_err().to_string();
    assert!(
        error.contains("no JSON object") && error.contains("asked twice"),
        "{error}"
    );
    assert!(server.bodies()[0].get("response_format").is_some());
    assert!(server.bodies()[1].get("response_format").is_none());
    // The shape is told in words as well.
    assert!(
        server.bodies()[1]["messages"][0]["content"]
            .as_str()
            .unwrap()
            .contains("{\"id\"")
    );

    let server = Server::ruled(|body| match body.get("response_format") {
        Some(_) => Some(says("Save, I think.").into()),
        None => good(),
    })
    .await;
    learns(&server, settings(&server.base), 2).await;
}

#[tokio::test]
async fn case_122_a_refused_format_falls_back_step_by_step() {
    let words = "response_format.type `json_schema` is unavailable now";
    let server = Server::ruled(move |body| match &body["response_format"]["type"] {
        kind if kind == "json_schema" => Some(refusal(422, words, None, None)),
        _ => good(),
    })
    .await;
    let last = learns(&server, settings(&server.base), 2).await;
    assert_eq!(last["response_format"], json!({ "type": "json_object" }));

    let server = Server::ruled(|body| match body.get("response_format") {
        Some(_) => Some(refusal(400, "response_format is not supported", None, None)),
        None => good(),
    })
    .await;
    let last = learns(&server, settings(&server.base), 3).await;
    assert!(last.get("response_format").is_none());
}

#[tokio::test]
async fn case_123_strict_mode_gets_closed_objects() {
    let server = Server::ruled(|body| {
        let schema = &body["response_format"]["json_schema"];
        let closed = schema["schema"]["additionalProperties"] == json!(false)
            && schema["schema"]["required"] == json!(["id"]);
        match schema["strict"] == json!(true) && closed {
            true => good(),
            false => Some(refusal(
                400,
                "'additionalProperties' is required to be supplied and to be false",
                None,
                None,
            )),
        }
    })
    .await;
    learns(&server, settings(&server.base), 1).await;
}

#[tokio::test]
async fn case_124_max_tokens_is_renamed_on_exactly_that_error() {
    let server = Server::ruled(|body| match body.get("max_tokens") {
        Some(_) => Some(refusal(
            400,
            "Unsupported parameter",
            Some("unsupported_parameter"),
            Some("max_tokens"),
        )),
        None => good(),
    })
    .await;
    let last = learns(&server, settings(&server.base), 2).await;
    assert_eq!(last["max_completion_tokens"], 2048);
    // Neither words alone nor another complaint about the same field are a reason.
    let too_large = refusal(400, "too large", Some("invalid_value"), Some("max_tokens"));
    let server = Server::playing([too_large]).await;
    let asked = choose_plainly(&model(settings(&server.base))).await;
    assert_eq!(asked.outcome.unwrap_err().kind(), "http_status");
    assert_eq!(server.calls(), 1);
    let server = Server::playing([refusal(400, "max_tokens is too large", None, None)]).await;
    let asked = choose_plainly(&model(settings(&server.base))).await;
    assert_eq!(asked.outcome.unwrap_err().kind(), "http_status");
    assert_eq!(server.calls(), 1);
}

#[tokio::test]
async fn case_125_temperature_is_not_sent_and_dropped_when_refused() {
    let server = Server::playing([says(SAVE)]).await;
    choose_plainly(&model(settings(&server.base)))
        .await
        .outcome
        .unwrap();
    assert!(server.bodies()[0].get("temperature").is_none());

    let server = Server::ruled(|body| match body.get("temperature") {
        Some(_) => Some(refusal(
            400,
            "Only 1 is supported",
            Some("unsupported_value"),
            Some("temperature"),
        )),
        None => good(),
    })
    .await;
    let warm = ModelSettings {
        temperature: Some(0.0),
        ..settings(&server.base)
    };
    learns(&server, warm.clone(), 2).await;
    assert_eq!(server.bodies()[0]["temperature"], 0.0);
    // It is said, once.
    let model = model(warm);
    let first = choose_plainly(&model).await;
    let note = first.calls[0].note.as_deref().unwrap_or_default();
    assert!(note.contains("temperature 0"), "{note}");
    let second = choose_plainly(&model).await;
    assert_eq!(second.calls[0].note, None);
}

#[tokio::test]
async fn case_133_pictures_are_off_and_given_up_when_refused() {
    let server = Server::ruled(|body| match body["messages"][1]["content"].is_array() {
        true => Some(refusal(
            400,
            "unknown variant `image_url`, expected `text`",
            None,
            None,
        )),
        false => good(),
    })
    .await;
    let page = ten_controls();
    let offer = offer(&page, "save voyage plan");
    let question = Question {
        verb: Verb::Click,
        sentence: "Save",
        target: "save",
        page: &page,
        offer: &offer,
        history: &[],
    };
    let asking = Asking {
        picture: Some(b"jpeg"),
        ..Asking::new(&NoSecrets)
    };
    // Off by default: the picture stays here.
    let blind = model(settings(&server.base));
    blind.choose(&asking, &question).await.outcome.unwrap();
    assert_eq!(server.calls(), 1);
    let seeing = model(ModelSettings {
        vision: true,
        ..settings(&server.base)
    });
    assert!(seeing.takes_pictures());
    seeing.choose(&asking, &question).await.outcome.unwrap();
    assert_eq!(server.calls(), 3);
    let url = &server.bodies()[1]["messages"][1]["content"][1]["image_url"]["url"];
    assert_eq!(url, "data:image/jpeg;base64,anBlZw==");
    assert!(!seeing.takes_pictures());
    seeing.choose(&asking, &question).await.outcome.unwrap();
    assert_eq!(server.calls(), 4);
}

#[tokio::test]
async fn several_differences_at_once_are_all_learnt() {
    let server = Server::ruled(|body| {
        if body.get("response_format").is_some() {
            return Some(refusal(400, "grammar not built in", None, None));
        }
        match body.get("max_tokens") {
            Some(_) => Some(refusal(
                400,
                "no",
                Some("unsupported_parameter"),
                Some("max_tokens"),
            )),
            None => good(),
        }
    })
    .await;
    learns(&server, settings(&server.base), 4).await;
}

#[tokio::test]
async fn an_error_that_is_not_understood_is_shown_and_not_tried_again() {
    let server = Server::playing([refusal(
        400,
        "context length exceeded",
        Some("context"),
        None,
    )])
    .await;
    let asked = choose_plainly(&model(settings(&server.base))).await;
    let error = asked.outcome.unwrap_err();
    assert!(error.is_environment());
    assert!(
        error.to_string().contains("context length exceeded"),
        "{error}"
    );
    assert_eq!(server.calls(), 1);
    assert_eq!(asked.calls[0].outcome, "http_status");
}

#[tokio::test]
async fn the_key_goes_into_the_header_and_nowhere_else() {
    let echo = "Incorrect API key provided: sk-canary-77aa.";
    let server = Server::playing([refusal(401, echo, Some("invalid_api_key"), None)]).await;
    let asked = choose_plainly(&model(settings(&server.base))).await;
    let sent = server.header(0, "authorization").unwrap();
    assert_eq!(sent, "Bearer sk-canary-77aa");
    assert!(!server.raw()[0].contains("canary"));
    let told = format!("{asked:?}");
    assert!(
        told.contains("[HIDDEN]") && !told.contains("canary"),
        "{told}"
    );
}

#[tokio::test]
async fn without_a_key_no_header_is_sent() {
    let server = Server::playing([says(SAVE)]).await;
    let keyless = ModelSettings {
        key: None,
        ..settings(&server.base)
    };
    choose_plainly(&model(keyless)).await.outcome.unwrap();
    assert_eq!(server.header(0, "authorization"), None);
}

#[tokio::test]
async fn a_server_without_usage_is_reckoned_by_bytes() {
    let mut reply = says(SAVE);
    reply["usage"] = Value::Null;
    let server = Server::playing([reply]).await;
    let asked = choose_plainly(&model(settings(&server.base))).await;
    let bytes = server.raw()[0].len() as u64;
    assert_eq!(asked.calls[0].tokens(), bytes / 4 + SAVE.len() as u64 / 4);
}

#[tokio::test]
async fn where_nothing_is_offered_nobody_is_asked() {
    let server = Server::playing([says(SAVE)]).await;
    let page = page(Vec::new());
    let offer = offer(&page, "save");
    let question = Question {
        verb: Verb::Click,
        sentence: "Save",
        target: "save",
        page: &page,
        offer: &offer,
        history: &[],
    };
    let asked = model(settings(&server.base))
        .choose(&Asking::new(&NoSecrets), &question)
        .await;
    assert_eq!(asked.outcome.unwrap(), Choice::None { reason: None });
    assert_eq!(server.calls(), 0);
}

#[tokio::test]
async fn the_probe_tells_which_way_of_asking_works() {
    let server = Server::ruled(|body| match body["response_format"]["type"].as_str() {
        Some("json_schema") => Some(says("the second one").into()),
        _ => Some(says(r#"{"id":"e2"}"#).into()),
    })
    .await;
    let probe = model(settings(&server.base)).probe().await.unwrap();
    assert_eq!(probe.works(), Some(Mode::JsonObject));
    assert_eq!(probe.tried.len(), 3);
    assert!(
        probe.tried[0]
            .1
            .as_ref()
            .unwrap_err()
            .contains("no JSON object")
    );
}

#[tokio::test]
async fn the_probe_does_not_take_a_fall_back_for_the_mode_itself() {
    let server = Server::ruled(|body| match body.get("response_format") {
        Some(_) => Some(refusal(400, "no response_format here", None, None)),
        None => Some(says(r#"{"id":"e2"}"#).into()),
    })
    .await;
    let probe = model(settings(&server.base)).probe().await.unwrap();
    assert_eq!(probe.works(), Some(Mode::Plain));
}

#[tokio::test]
async fn a_call_is_recorded_with_its_cost() {
    let server = Server::playing([says(SAVE)]).await;
    let asked = choose_plainly(&model(settings(&server.base))).await;
    let call = &asked.calls[0];
    assert_eq!((call.purpose, call.outcome.as_str()), ("choose", "ok"));
    assert_eq!(
        (call.prompt_tokens, call.completion_tokens),
        (Some(300), Some(9))
    );
    assert_eq!((call.candidates_offered, call.candidates_total), (10, 10));
    assert_eq!(call.prompt_bytes, server.raw()[0].len());
    assert_eq!(call.answer, SAVE);
    assert_eq!(call.tokens(), 309);
    assert!(call.question.contains("# observed"));
}
