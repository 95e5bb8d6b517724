use crate::policy::{risky, risky_languages};

#[test]
fn r90_risky_names_are_found_as_whole_words() {
    assert_eq!(risky("Delete repository", "en"), Some("delete"));
    assert_eq!(risky("PAY NOW €12", "en"), Some("pay"));
    assert_eq!(risky("Yes, cancel order", "en-GB"), Some("cancel order"));
    assert_eq!(risky("Elimina progetto", "it"), Some("elimina"));
    assert_eq!(risky("Paga ora", "it-IT"), Some("paga"));
    for harmless in [
        "Payment methods",
        "Undeleted",
        "Cancel",
        "Senders",
        "Search",
        "",
    ] {
        assert_eq!(risky(harmless, "en"), None, "{harmless}");
    }
    assert_eq!(risky("Elimina", "en"), None);
    assert_eq!(risky("Delete", "xx"), None);
}

#[test]
fn both_lexicon_languages_have_a_list() {
    for language in ["en", "it"] {
        assert!(risky_languages().any(|tag| tag == language), "{language}");
    }
}
