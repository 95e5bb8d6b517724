//! Which frame shows a step, and what is outlined on it.
//!
//! A frame is taken when its step is over, with the acted control's box as it was while acting. So a
//! control that was typed into is found on its own step's frame, but one whose click opened another
//! page is on the frame before. A frame taken within the step before the action is better than both.

use super::actions::{Action, Kind, Wish, page_of};
use super::group::Group;
use super::history::History;
use super::model::{Covered, Mark, Picture, tame};
use crate::event::{END, Frame};

/// The picture of a step; `None` when it was not wished, or every frame was withheld.
pub fn of_group(history: &History, group: &Group, number: usize, alt: &str) -> Option<Picture> {
    if group.actions.iter().any(|a| a.picture == Wish::Drop)
        && !group.actions.iter().any(|a| a.picture == Wish::Keep)
    {
        return None;
    }
    let told = group.told();
    // The last action usually decides what the state is: the form filled in, before it is sent.
    let main = told
        .iter()
        .rev()
        .find(|a| a.picture == Wish::Keep)
        .or(told.last())?;
    let frame = shows(history, main)?;
    let on_it =
        |action: &Action| marked(history, action).filter(|_| same_view(history, action, frame));
    let marks = told
        .iter()
        .enumerate()
        .filter_map(|(i, action)| {
            let (rect, point) = on_it(action)?;
            Some(Mark {
                number: i as u32 + 1,
                rect,
                point,
            })
        })
        .collect();
    Some(picture(frame, number, alt, marks))
}

/// The end state as it was looked at; of a run that stopped, the last that was seen.
pub fn of_end(history: &History, stopped: bool, number: usize) -> Option<Picture> {
    let mut kept = history
        .frames
        .iter()
        .rev()
        .filter(|(_, f)| f.file.is_some());
    let (_, frame) = kept.find(|(_, f)| stopped || f.step == END)?;
    let (name, alt) = match stopped {
        true => ("stopped", "The page where the run stopped"),
        false => ("result", "The page at the end"),
    };
    let mut picture = picture(frame, number, alt, Vec::new());
    picture.file = format!("pictures/{number:02}-{name}.png");
    Some(picture)
}

fn picture(frame: &Frame, number: usize, alt: &str, marks: Vec<Mark>) -> Picture {
    Picture {
        file: format!("pictures/{number:02}-{}.png", slug(alt)),
        alt: tame(alt, 200),
        frame: frame.file.clone().unwrap_or_default(),
        hash: frame.hash.clone(),
        marks,
        redactions: frame
            .redactions
            .iter()
            .map(|r| Covered {
                rect: r.rect,
                reason: r.reason.clone(),
            })
            .collect(),
    }
}

/// The frame on which the action can be seen.
fn shows<'h>(history: &'h History, action: &Action) -> Option<&'h Frame> {
    let here = |frame: &&Frame| page_of(&frame.url) == action.page;
    let kept: Vec<(usize, &Frame)> = history
        .frames
        .iter()
        .filter(|(_, f)| f.file.is_some())
        .map(|(at, f)| (*at, f))
        .collect();
    let first_in = |from: usize, to: usize| {
        kept.iter()
            .find(|(at, _)| (from..to).contains(at))
            .map(|(_, f)| *f)
    };
    let within = first_in(action.from, action.at);
    let own = first_in(action.at, action.to + 1);
    let before = kept
        .iter()
        .rev()
        .find(|(at, _)| *at < action.from)
        .map(|(_, f)| *f);
    match action.kind {
        Kind::Goto | Kind::Person => own,
        // For typing, the state after shows more than the state before.
        kind if kind.enters() => own.filter(here).or(within).or(before.filter(here)).or(own),
        Kind::Login => within.or(before).or(own),
        _ => within.or(before.filter(here)).or(own),
    }
}

/// Box and point of an action, which its own step's frame carries.
fn marked(history: &History, action: &Action) -> Option<([i32; 4], Option<[i32; 2]>)> {
    let own = history
        .frames
        .iter()
        .filter(|(at, _)| (action.from..=action.to).contains(at));
    let mut boxed = own.filter_map(|(_, f)| f.target.map(|target| (target, f.point)));
    let last_of_step = history
        .tries
        .iter()
        .filter(|t| t.from == action.from)
        .all(|t| t.acted.last().is_none_or(|(at, _)| *at == action.at));
    // A step with several primitives (`form:`) has one box, that of its last.
    boxed.next_back().filter(|_| last_of_step)
}

/// Whether the action was done on the page the frame shows, at the same size. A scroll bar that comes
/// or goes makes no difference.
fn same_view(history: &History, action: &Action, frame: &Frame) -> bool {
    const SCROLL_BAR: u32 = 40;
    let near = |a: u32, b: u32| a.abs_diff(b) <= SCROLL_BAR;
    let mut own = history
        .frames
        .iter()
        .filter(|(at, _)| (action.from..=action.to).contains(at));
    let as_acted = own.find(|(_, f)| f.target.is_some()).map(|(_, f)| f);
    page_of(&frame.url) == action.page
        && as_acted.is_none_or(|f| near(f.width, frame.width) && near(f.height, frame.height))
}

/// A file name of letters, digits and hyphens, whatever the page calls its controls.
fn slug(text: &str) -> String {
    let mut out = String::new();
    for word in text
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|w| !w.is_empty())
    {
        if out.len() + word.len() > 32 {
            break;
        }
        if !out.is_empty() {
            out.push('-');
        }
        out.push_str(&word.to_ascii_lowercase());
    }
    if out.is_empty() { "step".into() } else { out }
}
