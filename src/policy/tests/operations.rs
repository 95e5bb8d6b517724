use crate::policy::operations;

fn names(body: &str) -> Vec<String> {
    operations("application/json; charset=utf-8", body.as_bytes())
}

#[test]
fn graphql_operations_are_named_with_their_kind() {
    assert_eq!(
        names(r#"{"query":"query Orders($n: Int = 3) { orders(first: $n) { id } }"}"#),
        ["Orders"]
    );
    assert_eq!(
        names(r#"{"query":"mutation Orders { wipe }"}"#),
        ["mutation Orders"]
    );
    assert_eq!(
        names(r#"{"query":"subscription S { x }"}"#),
        ["subscription S"]
    );
    assert_eq!(
        names(
            r#"{"operationName":"B","query":"query A { a } mutation B { b } fragment F on T { f }"}"#
        ),
        ["mutation B"]
    );
    assert_eq!(
        names(r#"{"operationName":"Orders","extensions":{"persistedQuery":{}}}"#),
        ["Orders"]
    );
    assert_eq!(
        names(r#"[{"query":"query A {a}"},{"query":"mutation B {b}"}]"#),
        ["A", "mutation B"]
    );
}

#[test]
fn json_rpc_methods_are_named() {
    assert_eq!(
        names(r#"{"jsonrpc":"2.0","id":1,"method":"orders.list","params":{"query":1}}"#),
        ["orders.list"]
    );
    assert_eq!(
        names(r#"[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","method":"b"}]"#),
        ["a", "b"]
    );
}

#[test]
fn a_body_that_can_be_read_in_two_ways_names_nothing_usable() {
    let twice = r#"{"operationName":"Orders","operationName":"Wipe","query":"query Orders {a} mutation Wipe {b}"}"#;
    assert!(names(twice).is_empty());
    for body in [
        r#"{"query":"{ orders }"}"#,
        r#"{"query":"query A {a} mutation B {b}"}"#,
        r#"{"operationName":"Orders","query":"mutation Wipe { wipe }"}"#,
        r#"{"query":"query Orders {a}","method":"wipe","jsonrpc":"2.0"}"#,
        r#"{"query":"query A {a} query A {b}","operationName":"A"}"#,
        r#"{"other":1}"#,
    ] {
        assert_eq!(names(body), ["(unnamed)"], "{body}");
    }
    assert_eq!(
        names(r#"[{"query":"query A {a}"},{"other":1}]"#),
        ["A", "(unnamed)"]
    );
}

#[test]
fn strings_and_comments_do_not_hide_an_operation() {
    let hidden =
        r##"{"query":"# query Orders {\nmutation Wipe { wipe(why: \"} query Orders {\") }"}"##;
    assert_eq!(names(hidden), ["mutation Wipe"]);
    let block = r#"{"query":"query Orders { a(x: \"\"\"} mutation Wipe { b\"\"\") }"}"#;
    assert_eq!(names(block), ["Orders"]);
}

#[test]
fn only_json_is_read() {
    let body = br#"{"query":"query Orders {a}"}"#;
    assert!(operations("text/plain", body).is_empty());
    assert!(operations("application/x-www-form-urlencoded", body).is_empty());
    assert_eq!(operations("application/graphql+json", body), ["Orders"]);
    assert!(names("not json").is_empty());
    assert!(names("").is_empty());
}
