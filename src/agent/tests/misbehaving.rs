//! Servers that fail, hang, drip, flood and answer in HTML.

use serde_json::json;

use super::server::{Raw, Says, Server, raw_server};
use super::*;
use crate::agent::error::{AgentError, ModelFailure};

async fn failure(settings: ModelSettings) -> ModelFailure {
    match choose_plainly(&model(settings)).await.outcome {
        Err(AgentError::Unavailable(failure)) => failure,
        other => panic!("{other:?}"),
    }
}

fn hasty(base: &str) -> ModelSettings {
    ModelSettings {
        timeout: Duration::from_millis(400),
        ..settings(base)
    }
}

fn good_bytes() -> Vec<u8> {
    let body = says(SAVE).to_string();
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

#[tokio::test]
async fn case_128_status_and_content_type_survive_a_foreign_body() {
    let html = "<html>\n<h1>Bad Gateway</h1>";
    let server = Server::playing([Says::text(502, "text/html", html)]).await;
    let told = failure(settings(&server.base)).await.to_string();
    assert!(
        told.contains("502") && told.contains("text/html") && told.contains("Bad Gateway"),
        "{told}"
    );
    assert!(
        told.contains(&format!("{}/chat/completions", server.base)),
        "{told}"
    );
    assert_eq!(server.calls(), 3, "a gateway's error is tried again");

    let server = Server::playing([Says::text(404, "text/plain", "File Not Found")]).await;
    let told = failure(settings(&server.base)).await.to_string();
    assert!(
        told.contains("404") && told.contains("/chat/completions"),
        "{told}"
    );
    assert_eq!(server.calls(), 1);

    let server = Server::playing([Says::text(200, "text/html", html)]).await;
    let found = failure(settings(&server.base)).await;
    assert!(matches!(found, ModelFailure::NotJson { .. }), "{found:?}");
    assert!(!found.to_string().contains("expected value"));

    let server = Server::playing([Says::text(204, "text/plain", "")]).await;
    let told = failure(settings(&server.base)).await.to_string();
    assert!(told.contains("answered 204"), "{told}");
}

#[tokio::test]
async fn case_128_an_error_inside_a_200_is_the_servers_word_and_not_the_models() {
    let overloaded = json!({ "error": { "message": "model overloaded", "code": 500 } });
    let server = Server::playing([overloaded]).await;
    let asked = choose_plainly(&model(settings(&server.base))).await;
    let error = asked.outcome.unwrap_err();
    assert!(error.is_environment());
    let told = error.to_string();
    assert!(
        told.contains("answered 200, in it an error 500") && told.contains("model overloaded"),
        "{told}"
    );
    assert_eq!(server.calls(), 3, "tried again as any 500");

    for error in [
        json!("no such model"),
        json!({ "message": "no such model" }),
    ] {
        let reply = json!({ "choices": [], "error": error });
        let server = Server::playing([reply]).await;
        let told = failure(settings(&server.base)).await.to_string();
        assert!(told.contains("no such model"), "{told}");
        assert_eq!(server.calls(), 1);
    }

    // A field that is there and says nothing is no error.
    for nothing in [json!(null), json!(""), json!({})] {
        let mut reply = says(SAVE);
        reply["error"] = nothing;
        let server = Server::playing([reply]).await;
        let asked = choose_plainly(&model(settings(&server.base))).await;
        assert!(is_save(&asked.outcome.unwrap()));
    }
}

#[tokio::test]
async fn a_byte_order_mark_before_the_reply_is_no_harm() {
    let body = format!("\u{feff}{}", says(SAVE));
    let server = Server::playing([Says::text(200, "application/json", &body)]).await;
    let asked = choose_plainly(&model(settings(&server.base))).await;
    assert!(is_save(&asked.outcome.unwrap()));
}

#[tokio::test]
async fn an_errors_body_is_scrubbed_and_short() {
    let body = format!("you sent hunter2-secret {}", "x".repeat(5000));
    let server = Server::playing([Says::text(400, "text/plain", &body)]).await;
    let asked = choose(&model(settings(&server.base)), &Knows("hunter2-secret")).await;
    let told = format!("{asked:?} {}", asked.outcome.as_ref().unwrap_err());
    assert!(
        told.contains("‹code-host-user.password›") && !told.contains("hunter2"),
        "{told}"
    );
    assert!(asked.outcome.unwrap_err().to_string().len() < 500);
}

#[tokio::test]
async fn case_129_a_silent_server_ends_at_the_limit() {
    let (base, served) = raw_server(vec![Raw::Silence]).await;
    assert_eq!(failure(hasty(&base)).await.kind(), "timeout");
    assert_eq!(*served.lock().unwrap(), 1);
}

#[tokio::test]
async fn a_limit_of_the_question_is_kept() {
    let (base, _) = raw_server(vec![Raw::Silence]).await;
    let page = ten_controls();
    let offer = offer(&page, "save");
    let question = Question {
        verb: Verb::Click,
        sentence: "Save",
        target: "save",
        page: &page,
        offer: &offer,
        history: &[],
    };
    let asking = Asking {
        limit: Some(Duration::from_millis(100)),
        ..Asking::new(&NoSecrets)
    };
    let patient = model(ModelSettings {
        timeout: Duration::from_secs(3600),
        ..settings(&base)
    });
    let asked = patient.choose(&asking, &question).await;
    assert_eq!(asked.outcome.unwrap_err().kind(), "timeout");
}

#[tokio::test]
async fn f20_dripping_and_stalled_replies_end() {
    let (base, _) = raw_server(vec![Raw::Drip(Duration::from_millis(20))]).await;
    assert_eq!(failure(hasty(&base)).await.kind(), "timeout");

    let (base, _) = raw_server(vec![Raw::Stall]).await;
    let mut stalled = settings(&base);
    stalled.patience.idle = Duration::from_millis(100);
    assert!(matches!(
        failure(stalled).await,
        ModelFailure::Stalled { .. }
    ));
}

#[tokio::test]
async fn f21_ten_megabytes_are_not_read() {
    let (base, _) = raw_server(vec![Raw::Flood]).await;
    let found = failure(settings(&base)).await;
    assert!(matches!(found, ModelFailure::TooLarge { .. }), "{found:?}");
}

#[tokio::test]
async fn f20_a_reply_that_breaks_off_is_asked_for_again() {
    let cut = b"HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n{\"choices\":[{\"mess".to_vec();
    let (base, served) = raw_server(vec![Raw::Bytes(cut.clone()), Raw::Bytes(good_bytes())]).await;
    let asked = choose_plainly(&model(settings(&base))).await;
    assert!(is_save(&asked.outcome.unwrap()));
    assert_eq!(*served.lock().unwrap(), 2);

    let (base, served) = raw_server(vec![Raw::Bytes(cut)]).await;
    assert_eq!(failure(settings(&base)).await.kind(), "connect");
    assert_eq!(*served.lock().unwrap(), 3);
}

#[tokio::test]
async fn f19_a_reset_is_tried_a_bounded_number_of_times() {
    let (base, served) = raw_server(vec![Raw::Bytes(Vec::new())]).await;
    assert_eq!(failure(settings(&base)).await.kind(), "connect");
    assert_eq!(*served.lock().unwrap(), 3);
}

#[tokio::test]
async fn nobody_at_the_port_is_an_environment_error() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let asked = choose_plainly(&model(settings(&base))).await;
    let error = asked.outcome.unwrap_err();
    assert!(error.is_environment());
    assert!(error.to_string().contains(&base), "{error}");
}

