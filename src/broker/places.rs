//! Targets the rules can't see in an observation: by text, by CSS, further down a scrollable list.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::page::{self, NodeId};
use crate::resolve::{Chooser, Miss, MissKind, Near, Pick, place_of};
use crate::scenario::Scope;
use crate::text::visible;

use super::session::Broker;
use super::types::BrokerError;

/// Steps down lists before the search ends.
const MOST: u32 = 400;
/// What a list fetches as it is scrolled is waited for, so long at most for one step.
const FETCHED_WITHIN: Duration = Duration::from_millis(1000);
/// A list that is at its end is given so long to grow.
const GROWS_WITHIN: Duration = Duration::from_millis(600);

/// How far lists were scrolled for a name that is not there yet.
#[derive(Debug, Clone, Default)]
pub struct Search {
    boxes: Option<Vec<String>>,
    at: usize,
    /// The box at `at` was put to its top.
    entered: bool,
    steps: u32,
    ended: bool,
}

impl Broker {
    /// The element that shows a text: the innermost one, lifted to its nearest actionable ancestor.
    pub async fn by_text(
        &mut self,
        text: &str,
        scope: &Scope,
    ) -> Result<Result<Pick, Miss>, BrokerError> {
        self.by(text, scope, Chooser::Text).await
    }

    /// The element a CSS selector means.
    pub async fn by_css(
        &mut self,
        css: &str,
        scope: &Scope,
    ) -> Result<Result<Pick, Miss>, BrokerError> {
        self.by(css, scope, Chooser::Css).await
    }

    async fn by(
        &mut self,
        what: &str,
        scope: &Scope,
        chooser: Chooser,
    ) -> Result<Result<Pick, Miss>, BrokerError> {
        self.seek(&scope.within);
        let observation = self.seen().await?;
        let words = match chooser {
            Chooser::Css => format!("element matching {what}"),
            _ => format!("text \"{}\"", visible(what)),
        };
        let scopes = match crate::resolve::scopes(&observation, &scope.within) {
            Ok(scopes) => scopes,
            Err(miss) => return Ok(Err(miss)),
        };
        let mut found = Vec::new();
        for (index, document) in observation.documents.iter().enumerate() {
            let answer = match chooser {
                Chooser::Css => {
                    page::acts::query(
                        &self.realm(),
                        &document.context,
                        observation.generation,
                        index as u32,
                        what,
                    )
                    .await?
                }
                _ => {
                    page::places::query_text(
                        &self.realm(),
                        &document.context,
                        observation.generation,
                        index as u32,
                        what,
                    )
                    .await?
                }
            };
            match answer {
                Ok(more) => found.extend(more),
                Err(reason) if reason == "stale" => return Err(BrokerError::Stale),
                Err(_) => return Ok(Err(Miss::bad_selector(what))),
            }
        }
        // An element outside the read's own list has no place in it: scopes can't narrow it, except
        // by the ancestors the page itself tells.
        let mut kept = Vec::new();
        for one in found {
            if scopes.is_empty() || self.lies_in(one.id, &scopes, &observation).await? {
                kept.push(one);
            }
        }
        let near = |f: &page::acts::Found| Near {
            id: f.id,
            role: f.role.clone(),
            name: f.name.clone(),
            score: chooser.score(),
            place: place_of(&observation, f.id),
        };
        let chosen = match (scope.nth, kept.len()) {
            (_, 0) => {
                return Ok(Err(Miss {
                    kind: MissKind::NotFound,
                    message: format!("no {words} on this page"),
                    nearest: Vec::new(),
                    help: None,
                }));
            }
            (Some(nth), n) if nth > n => {
                return Ok(Err(Miss {
                    kind: MissKind::NotFound,
                    message: format!("nth: {nth} was asked for, but {n} match {words}"),
                    nearest: kept.iter().map(near).collect(),
                    help: None,
                }));
            }
            (Some(nth), _) => &kept[nth.max(1) - 1],
            (None, 1) => &kept[0],
            (None, n) => {
                return Ok(Err(Miss {
                    kind: MissKind::Ambiguous,
                    message: format!("{n} elements match {words}"),
                    nearest: kept.iter().take(10).map(near).collect(),
                    help: Some(
                        "narrow it with `within` or `nth: 1` (counts in document order)".into(),
                    ),
                }));
            }
        };
        Ok(Ok(Pick {
            id: chosen.id,
            chooser,
            role: chosen.role.clone(),
            name: self.scrubber.clean(&chosen.name).as_str().to_owned(),
            scope: Vec::new(),
            score: chooser.score(),
            runner_up: None,
            candidates: kept.len(),
        }))
    }

