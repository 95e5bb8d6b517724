//! Exact, folded, near: in this order, and never more than was asked for.

use super::{Page, ask, ask_in};
use crate::page::{Rect, States, Tri};
use crate::resolve::{ACCEPT, Chooser, MissKind};
use crate::scenario::Verb;

#[test]
fn an_exact_name_beats_one_that_differs_by_case() {
    let mut page = Page::default();
    page.top("button", "save");
    let exact = page.top("button", "Save");
    let page = page.read();
    let pick = ask(&page, Verb::Click, "Save", false).unwrap();
    assert_eq!((pick.id.node, pick.chooser), (exact, Chooser::Exact));
    assert_eq!(
        ask(&page, Verb::Click, "SAVE", false).unwrap_err().kind,
        MissKind::Ambiguous
    );
}

#[test]
fn case_010_and_011_invisible_characters_do_not_count() {
    let mut page = Page::default();
    page.top("textbox", "Delivery\u{a0}window");
    page.top("button", "Con\u{ad}firm\u{ad}ation");
    page.top("button", "\u{200f}\u{2067}שמירה\u{2069}");
    let page = page.read();
    for (verb, name) in [
        (Verb::Fill, "Delivery window"),
        (Verb::Click, "Confirmation"),
        (Verb::Click, "שמירה"),
    ] {
        assert_eq!(
            ask(&page, verb, name, false).unwrap().chooser,
            Chooser::Exact
        );
    }
}

#[test]
fn case_141_ok_never_means_not_ok() {
    let mut page = Page::default();
    page.top("button", "Not OK");
    page.top("button", "OK, later");
    let page = page.read();
    for (near, sentence) in [(false, false), (true, false)] {
        let miss = ask_in(&page, Verb::Click, "OK", &[], None, near, sentence).unwrap_err();
        assert_eq!(miss.kind, MissKind::NotFound);
        assert!(miss.nearest.iter().any(|n| n.name == "Not OK"));
    }
}

#[test]
fn case_140_a_name_is_literal() {
    let mut page = Page::default();
    page.top("button", "axb");
    let dot = page.top("button", "a.b");
    let page = page.read();
    assert_eq!(ask(&page, Verb::Click, "a.b", true).unwrap().id.node, dot);
    assert!(ask(&page, Verb::Click, "a.*", true).is_err());
}

#[test]
fn a_near_match_is_taken_only_where_it_may_be() {
    let mut page = Page::default();
    page.top("link", "Inbox (3)");
    let page = page.read();
    let pick = ask(&page, Verb::Click, "Inbox", true).unwrap();
    assert_eq!(pick.chooser, Chooser::Near);
    assert!(pick.score >= ACCEPT);
    let miss = ask(&page, Verb::Click, "Inbox", false).unwrap_err();
    assert_eq!(miss.kind, MissKind::OnlyNear);
    assert!(miss.message.contains("never serves a step that writes"));
    assert!(miss.help.unwrap().contains("link \"Inbox (3)\""));
}

#[test]
fn only_a_sentence_takes_a_unique_containment() {
    let mut page = Page::default();
    page.top("button", "Search the whole archive");
    let page = page.read();
    assert!(ask(&page, Verb::Click, "archive", true).is_err());
    let pick = ask_in(&page, Verb::Click, "archive", &[], None, true, true).unwrap();
    assert_eq!(pick.chooser, Chooser::Near);
    // Whole words, never letters.
    assert!(ask_in(&page, Verb::Click, "arch", &[], None, true, true).is_err());
}

#[test]
fn two_containments_are_no_choice() {
    let mut page = Page::default();
    page.top("button", "Search the archive");
    page.top("button", "Empty the archive");
    let page = page.read();
    let miss = ask_in(&page, Verb::Click, "archive", &[], None, true, true).unwrap_err();
    assert_eq!(miss.kind, MissKind::Ambiguous);
}

#[test]
fn a_role_that_fits_the_verb_is_preferred() {
    let mut page = Page::default();
    let field = page.top("textbox", "Search");
    let button = page.top("button", "Search");
    let page = page.read();
    assert_eq!(
        ask(&page, Verb::Click, "Search", false).unwrap().id.node,
        button
    );
    assert_eq!(
        ask(&page, Verb::Fill, "Search", false).unwrap().id.node,
        field
    );
}

#[test]
fn case_027_a_hidden_file_field_serves_uploads_and_nothing_else() {
    let mut page = Page::default();
    let file = page.top("button", "Attach manifest");
    page.node(file).tag = "input".into();
    page.node(file).input_type = Some("file".into());
    page.node(file).rect = None;
    let page = page.read();
    assert_eq!(
        ask(&page, Verb::Upload, "Attach manifest", false)
            .unwrap()
            .id
            .node,
        file
    );
    assert!(ask(&page, Verb::Click, "Attach manifest", false).is_err());
    assert!(ask(&page, Verb::Expect, "Attach manifest", false).is_err());
}

