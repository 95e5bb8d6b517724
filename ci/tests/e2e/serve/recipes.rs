//! Recipes over HTTP (R82–R96).

use serde_json::{Value, json};

use super::rig::{Serving, children_of, site};

#[test]
fn r83_r85_r86_r91_r93_r94_a_recipe_is_gated_by_its_text_and_runs_as_a_scenario() {
    let shop = site("parcels");
    let start = format!("http://{}", shop.at);
    let (serving, tokens) = Serving::start(&start, &[]);
    let run = |recipe: &Value| serving.call(&tokens.ada, "POST", "/run", Some(recipe.clone()));
    let mut recipe = json!({
        "entry": format!("{start}/login"),
        "steps": [
            { "type": "Email or seller name", "secret": "parcels-user.username" },
            { "type": { "css": "#password" }, "secret": "parcels-user.password" },
            { "click": "button \"Sign in\"", "write": true },
            { "waitFor": "heading \"Orders\"", "timeout": "5s" },
        ],
        "extract": {
            "orders": { "each": "#orders tbody tr", "fields": { "id": { "css": ".id" } } },
            "what": { "prompt": "what is on this page" },
        },
    });
    let refused = run(&recipe);
    let text = refused
        .raw
        .split_once("\r\n\r\n")
        .map_or("", |(_, body)| body);
    assert!(
        text.starts_with(r#"{"ok":false,"mode":"live","steps":[],"error":""#),
        "{text}"
    );
    assert!(text.ends_with("resend with confirm: true\"}"), "{text}");
    assert_eq!(
        run(&recipe).body,
        refused.body,
        "the same recipe, the same words"
    );
    recipe["dry"] = json!(true);
    let dry = run(&recipe);
    assert_eq!(
        (&dry.body["mode"], dry.body["plan"].as_array().map(Vec::len)),
        (&json!("dry"), Some(4)),
        "{}",
        dry.raw
    );
    // R84: so far nothing was started.
    assert_eq!(children_of(serving.service.pid()), 0);
    for (bad, word) in [
        (
            json!({ "entry": start, "steps": [{ "goto": "/", "write": true }] }),
            "only a `click` may carry `write`",
        ),
        (
            json!({ "entry": start, "selector": "x" }),
            "unknown field `selector`",
        ),
        (
            json!({ "entry": "file:///etc/passwd" }),
            "`file:` addresses",
        ),
    ] {
        let told = run(&bad);
        assert_eq!(told.status, 400, "{}", told.raw);
        assert!(
            told.body["error"].to_string().contains(word),
            "{}",
            told.raw
        );
    }
    recipe["dry"] = json!(false);
    recipe["confirm"] = json!(true);
    let done = run(&recipe);
    assert_eq!(
        (&done.body["ok"], &done.body["mode"]),
        (&json!(true), &json!("live")),
        "{}",
        done.raw
    );
    assert_eq!(
        done.body["steps"].as_array().map(Vec::len),
        Some(5),
        "{}",
        done.body["steps"]
    );
    assert_eq!(done.body["data"]["orders"][0]["id"], "1001");
    // R94: without a model the text itself, labelled.
    assert!(
        done.body["data"]["what"]
            .as_str()
            .is_some_and(|t| t.contains("45 orders")),
        "{}",
        done.body["data"]
    );
    assert!(
        done.body["notes"]["what"].is_string(),
        "{}",
        done.body["notes"]
    );
    assert!(
        done.body["picture"]["png"].is_string(),
        "{}",
        done.body["picture"]
    );
    // R89, R90: a click that says nothing of its write is stopped by the gate.
    let mut silent = recipe.clone();
    silent["steps"][2] = json!({ "click": "button \"Sign in\"" });
    silent["steps"][1] = json!({ "type": { "css": "#password" }, "text": "nothing" });
    let stopped = run(&silent);
    assert_eq!(
        (&stopped.body["ok"], &stopped.body["status"]),
        (&json!(false), &json!("refused")),
        "{}",
        stopped.raw
    );
    serving.assert_no_values(&[]);
}

#[test]
fn r17_a_recipes_own_secret_is_typed_and_told_nowhere() {
    const VALUE: &str = "zebra-4711-canary";
    let folder = tempfile::tempdir().expect("a folder");
    let page = r#"<!doctype html><html lang="en"><title>Till</title><h1>Till</h1>
<label>Amount <input id="a" oninput="o.textContent = 'typed: ' + this.value; n.textContent = this.value.length"></label>
<output id="o"></output> <p id="n"></p>"#;
    std::fs::write(folder.path().join("index.html"), page).expect("a page");
    let site = super::rig::folder_site(folder.path());
    let start = format!("http://{}/index.html", site.at);
    let (serving, tokens) = Serving::start("http://parcels.test", &[]);
    let recipe = |dry: bool| {
        json!({
            "entry": start,
            "steps": [{ "type": "Amount", "text": VALUE, "secret": true }],
            "extract": { "length": { "css": "#n" }, "echo": { "css": "#o" } },
            "dry": dry,
        })
    };
    let dry = serving.call(&tokens.ada, "POST", "/run", Some(recipe(true)));
    assert_eq!(dry.body["mode"], "dry", "{}", dry.raw);
    assert!(
        dry.body["plan"][0].to_string().contains("Amount"),
        "{}",
        dry.raw
    );
    let done = serving.call(&tokens.ada, "POST", "/run", Some(recipe(false)));
    assert_eq!(done.body["ok"], true, "{}", done.raw);
    assert_eq!(
        done.body["data"]["length"],
        VALUE.len().to_string(),
        "{}",
        done.raw
    );
    serving.assert_no_values(&[VALUE]);
    // What one run calls a secret doesn't keep others from saying it.
    let path = format!("/{VALUE}");
    let other = serving.call(&tokens.bob, "POST", "/run", Some(json!({ "entry": path })));
    assert_ne!(other.status, 500, "{}", other.raw);
}
