//! `within` and `nth`.

use super::{Page, ask_in};
use crate::page::{Document, NodeId};
use crate::resolve::MissKind;
use crate::scenario::Verb;

fn click(
    page: &crate::page::Observation,
    name: &str,
    within: &[&str],
    nth: Option<usize>,
) -> Result<u32, MissKind> {
    ask_in(page, Verb::Click, name, within, nth, false, false)
        .map(|p| p.id.node)
        .map_err(|m| m.kind)
}

#[test]
fn case_014_a_place_narrows_and_header_and_footer_count_as_places() {
    let mut page = Page::default();
    let header = page.top("generic", "Top");
    page.node(header).tag = "header".into();
    let first = page.add(Some(header), "link", "Sign in");
    let footer = page.top("contentinfo", "Bottom");
    let second = page.add(Some(footer), "link", "Sign in");
    let page = page.read();
    assert_eq!(
        click(&page, "Sign in", &["banner \"Top\""], None),
        Ok(first)
    );
    assert_eq!(
        click(&page, "Sign in", &["header \"Top\""], None),
        Ok(first)
    );
    assert_eq!(click(&page, "Sign in", &["footer"], None), Ok(second));
    let miss = ask_in(
        &page,
        Verb::Click,
        "link \"Sign in\"",
        &[],
        None,
        false,
        false,
    )
    .unwrap_err();
    assert_eq!(miss.kind, MissKind::Ambiguous);
    let places: Vec<_> = miss
        .nearest
        .iter()
        .filter_map(|n| n.place.clone())
        .collect();
    assert_eq!(places, ["header \"Top\"", "contentinfo \"Bottom\""]);
    assert!(miss.help.unwrap().contains("`within: header \"Top\"`"));
}

#[test]
fn a_row_is_named_by_words_it_holds_and_tells_twins_apart() {
    let mut page = Page::default();
    let mut edits = Vec::new();
    for order in ["Order 7", "Order 70"] {
        let row = page.top("row", "");
        let cell = page.add(Some(row), "cell", order);
        page.says(cell, order);
        let cell = page.add(Some(row), "cell", "Edit");
        edits.push(page.add(Some(cell), "button", "Edit"));
        page.says(cell, "Edit");
    }
    let page = page.read();
    assert_eq!(
        click(&page, "Edit", &["row \"Order 7\""], None),
        Ok(edits[0])
    );
    assert_eq!(
        click(&page, "Edit", &["row \"Order 70\""], None),
        Ok(edits[1])
    );
    let miss = ask_in(&page, Verb::Click, "Edit", &[], None, false, false).unwrap_err();
    let places: Vec<_> = miss
        .nearest
        .iter()
        .filter_map(|n| n.place.clone())
        .collect();
    assert_eq!(places, ["row \"Order 7\"", "row \"Order 70\""]);
}

#[test]
fn nth_counts_from_one_in_document_order() {
    let mut page = Page::default();
    let first = page.top("button", "Edit");
    let second = page.top("button", "Edit");
    let page = page.read();
    assert_eq!(click(&page, "Edit", &[], Some(1)), Ok(first));
    assert_eq!(click(&page, "Edit", &[], Some(2)), Ok(second));
    assert_eq!(click(&page, "Edit", &[], Some(3)), Err(MissKind::NotFound));
    assert_eq!(click(&page, "Edit", &[], None), Err(MissKind::Ambiguous));
}

#[test]
fn a_heading_names_its_dialog() {
    let mut page = Page::default();
    let dialog = page.top("dialog", "");
    page.add(Some(dialog), "heading", "Welcome");
    let inside = page.add(Some(dialog), "button", "Close");
    page.top("button", "Close");
    let page = page.read();
    assert_eq!(
        click(&page, "Close", &["dialog \"Welcome\""], None),
        Ok(inside)
    );
}

/// Sections often have a heading and no element that a reader could name.
#[test]
fn what_follows_a_heading_is_its_section() {
    for landmark in [None, Some("main")] {
        let mut page = Page::default();
        let outer = landmark.map(|role| page.top(role, ""));
        page.add(outer, "heading", "Billing");
        let first = page.add(outer, "button", "Edit");
        page.add(outer, "heading", "Shipping");
        let second = page.add(outer, "button", "Edit");
        let footer = page.top("contentinfo", "");
        page.add(Some(footer), "link", "Imprint");
        let page = page.read();
        for (place, edit) in [
            ("Billing", first),
            ("Shipping", second),
            ("heading \"Shipping\"", second),
        ] {
            assert_eq!(click(&page, "Edit", &[place], None), Ok(edit), "{place}");
        }
        let outside = click(&page, "Imprint", &["Shipping"], None);
        assert_eq!(outside, Err(MissKind::NotFound));
    }
}

#[test]
fn a_scope_that_is_not_there_is_said() {
    let mut page = Page::default();
    page.top("button", "Close");
    let page = page.read();
    let miss = ask_in(
        &page,
        Verb::Click,
        "Close",
        &["dialog \"Welcome\""],
        None,
        false,
        false,
    )
    .unwrap_err();
    assert_eq!(miss.kind, MissKind::NoScope);
    assert!(miss.message.contains("dialog \"Welcome\""));
}

#[test]
fn case_020_a_frame_is_a_place_across_documents() {
    let mut page = Page::default();
    let frame = page.top("iframe", "Payment");
    page.node(frame).tag = "iframe".into();
    page.top("textbox", "Name");
    let mut page = page.read();
    let mut inner = Page::default();
    inner.top("textbox", "Name");
    let inner = inner.read().documents.remove(0);
    page.documents.push(Document {
        owner: Some(NodeId {
            generation: 1,
            document: 0,
            node: frame,
        }),
        ..inner
    });
    let within = |within: &[&str]| {
        ask_in(&page, Verb::Fill, "Name", within, None, false, false).map(|p| p.id.document)
    };
    assert_eq!(within(&["frame \"Payment\""]), Ok(1));
    assert!(within(&[]).is_err());
}