    async fn lies_in(
        &self,
        id: NodeId,
        scopes: &[Vec<NodeId>],
        observation: &page::Observation,
    ) -> Result<bool, BrokerError> {
        for scope in scopes {
            let mut inside = false;
            for outer in scope.iter().filter(|outer| outer.document == id.document) {
                let document = &observation.documents[id.document as usize].context;
                inside |= page::places::contains(&self.realm(), document, *outer, id).await?;
            }
            // A frame named as scope holds whole documents.
            inside |= scope.iter().any(|outer| {
                let mut owner = observation
                    .documents
                    .get(id.document as usize)
                    .and_then(|d| d.owner);
                while let Some(id) = owner {
                    if id == *outer || observation.ancestors(id).any(|(a, _)| a == *outer) {
                        return true;
                    }
                    owner = observation
                        .documents
                        .get(id.document as usize)
                        .and_then(|d| d.owner);
                }
                false
            });
            if !inside {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// One step down the scrollable lists, inner ones first, each from its top: a virtual list builds
    /// rows as it is scrolled. Bounded; `false` once nothing moves any more.
    pub async fn scroll_on(&mut self) -> Result<bool, BrokerError> {
        if self.searched.ended || self.searched.steps >= MOST {
            return Ok(false);
        }
        let context = self.tab.id().to_owned();
        if self.searched.boxes.is_none() {
            let boxes = page::acts::scrollers(&self.realm(), &context).await?;
            self.searched.boxes = Some(boxes.into_iter().map(|b| b.what).collect());
        }
        let count = self.searched.boxes.as_ref().map_or(0, Vec::len);
        while self.searched.at < count {
            let at = self.searched.at;
            self.searched.steps += 1;
            if !std::mem::replace(&mut self.searched.entered, true)
                && page::acts::scroll_to(&self.realm(), &context, at, 0.0).await?
            {
                self.drawn(&context).await?;
                return Ok(true);
            }
            if page::acts::scroll_by(&self.realm(), &context, at, 0.9).await? {
                self.drawn(&context).await?;
                return Ok(true);
            }
            // The end may be one only until the next rows have been built.
            let until = Instant::now() + GROWS_WITHIN;
            while Instant::now() < until {
                sleep(Duration::from_millis(50)).await;
                self.fetched().await;
                if page::acts::scroll_by(&self.realm(), &context, at, 0.9).await? {
                    self.drawn(&context).await?;
                    return Ok(true);
                }
            }
            self.searched.at += 1;
            self.searched.entered = false;
        }
        self.searched.ended = true;
        Ok(false)
    }

    /// Lists draw their rows in the frame after they were scrolled.
    async fn drawn(&mut self, context: &str) -> Result<(), BrokerError> {
        match page::call(&self.realm(), context, "twoFrames", &[], None).await {
            Ok(_) | Err(page::ReadError::Call(page::CallFault::Gone(_))) => {}
            Err(error) => return Err(error.into()),
        }
        self.fetched().await;
        Ok(())
    }

    /// Waits while the page fetches; whether it did.
    async fn fetched(&mut self) -> bool {
        let until = Instant::now() + FETCHED_WITHIN;
        let mut waited = false;
        while self.fetching() && Instant::now() < until {
            waited = true;
            sleep(Duration::from_millis(20)).await;
        }
        waited
    }

    /// What the search came to, for the failure.
    pub fn searched(&self) -> Vec<String> {
        match &self.searched.boxes {
            Some(boxes) if self.searched.steps > 0 && !boxes.is_empty() => {
                let end = if self.searched.ended {
                    "to their ends"
                } else {
                    "as far as the limit allows"
                };
                vec![format!(
                    "{} scrollable areas were searched {end} ({} steps)",
                    boxes.len(),
                    self.searched.steps
                )]
            }
            _ => Vec::new(),
        }
    }

    /// Whether a search down the lists is still going on.
    pub fn searching(&self) -> bool {
        self.searched.steps > 0 && !self.searched.ended && self.searched.steps < MOST
    }

    /// Scrolls the page or its largest scroll box by a share of a view; extremes mean the ends.
    pub async fn scroll_page(&mut self, dx: i32, dy: i32) -> Result<bool, BrokerError> {
        let moved = page::call(
            &self.realm(),
            self.tab.id(),
            "scrollView",
            &[json!(null), json!(null), share(dx), share(dy)],
            None,
        )
        .await?;
        Ok(moved["value"].as_bool().unwrap_or(false))
    }
}

/// Steps are nine tenths of what is seen; the extremes go to the end.
pub(super) fn share(step: i32) -> serde_json::Value {
    match step {
        i32::MAX => json!("end"),
        i32::MIN => json!("start"),
        n => json!(f64::from(n) * 0.9),
    }
}
