//! What holds for any page (R46, R49, R52 where the resolver answers for them).

use proptest::prelude::*;

use super::{Page, ask};
use crate::page::Observation;
use crate::resolve::{ACCEPT, Chooser, MissKind};
use crate::scenario::Verb;
use crate::text::fold::fold_case;

const NAMES: &[&str] = &[
    "Save",
    "save",
    "Save as",
    "Save (2)",
    "Do not save",
    "Cancel",
    "",
    "Löschen",
];
const ROLES: &[&str] = &["button", "link", "textbox", "checkbox", "heading", "region"];

fn pages() -> impl Strategy<Value = Observation> {
    proptest::collection::vec((0..ROLES.len(), 0..NAMES.len(), any::<bool>()), 0..12).prop_map(
        |elements| {
            let mut page = Page::default();
            for (role, name, reachable) in elements {
                let at = page.top(ROLES[role], NAMES[name]);
                page.node(at).reachable = reachable;
            }
            page.read()
        },
    )
}

proptest! {
    /// A pick is an element of this very read, reachable, with the name that was asked for; a
    /// step that writes never gets a near one.
    #[test]
    fn r46_a_pick_is_the_element_that_was_seen(page in pages(), name in 0..NAMES.len(), near in any::<bool>()) {
        prop_assume!(!NAMES[name].is_empty());
        match ask(&page, Verb::Click, NAMES[name], near) {
            Ok(pick) => {
                let node = page.node(pick.id).expect("a node of this read");
                prop_assert!(node.reachable);
                prop_assert_eq!(&node.name, &pick.name);
                prop_assert!(pick.score >= ACCEPT);
                if !near {
                    prop_assert_eq!(fold_case(&node.name), fold_case(NAMES[name]));
                    prop_assert!(pick.chooser != Chooser::Near);
                }
            }
            Err(miss) => prop_assert!(!miss.message.is_empty()),
        }
    }

    /// Reading order decides nothing: the same elements in any order give the same name or the
    /// same kind of miss.
    #[test]
    fn r49_order_decides_nothing(elements in proptest::collection::vec((0..ROLES.len(), 0..NAMES.len()), 0..8), name in 0..NAMES.len()) {
        prop_assume!(!NAMES[name].is_empty());
        let build = |elements: &[(usize, usize)]| {
            let mut page = Page::default();
            for (role, name) in elements {
                page.top(ROLES[*role], NAMES[*name]);
            }
            page.read()
        };
        let mut turned = elements.clone();
        turned.reverse();
        let came = |page: &Observation| {
            ask(page, Verb::Click, NAMES[name], true)
                .map(|p| (p.role, p.name))
                .map_err(|m| m.kind)
        };
        prop_assert_eq!(came(&build(&elements)), came(&build(&turned)));
    }

    /// One more element of the same role and name turns a pick into a refusal, never into another pick.
    #[test]
    fn r52_a_twin_makes_it_ambiguous(page in pages(), name in 0..NAMES.len()) {
        prop_assume!(!NAMES[name].is_empty());
        if let Ok(pick) = ask(&page, Verb::Click, NAMES[name], true) {
            let mut twinned = page.clone();
            let twin = page.node(pick.id).expect("a node").clone();
            twinned.documents[0].nodes.push(twin);
            let miss = ask(&twinned, Verb::Click, NAMES[name], true).map(|p| p.name);
            prop_assert_eq!(miss.map_err(|m| m.kind), Err(MissKind::Ambiguous));
        }
    }
}
