//! Preparing and performing one primitive on one node of the latest observation.
//!
//! `prepare` says whether it can be done and where; `perform` does it at most once. An answer that
//! is lost is an unknown outcome: look again, never repeat.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use crate::driver::{Actions, Button, Key, Origin};
use crate::page::acts::{self, Obstacle, Point, Purpose};
use crate::page::{self, Node, NodeId, Rect};

use super::fields::{set_directly, takes_keys};
use super::session::Broker;
use super::types::{BrokerError, Effect, Primitive, Unfit};

/// One action may take so long to be answered: dialogs it opens are answered meanwhile.
const ACTION: Duration = Duration::from_secs(15);

/// A click that opens a file dialog opens it at once.
const FILE_DIALOG: Duration = Duration::from_secs(2);

/// A node that is fit for a primitive, and where to point. Good for one `perform`.
#[derive(Debug)]
pub struct Prepared {
    pub(super) id: NodeId,
    pub(super) context: String,
    pub(super) point: Point,
    pub(super) node: Node,
}

impl Prepared {
    /// Preparing scrolled the page: the last picture no longer shows the control where it is.
    pub fn scrolled(&self) -> bool {
        let Some(rect) = self.node.rect else {
            return false;
        };
        let inside = (rect.x..=rect.x + rect.width).contains(&self.point.x)
            && (rect.y..=rect.y + rect.height).contains(&self.point.y);
        !self.point.on_label && !inside
    }

    /// The node as it was read.
    pub fn node(&self) -> &Node {
        &self.node
    }
}

/// The outcome of what the page allowed or not; the outer error is the browser's.
pub(super) type Fit<T> = Result<Result<T, Unfit>, BrokerError>;

impl Broker {
    /// Is the node still there, still, enabled, in view and on top? Where would one point?
    pub async fn prepare(&mut self, id: NodeId, primitive: &Primitive) -> Fit<Prepared> {
        let began = Instant::now();
        let context = self.document_of(id)?;
        let node = self
            .last
            .as_ref()
            .and_then(|o| o.node(id).cloned())
            .unwrap_or_default();
        let purpose = match primitive {
            Primitive::Click | Primitive::Check { .. } | Primitive::Submit => Purpose::Click,
            Primitive::Select { .. } if node.tag != "select" => Purpose::Click,
            Primitive::Fill { .. } if set_directly(&node) => Purpose::Set,
            // A frame around it may still be in the way.
            Primitive::Fill { .. } if id.document == 0 && takes_keys(&node) => Purpose::Type,
            Primitive::Fill { .. } | Primitive::FillSecret { .. } | Primitive::Select { .. } => {
                Purpose::Fill
            }
            Primitive::Press { .. }
            | Primitive::Hover
            | Primitive::ScrollTo
            | Primitive::Scroll { .. } => Purpose::Hover,
            Primitive::Drag { .. } => Purpose::Drag,
            Primitive::Upload { .. } => Purpose::Upload,
        };
        let answer = match acts::prepare(&self.realm(), &context, id, purpose).await {
            Ok(answer) => answer,
            // Its document went away: so did the element.
            Err(page::ReadError::Call(page::CallFault::Gone(_))) => {
                return Ok(Err(Unfit::Rerendered));
            }
            Err(error) => return Err(error.into()),
        };
        let answer = match answer {
            Ok(point) if purpose != Purpose::Upload => self.seen_from_above(id, point).await?,
            other => other,
        };
        self.spent("act", began);
        Ok(match answer {
            Ok(point) => Ok(Prepared {
                id,
                context,
                point,
                node,
            }),
            // Keys, scrolling and native lists need no free point, only the element.
            Err(Obstacle::Covered(_) | Obstacle::OffScreen | Obstacle::ZeroSize)
                if matches!(primitive, Primitive::ScrollTo | Primitive::Press { .. }) =>
            {
                Ok(Prepared {
                    id,
                    context,
                    point: Point {
                        x: 0.0,
                        y: 0.0,
                        on_label: false,
                        checked: None,
                        entered: None,
                    },
                    node,
                })
            }
            Err(Obstacle::ReadOnly) => Err(Unfit::ReadOnly {
                why: super::fields::read_only_words(&node).into(),
            }),
            Err(obstacle) => Err(self.unfit(obstacle)),
        })
    }

