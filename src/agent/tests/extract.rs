use serde_json::json;

use super::server::Server;
use super::*;
use crate::agent::extract::{Extracted, parse, raw_text};

async fn extract(reply: serde_json::Value) -> (Extracted, Server) {
    let server = Server::playing([reply]).await;
    let asked = model(settings(&server.base))
        .extract(
            &Asking::new(&NoSecrets),
            "List the late orders as JSON.",
            &ten_controls(),
        )
        .await;
    (asked.outcome.unwrap(), server)
}

#[tokio::test]
async fn r94_json_is_read_with_and_without_a_fence() {
    for content in [
        "[{\"id\":1}]",
        "```json\n[{\"id\":1}]\n```",
        "```\n[{\"id\":1}]\n```",
    ] {
        let (found, server) = extract(says(content)).await;
        assert_eq!(found, Extracted::Json(json!([{ "id": 1 }])));
        assert_eq!(server.calls(), 1);
    }
}

#[tokio::test]
async fn r94_what_is_no_json_comes_back_as_text_and_says_so() {
    for content in [
        "Order 7 is late.",
        "```json\n{\"id\":\n```",
        "{\"id\":1} and more",
        "{\"a\":1,\"a\":2}",
    ] {
        let (found, _) = extract(says(content)).await;
        assert_eq!(found, Extracted::Unparsed(content.into()));
        assert_eq!(found.label(), "unparsed text");
    }
}

#[tokio::test]
async fn r94_a_refusal_brings_the_pages_text() {
    let refusal = json!({ "choices": [{ "finish_reason": "stop", "message": { "content": null, "refusal": "no" } }] });
    let (found, _) = extract(refusal).await;
    assert_eq!(found, Extracted::Raw("Quick setup".into()));
}

#[test]
fn r94_without_a_model_the_text_is_labelled_raw() {
    let found = raw_text(&ten_controls());
    assert_eq!(found.label(), "raw text");
    assert_eq!(found.into_value(), json!("Quick setup"));
    assert_eq!(parse("7"), Extracted::Json(json!(7)));
}

#[tokio::test]
async fn the_page_is_data_here_too() {
    let (_, server) = extract(says("[]")).await;
    assert!(server.prompt(0).contains("\n\"Quick setup\"\n"));
    assert!(server.bodies()[0].get("response_format").is_none());
}