#[test]
fn boxes_are_checked_and_lists_selected() {
    let mut page = Page::default();
    let toggle = page.top("button", "Bold");
    page.states(
        toggle,
        States {
            pressed: Some(Tri::False),
            ..States::default()
        },
    );
    page.top("button", "Plain");
    let group = page.top("group", "Delivery");
    let page = page.read();
    assert_eq!(
        ask(&page, Verb::Check, "Bold", false).unwrap().id.node,
        toggle
    );
    assert!(ask(&page, Verb::Check, "Plain", false).is_err());
    assert_eq!(
        ask(&page, Verb::Form, "Delivery", false).unwrap().id.node,
        group
    );
}

#[test]
fn a_control_in_a_control_of_its_name_is_one_thing() {
    let mut page = Page::default();
    let link = page.top("link", "Basket");
    let inner = page.add(Some(link), "button", "Basket");
    let page = page.read();
    assert_eq!(
        ask(&page, Verb::Click, "Basket", false).unwrap().id.node,
        inner
    );
}

#[test]
fn what_can_not_be_named_is_named_by_what_it_holds() {
    let mut page = Page::default();
    let anchor = page.top("listitem", "");
    page.says(anchor, "Anchor");
    let buoy = page.top("listitem", "");
    page.says(buoy, "Buoy 7");
    let page = page.read();
    let pick = ask(&page, Verb::Hover, "listitem \"Anchor\"", false).unwrap();
    assert_eq!((pick.id.node, pick.chooser), (anchor, Chooser::Text));
    let miss = ask(&page, Verb::Hover, "listitem \"Buoy\"", false).unwrap_err();
    assert_eq!(miss.kind, MissKind::OnlyNear);
    assert_eq!(
        ask(&page, Verb::Hover, "listitem \"Buoy\"", true)
            .unwrap()
            .id
            .node,
        buoy
    );
}

#[test]
fn a_date_field_is_a_textbox_to_its_author() {
    let mut page = Page::default();
    let date = page.top("generic", "Sailing day");
    page.node(date).tag = "input".into();
    page.node(date).input_type = Some("date".into());
    page.node(date).rect = Some(Rect::default());
    let page = page.read();
    assert_eq!(
        ask(&page, Verb::Fill, "textbox \"Sailing day\"", false)
            .unwrap()
            .id
            .node,
        date
    );
}

#[test]
fn the_runner_up_is_told() {
    let mut page = Page::default();
    page.top("button", "Sign in");
    page.top("button", "Sign in with email");
    let page = page.read();
    let pick = ask(&page, Verb::Click, "Sign in", false).unwrap();
    let second = pick.runner_up.unwrap();
    assert_eq!(second.name, "Sign in with email");
    assert!(second.score < ACCEPT);
    assert_eq!(pick.candidates, 2);
}

/// What a page's author called an element decides nothing; what a person hears does.
#[test]
fn r38_targets_are_found_by_role_and_name_alone() {
    let page = |test_id: &str, tag: &str, role: &str, name: &str| {
        let mut page = Page::default();
        page.top("link", "Home");
        let id = page.top(role, name);
        page.node(id).test_id = Some(test_id.into());
        page.node(id).tag = tag.into();
        (page.read(), id)
    };
    let picked = |page: &crate::page::Observation| {
        let pick = ask(page, Verb::Click, "button \"Save\"", false);
        pick.map(|p| p.id.node).map_err(|m| m.kind)
    };
    let (found, id) = page("save", "button", "button", "Save");
    assert_eq!(picked(&found), Ok(id));
    let (renamed, id) = page("x-17", "div", "button", "Save");
    assert_eq!(picked(&renamed), Ok(id));
    for (role, name) in [("heading", "Save"), ("button", "Remove")] {
        let (other, _) = page("save", "button", role, name);
        assert_eq!(picked(&other), Err(MissKind::NotFound), "{role} {name}");
    }
}

#[test]
fn a_combobox_and_its_open_list_of_the_same_name_are_one() {
    let page = |boxes: u32| {
        let mut page = Page::default();
        for _ in 0..boxes {
            page.top("combobox", "Ports");
        }
        page.top("listbox", "Ports");
        page.read()
    };
    let pick = ask(&page(1), Verb::Select, "Ports", false).expect("one");
    assert_eq!(pick.id.node, 0);
    // Two boxes of the name are two.
    assert!(ask(&page(2), Verb::Select, "Ports", false).is_err());
}

#[test]
fn a_field_asked_for_may_take_numbers_or_suggest() {
    for (role, tag) in [
        ("spinbutton", "input"),
        ("combobox", "input"),
        ("searchbox", "input"),
    ] {
        let mut page = Page::default();
        let field = page.top(role, "Quantity");
        page.node(field).tag = tag.into();
        let pick = ask(&page.read(), Verb::Fill, "textbox \"Quantity\"", false);
        assert_eq!(pick.expect(role).id.node, field);
    }
    // Drawn ones are what they say.
    let mut page = Page::default();
    page.top("spinbutton", "Quantity");
    assert!(ask(&page.read(), Verb::Fill, "textbox \"Quantity\"", false).is_err());
}