    /// A point in a frame is free only if every document around the frame lets it through. The point
    /// stays one of the frame's own viewport.
    async fn seen_from_above(
        &self,
        id: NodeId,
        point: Point,
    ) -> Result<Result<Point, Obstacle>, BrokerError> {
        let Some(observation) = self.last.clone() else {
            return Err(BrokerError::Stale);
        };
        let mut outer = point;
        let mut document = id.document;
        while let Some(owner) = observation
            .documents
            .get(document as usize)
            .and_then(|d| d.owner)
        {
            let context = self.document_of(owner)?;
            match acts::through_frame(&self.realm(), &context, owner, outer).await {
                Ok(Ok(seen)) => outer = seen,
                Ok(Err(obstacle)) => return Ok(Err(obstacle)),
                Err(page::ReadError::Call(page::CallFault::Gone(_))) => {
                    return Ok(Err(Obstacle::Detached));
                }
                Err(error) => return Err(error.into()),
            }
            document = owner.document;
        }
        Ok(Ok(point))
    }

    fn unfit(&self, obstacle: Obstacle) -> Unfit {
        let clean = |text: String| self.scrubber.clean(&text).as_str().to_owned();
        match obstacle {
            Obstacle::Stale | Obstacle::Detached | Obstacle::Hidden => Unfit::Rerendered,
            Obstacle::Disabled(by) => Unfit::Disabled { by: by.map(clean) },
            Obstacle::ReadOnly => Unfit::ReadOnly {
                why: "it takes no typing; use the controls around it".into(),
            },
            Obstacle::Moving => Unfit::Moving,
            Obstacle::ZeroSize => Unfit::NoSize,
            Obstacle::OffScreen => Unfit::OutOfView,
            Obstacle::PassesThrough => Unfit::PassesPointerThrough,
            Obstacle::Covered(by) => Unfit::Covered { by: clean(by) },
        }
    }

    /// Carries the primitive out, once.
    pub async fn perform(&mut self, prepared: Prepared, primitive: &Primitive) -> Fit<Effect> {
        let began = Instant::now();
        // A hidden opener stops painting and clicking (measured): the driven tab is in front.
        if self.watch.state().tabs.len() > 1 {
            self.tab.activate().await?;
        }
        let result = self.do_it(&prepared, primitive).await;
        self.spent("act", began);
        result.map(|fit| {
            fit.map(|notes| Effect {
                change: None,
                point: matches!(
                    primitive,
                    Primitive::Click | Primitive::Submit | Primitive::Check { .. }
                )
                .then_some((prepared.point.x, prepared.point.y)),
                rect: self.rect_in_view(&prepared),
                notes,
            })
        })
    }

    async fn do_it(&mut self, prepared: &Prepared, primitive: &Primitive) -> Fit<Vec<String>> {
        match primitive {
            Primitive::Click => self.click(prepared).await,
            Primitive::Fill { text } => self.fill(prepared, text).await,
            Primitive::FillSecret { credential, field } => {
                self.fill_secret(prepared, credential, field).await
            }
            Primitive::Select { option } => self.select(prepared, option).await,
            Primitive::Check { on } => self.check(prepared, *on).await,
            Primitive::Press { keys } => self.press(prepared, keys).await,
            Primitive::Hover => self.hover(prepared).await,
            Primitive::ScrollTo => {
                acts::scroll_into_view(&self.realm(), &prepared.context, prepared.id).await?;
                Ok(Ok(Vec::new()))
            }
            Primitive::Scroll { dx, dy } => {
                let arguments = [
                    json!(prepared.id.generation),
                    json!(prepared.id.node),
                    super::places::share(*dx),
                    super::places::share(*dy),
                ];
                let moved = page::call(
                    &self.realm(),
                    &prepared.context,
                    "scrollView",
                    &arguments,
                    None,
                )
                .await?;
                if moved["value"].as_bool() != Some(false) {
                    return Ok(Ok(Vec::new()));
                }
                // At its end, or it scrolls by itself when the wheel is turned over it.
                let rect = prepared.node.rect.unwrap_or_default();
                let by = |share: i32, view: f64| share.clamp(-1, 1) * (view * 0.8) as i32;
                let wheel = Actions::wheel(
                    prepared.point.x,
                    prepared.point.y,
                    by(*dx, rect.width),
                    by(*dy, rect.height),
                );
                self.act(&prepared.context, wheel).await?;
                Ok(Ok(vec![
                    "it was at its end already, or scrolls by itself: the wheel was turned over it"
                        .into(),
                ]))
            }
            Primitive::Drag { to } => self.drag(prepared, *to).await,
            Primitive::Upload { file } => self.upload(prepared, file).await,
            Primitive::Submit => self.submit(prepared).await,
        }
    }

