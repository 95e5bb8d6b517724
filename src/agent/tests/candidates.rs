use proptest::prelude::*;

use super::*;
use crate::agent::candidates::CAP;
use crate::agent::error::AnswerError;
use crate::page::observation::{Hint, HintKind, Tri};

fn many(inputs: usize, named: usize, unnamed: usize) -> Observation {
    let mut nodes: Vec<Node> = (0..named)
        .map(|i| control("link", &format!("Link {i}")))
        .collect();
    nodes.extend((0..unnamed).map(|_| control("button", "")));
    nodes.extend((0..inputs).map(|i| control("textbox", &format!("Field {i}"))));
    page(nodes)
}

fn planners(page: &Observation, part: usize) -> Offer {
    Offer::new(page, &Purpose::default(), part, &mut Ids::default())
}

fn roles(offer: &Offer, role: &str) -> usize {
    offer.candidates.iter().filter(|c| c.role == role).count()
}

#[test]
fn r48_the_cap_holds_whatever_the_number_of_inputs() {
    for inputs in [0, 19, 20, 21, 60, 61, 500, 10_000] {
        for others in [0, 5, 39, 41, 300] {
            let offer = planners(&many(inputs, others, others), 0);
            let total = inputs + 2 * others;
            assert_eq!(offer.total, total);
            let shown = offer.candidates.len();
            if total <= CAP {
                assert_eq!(shown, total);
                continue;
            }
            assert!((1..=CAP).contains(&shown), "{inputs} {others}: {shown}");
            assert!(roles(&offer, "textbox") >= inputs.min(28), "inputs first");
            assert!(
                others < 12 || roles(&offer, "link") >= 12,
                "named ones keep a place"
            );
        }
    }
}

proptest! {
    #[test]
    fn r48_every_control_is_offered_exactly_once_over_all_parts(
        inputs in 0usize..150, named in 0usize..150, unnamed in 0usize..60,
    ) {
        let page = many(inputs, named, unnamed);
        let mut ids = Ids::default();
        let pages = planners(&page, 0).pages;
        let mut nodes = Vec::new();
        for part in 0..pages {
            let offer = Offer::new(&page, &Purpose::default(), part, &mut ids);
            prop_assert!(offer.candidates.len() <= CAP);
            prop_assert_eq!(offer.has_more(), part + 1 < pages);
            nodes.extend(offer.candidates.iter().map(|c| c.node));
        }
        nodes.sort();
        let before = nodes.len();
        nodes.dedup();
        prop_assert_eq!(nodes.len(), before);
        prop_assert_eq!(before, inputs + named + unnamed);
    }
}

#[test]
fn what_was_left_out_is_said() {
    let purpose = Purpose {
        verb: Some(Verb::Click),
        words: "link 3099".into(),
        limit: Some(24),
    };
    let page = many(0, 3_100, 0);
    let offer = Offer::new(&page, &purpose, 0, &mut Ids::default());
    assert_eq!(offer.cut().unwrap(), "24 of 3,100");
    assert!(offer.lines().last().unwrap().contains("24 of 3,100"));
    // Case 025: the wanted one is there although it stands last on the page.
    assert_eq!(offer.candidates[0].name, "Link 3099");
    assert_eq!(planners(&ten_controls(), 0).cut(), None);
}

#[test]
fn only_what_is_visible_reachable_and_interactive_is_offered() {
    let hidden = Node {
        rect: None,
        ..control("button", "Hidden")
    };
    let flat = Node {
        rect: Some(Rect::default()),
        ..control("button", "Flat")
    };
    let behind = Node {
        reachable: false,
        ..control("button", "Behind the dialog")
    };
    let page = page(vec![
        hidden,
        place("heading", "Title"),
        flat,
        behind,
        control("button", "Seen"),
    ]);
    let offer = planners(&page, 0);
    assert_eq!(offer.lines(), ["e1 button \"Seen\""]);
    // R46: the id means the node that was seen, not the first of the page.
    assert_eq!(offer.candidates[0].node.node, 4);
}

#[test]
fn text_is_lifted_to_the_control_around_it() {
    let mut row = control("generic", "");
    row.text = 0..11;
    let text = inside(
        0,
        Node {
            interactive: false,
            ..control("generic", "")
        },
    );
    let offer = planners(&page(vec![row, text]), 0);
    assert_eq!(offer.lines(), ["e1 generic \"Quick setup\""]);
}

#[test]
fn states_and_hints_are_short_words() {
    let mut hinted = control("button", "");
    hinted.hints = vec![
        Hint {
            kind: HintKind::NameAttribute,
            text: "btn_del_77".into(),
        },
        Hint {
            kind: HintKind::Tooltip,
            text: "Delete".into(),
        },
    ];
    let mut checkbox = control("checkbox", "Only mine");
    checkbox.states.checked = Some(Tri::True);
    checkbox.states.disabled = true;
    let mut select = control("combobox", "Deck");
    select.states.options = vec!["Upper".into(), "Lower".into()];
    select.states.value = Some("Upper".into());
    let offer = planners(&page(vec![hinted, checkbox, select]), 0);
    assert_eq!(
        offer.lines(),
        [
            "e1 button hint \"Delete\"",
            "e2 checkbox \"Only mine\" disabled checked",
            "e3 combobox \"Deck\" value \"Upper\" options \"Upper\", \"Lower\"",
        ]
    );
}

#[test]
fn a_place_is_named_only_to_tell_apart() {
    let page = page(vec![
        place("dialog", "Welcome"),
        inside(0, control("button", "Close")),
        inside(0, control("button", "Next")),
        place("navigation", ""),
        inside(3, control("button", "Close")),
        control("link", "More"),
        control("link", "More"),
    ]);
    assert_eq!(
        planners(&page, 0).lines(),
        [
            "e1 button \"Close\" in dialog \"Welcome\"",
            "e2 button \"Next\"",
            "e3 button \"Close\" in navigation",
            "e4 link \"More\" number 1 of 2",
            "e5 link \"More\" number 2 of 2",
        ]
    );
}

#[test]
fn r39_case_051_an_id_of_an_earlier_list_is_stale() {
    let mut ids = Ids::default();
    let first = Offer::new(&ten_controls(), &Purpose::default(), 0, &mut ids);
    let mut later = ten_controls();
    later.generation += 1;
    let second = Offer::new(&later, &Purpose::default(), 0, &mut ids);
    assert_eq!(first.candidates[2].id, "e3");
    assert_eq!(second.candidates[0].id, "e11");
    assert_eq!(second.find("e3"), Err(AnswerError::StaleId("e3".into())));
    assert_eq!(
        second.find("e21"),
        Err(AnswerError::UnknownId("e21".into()))
    );
    assert_eq!(second.find("e0"), Err(AnswerError::UnknownId("e0".into())));
    // And what was found in the first is refused by the page read later.
    let node = first.find("e3").unwrap().node;
    assert!(ten_controls().node(node).is_some() && later.node(node).is_none());
}

#[test]
fn a_verb_ranks_what_it_can_work_on_first() {
    let purpose = Purpose {
        verb: Some(Verb::Fill),
        words: "search".into(),
        limit: None,
    };
    let page = page(vec![
        control("button", "Search"),
        control("textbox", "Find"),
        control("searchbox", "Search the site"),
    ]);
    let offer = Offer::new(&page, &purpose, 0, &mut Ids::default());
    let roles: Vec<&str> = offer.candidates.iter().map(|c| c.role.as_str()).collect();
    assert_eq!(roles, ["searchbox", "textbox", "button"]);
}
