//! What an author wrote to be compared with a page, as the reader gives pages: without values.

use super::model::{Expectation, Step};
use super::walk::{self, Place, Visit};
use crate::text::Span;

struct Hide<F>(F);

impl<F: Fn(&str) -> String> Visit for Hide<F> {
    fn text(&mut self, text: &mut String, place: Place, _: Span) {
        if matches!(place, Place::Named | Place::NamedGlob) {
            *text = (self.0)(text);
        }
    }
}

/// What a step types, opens and sends stays as it is.
pub fn hide_in_step(step: &mut Step, clean: impl Fn(&str) -> String) {
    walk::step(&mut Hide(clean), step);
}

pub fn hide_in_expectations(lines: &mut [Expectation], clean: impl Fn(&str) -> String) {
    walk::expectations(&mut Hide(clean), lines);
}