    /// Pointer down and up at the point the hit test gave.
    pub(super) async fn click(&mut self, prepared: &Prepared) -> Fit<Vec<String>> {
        let actions = Actions::click(
            &Origin::Viewport,
            prepared.point.x,
            prepared.point.y,
            Button::Left,
            1,
        );
        self.act(&prepared.context, actions).await?;
        self.clicked = Some(prepared.context.clone());
        Ok(Ok(Vec::new()))
    }

    pub(super) async fn act(&mut self, context: &str, actions: Actions) -> Result<(), BrokerError> {
        self.acted = true;
        match self.tab.perform_in(context, actions, ACTION).await {
            Ok(()) => Ok(()),
            // The action closed its tab or replaced its document: that is its effect.
            Err(crate::driver::DriverError::NoSuchFrame { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    async fn hover(&mut self, prepared: &Prepared) -> Fit<Vec<String>> {
        let (x, y) = (prepared.point.x, prepared.point.y);
        // A pointer that jumps enters nothing on its way; a short path does.
        let path = [(x - 3.0, y), (x - 1.0, y), (x, y)];
        self.act(&prepared.context, Actions::hover(&Origin::Viewport, &path))
            .await?;
        Ok(Ok(Vec::new()))
    }

    async fn press(&mut self, prepared: &Prepared, keys: &str) -> Fit<Vec<String>> {
        if !acts::focus(&self.realm(), &prepared.context, prepared.id).await? {
            return Ok(Err(Unfit::WrongKind {
                why: "it can't be focused, so it takes no keys".into(),
            }));
        }
        match chord(keys) {
            Ok(chord) => {
                self.act(&prepared.context, Actions::chord(&chord)).await?;
                Ok(Ok(Vec::new()))
            }
            Err(why) => Ok(Err(Unfit::WrongKind { why })),
        }
    }

    /// Keys to whatever has the focus.
    pub async fn press_focused(&mut self, keys: &str) -> Fit<Effect> {
        match chord(keys) {
            Ok(chord) => {
                let context = self.tab.id().to_owned();
                self.act(&context, Actions::chord(&chord)).await?;
                Ok(Ok(Effect::default()))
            }
            Err(why) => Ok(Err(Unfit::WrongKind { why })),
        }
    }

    async fn submit(&mut self, prepared: &Prepared) -> Fit<Vec<String>> {
        // The page's own button is pressed, as a person would; a form without one gets Enter.
        let own = acts::submitter(&self.realm(), &prepared.context, prepared.id).await?;
        let Some(button) = own else {
            if !acts::focus(&self.realm(), &prepared.context, prepared.id).await? {
                return Ok(Err(Unfit::WrongKind {
                    why: "no form holds it, or the form has neither a button nor a field".into(),
                }));
            }
            self.act(&prepared.context, Actions::chord(&[Key::Enter]))
                .await?;
            return Ok(Ok(vec!["the form has no button; Enter was pressed".into()]));
        };
        if button == prepared.id {
            return self.click(prepared).await;
        }
        match self.prepare(button, &Primitive::Click).await? {
            Ok(ready) => self.click(&ready).await,
            Err(unfit) => Ok(Err(unfit)),
        }
    }

    async fn drag(&mut self, prepared: &Prepared, to: NodeId) -> Fit<Vec<String>> {
        let there = match self.prepare(to, &Primitive::Hover).await? {
            Ok(there) => there,
            Err(unfit) => return Ok(Err(unfit)),
        };
        // The page may have scrolled for the destination: point at the source anew.
        let from = match acts::prepare(
            &self.realm(),
            &prepared.context,
            prepared.id,
            Purpose::Hover,
        )
        .await?
        {
            Ok(point) => point,
            Err(obstacle) => return Ok(Err(self.unfit(obstacle))),
        };
        let before = self.effect_mark();
        let origin = Origin::Viewport;
        let actions = Actions::drag(
            (&origin, from.x, from.y),
            (&origin, there.point.x, there.point.y),
        );
        self.act(&prepared.context, actions).await?;
        self.settle().await?;
        // Looking afresh makes the prepared nodes stale, so the elements are kept by reference first.
        let source = acts::shared_id(&self.realm(), &prepared.context, prepared.id).await?;
        let target = acts::shared_id(&self.realm(), &there.context, to).await?;
        if self.effect_since(&before).await?.is_some() {
            return Ok(Ok(Vec::new()));
        }
        // Pointer moves start no HTML5 drag in headless Chromium (measured): the events are sent.
        let (Some(source), Some(target)) = (source, target) else {
            return Ok(Err(Unfit::Rerendered));
        };
        let arguments = [json!({"sharedId": source}), json!({"sharedId": target})];
        let taken = page::call(
            &self.realm(),
            &prepared.context,
            "dragDrop",
            &arguments,
            None,
        )
        .await?;
        if taken["value"].as_bool() != Some(true) {
            return Ok(Err(Unfit::WrongKind {
                why: "nothing took the drop, neither by pointer nor by drag events".into(),
            }));
        }
        Ok(Ok(vec![
            "dropped by drag events: the pointer alone moved nothing".into(),
        ]))
    }

    async fn upload(&mut self, prepared: &Prepared, file: &std::path::Path) -> Fit<Vec<String>> {
        let Ok(file) = file.canonicalize() else {
            return Ok(Err(Unfit::WrongKind {
                why: format!("there is no file {}", file.display()),
            }));
        };
        if prepared.node.input_type.as_deref() != Some("file") {
            return self.upload_by_dialog(prepared, file).await;
        }
        let Some(element) = acts::shared_id(&self.realm(), &prepared.context, prepared.id).await?
        else {
            return Ok(Err(Unfit::Rerendered));
        };
        let context = acts::own_context(&self.realm(), &prepared.context, prepared.id)
            .await?
            .unwrap_or_else(|| prepared.context.clone());
        self.give_file(&context, &element, file).await
    }

    /// A button that opens the browser's file dialog: the dialog says which field it serves.
    async fn upload_by_dialog(
        &mut self,
        prepared: &Prepared,
        file: std::path::PathBuf,
    ) -> Fit<Vec<String>> {
        self.watch.state().file_field = None;
        match self.prepare(prepared.id, &Primitive::Click).await? {
            Ok(ready) => {
                self.click(&ready).await?.ok();
            }
            Err(unfit) => return Ok(Err(unfit)),
        }
        let until = Instant::now() + FILE_DIALOG;
        loop {
            let watch = self.watch.clone();
            let changed = watch.changed.notified();
            let field = self.watch.state().file_field.take();
            if let Some((context, element)) = field {
                return self.give_file(&context, &element, file).await;
            }
            if tokio::time::timeout_at(until, changed).await.is_err() {
                return Ok(Err(Unfit::WrongKind {
                    why: "it is no file field, and a click on it opened no file dialog".into(),
                }));
            }
        }
    }

    async fn give_file(
        &mut self,
        context: &str,
        element: &str,
        file: std::path::PathBuf,
    ) -> Fit<Vec<String>> {
        self.acted = true;
        match self.tab.set_files(context, element, &[file]).await {
            Ok(()) => Ok(Ok(Vec::new())),
            Err(crate::driver::DriverError::Command { error, .. }) => Ok(Err(Unfit::WrongKind {
                why: format!("it takes no file ({error})"),
            })),
            Err(error) => Err(error.into()),
        }
    }

    /// Where a prepared primitive would act, for a picture before it does.
    pub fn aimed(&self, prepared: &Prepared) -> Effect {
        Effect {
            point: Some((prepared.point.x, prepared.point.y)),
            rect: self.rect_in_view(prepared),
            ..Effect::default()
        }
    }

    /// The node's box in the top viewport, for the picture.
    fn rect_in_view(&self, prepared: &Prepared) -> Option<Rect> {
        let rect = prepared.node.rect?;
        // Preparing may have scrolled: the box moves so that it holds the point.
        let (mut x, mut y) = (rect.x, rect.y);
        let point = prepared.point;
        if point.x > 0.0 && !prepared.point.on_label && !(x..=x + rect.width).contains(&point.x) {
            x = point.x - rect.width / 2.0;
        }
        if point.y > 0.0 && !prepared.point.on_label && !(y..=y + rect.height).contains(&point.y) {
            y = point.y - rect.height / 2.0;
        }
        Some(Rect { x, y, ..rect })
    }
}

/// `Enter`, `Control+A`, `Shift+Tab`.
pub(super) fn chord(keys: &str) -> Result<Vec<Key>, String> {
    let parts: Vec<&str> = if keys == "+" {
        vec!["+"]
    } else {
        keys.split('+').collect()
    };
    parts
        .iter()
        .map(|part| {
            Key::by_name(part.trim())
                .ok_or_else(|| format!("`{part}` is no key; write e.g. Enter, Escape, Control+A"))
        })
        .collect()
}
