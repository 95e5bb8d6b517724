//! What is said when nothing is picked.

use super::{Page, ask};
use crate::page::{HintKind, States, Unread, UnreadKind};
use crate::resolve::MissKind;
use crate::scenario::Verb;

#[test]
fn case_001_unnamed_buttons_are_listed_and_never_picked() {
    let mut page = Page::default();
    let bar = page.top("toolbar", "Suite tools");
    page.add(Some(bar), "button", "Create suite");
    let unnamed = page.add(Some(bar), "button", "");
    page.hint(unnamed, HintKind::Tooltip, "Archive suite");
    page.add(Some(bar), "button", "");
    let miss = ask(&page.read(), Verb::Click, "button \"Archive suite\"", true).unwrap_err();
    assert_eq!(miss.kind, MissKind::NotFound);
    let help = miss.help.unwrap();
    assert!(help.contains("inner tooltip \"Archive suite\""), "{help}");
    assert!(
        help.contains("2 controls here have no accessible name (button in toolbar \"Suite tools\""),
        "{help}"
    );
}

#[test]
fn case_002_plain_text_is_pointed_at() {
    let mut page = Page::default();
    let main = page.top("main", "");
    page.says(main, "Open the ledger");
    let help = ask(
        &page.read(),
        Verb::Click,
        "button \"Open the ledger\"",
        true,
    )
    .unwrap_err()
    .help
    .unwrap();
    assert!(help.contains("{ text: \"Open the ledger\" }"), "{help}");
}

#[test]
fn case_008_a_name_attribute_is_explained() {
    let mut page = Page::default();
    let list = page.top("combobox", "");
    page.hint(list, HintKind::NameAttribute, "carrier");
    let help = ask(&page.read(), Verb::Select, "combobox \"carrier\"", true)
        .unwrap_err()
        .help
        .unwrap();
    assert!(
        help.contains("a combobox without an accessible name has the name attribute \"carrier\""),
        "{help}"
    );
}

#[test]
fn what_has_the_name_and_does_not_fit_the_verb_is_named() {
    let mut page = Page::default();
    page.top("textbox", "Town");
    let main = page.top("main", "");
    page.says(main, "Cargo");
    let page = page.read();
    let help = |wanted: &str| ask(&page, Verb::Select, wanted, false).unwrap_err().help;
    let told = help("Town").unwrap_or_default();
    assert!(
        told.contains("textbox \"Town\" has that name; fill it, then click what it suggests"),
        "{told}"
    );
    // Words alone are nothing to choose from.
    assert_eq!(help("Cargo"), None);
}

#[test]
fn case_010_odd_characters_are_shown() {
    let mut page = Page::default();
    page.top("button", "Save\u{a0}draft\u{200b}s");
    let miss = ask(&page.read(), Verb::Click, "Save drafts now", true).unwrap_err();
    let shown = crate::resolve::describe("button", &miss.nearest[0].name);
    assert!(
        !shown.contains('\u{a0}') && !shown.contains('\u{200b}'),
        "{shown}"
    );
}

#[test]
fn case_019_a_closed_root_is_named() {
    let mut page = Page::default().read();
    page.unread.push(Unread {
        kind: UnreadKind::ClosedShadowRoot,
        what: "cast-box".into(),
    });
    let help = ask(&page, Verb::Click, "Cast off", true)
        .unwrap_err()
        .help
        .unwrap();
    assert!(help.contains("<cast-box>"));
}

#[test]
fn case_045_a_closed_menu_is_named() {
    let mut page = Page::default();
    let menu = page.top("menuitem", "Reports");
    page.states(
        menu,
        States {
            has_popup: true,
            ..States::default()
        },
    );
    let help = ask(&page.read(), Verb::Click, "menuitem \"Raw data\"", true)
        .unwrap_err()
        .help
        .unwrap();
    assert!(
        help.contains("menuitem \"Reports\" opens a menu: `hover:`"),
        "{help}"
    );
}

#[test]
fn what_lies_behind_a_modal_dialog_is_not_picked() {
    let mut page = Page::default();
    let save = page.top("button", "Save");
    page.node(save).reachable = false;
    let dialog = page.top("dialog", "Rename");
    page.states(
        dialog,
        States {
            modal: true,
            ..States::default()
        },
    );
    let miss = ask(&page.read(), Verb::Click, "Save", true).unwrap_err();
    assert_eq!(miss.kind, MissKind::BehindDialog);
    assert!(miss.message.contains("behind dialog \"Rename\""));
}

#[test]
fn another_role_of_the_name_is_told() {
    let mut page = Page::default();
    page.top("link", "Basket");
    let help = ask(&page.read(), Verb::Click, "button \"Basket\"", true)
        .unwrap_err()
        .help
        .unwrap();
    assert!(help.contains("link \"Basket\" has that name"));
}