#[tokio::test]
async fn case_130_an_empty_purse_is_not_asked_again() {
    for error in [
        json!({ "code": "insufficient_quota", "message": "You exceeded your current quota" }),
        json!({ "type": "insufficient_quota", "message": "quota" }),
    ] {
        let server = Server::playing([Says::json(429, json!({ "error": error }))]).await;
        let found = failure(settings(&server.base)).await;
        assert_eq!(found.kind(), "quota");
        assert!(found.to_string().contains("quota"));
        assert_eq!(server.calls(), 1);
    }
}

#[tokio::test]
async fn f19_a_rate_limit_is_waited_for_up_to_a_limit() {
    let busy = |after: &str| Says {
        headers: vec![("retry-after", after.into())],
        ..Says::json(429, json!({ "error": { "message": "slow down" } }))
    };
    // An hour is capped to the longest pause of these settings.
    let server = Server::playing([busy("3600"), says(SAVE).into()]).await;
    choose_plainly(&model(settings(&server.base)))
        .await
        .outcome
        .unwrap();
    assert_eq!(server.calls(), 2);

    let server = Server::playing([busy("0")]).await;
    assert_eq!(failure(settings(&server.base)).await.kind(), "rate_limited");
    assert_eq!(server.calls(), 3);

    // A pause that would outlast the deadline is not begun.
    let server = Server::playing([busy("3600")]).await;
    let mut short = hasty(&server.base);
    short.patience.longest_pause = Duration::from_secs(60);
    assert_eq!(failure(short).await.kind(), "rate_limited");
    assert_eq!(server.calls(), 1);
}

#[tokio::test]
async fn f19_server_errors_are_tried_again_by_us_alone() {
    let broken = || Says::json(500, json!({ "error": "overloaded" }));
    let server = Server::playing([broken(), broken(), says(SAVE).into()]).await;
    let asked = choose_plainly(&model(settings(&server.base))).await;
    assert_eq!(asked.calls[0].sent, 3);
    assert!(is_save(&asked.outcome.unwrap()));
    let server = Server::playing([broken()]).await;
    failure(settings(&server.base)).await;
    assert_eq!(server.calls(), 3, "the crate's own retries are off");
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = Server::playing([says(SAVE)]).await;
    let moved = Says {
        headers: vec![("location", format!("{}/x", elsewhere.base))],
        ..Says::text(307, "text/plain", "moved")
    };
    let server = Server::playing([moved]).await;
    assert!(
        failure(settings(&server.base))
            .await
            .to_string()
            .contains("307")
    );
    assert_eq!(elsewhere.calls(), 0);
}
