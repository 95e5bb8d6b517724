//! For pictures: where secrets show, covering them on the elements, standing still.

use serde::Deserialize;
use serde_json::{Value, json};

use super::acts::{asked, number};
use super::observation::Rect;
use super::realm::{ReadError, Realm, call};

/// A box to paint over, in whole CSS pixels of the context's viewport, rounded outwards.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SecretBox {
    pub kind: BoxKind,
    pub rect: Rect,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BoxKind {
    /// A password-like or protected field.
    Field,
    /// A run of text a secret was found in.
    Text,
    /// An element the caller named.
    Element,
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    boxes: Vec<(BoxKind, f64, f64, f64, f64)>,
    #[serde(default)]
    stale: bool,
}

/// Boxes of secret fields, of the given nodes and of the given marks (see [`super::Reading::marks`]). `None`: the page was
/// read again since; take the marks of that read.
pub async fn rectangles<R: Realm>(
    realm: &R,
    context: &str,
    generation: u32,
    marks: &[u32],
    nodes: &[u32],
) -> Result<Option<Vec<SecretBox>>, ReadError> {
    let answer: Answer = asked(
        realm,
        context,
        "rectangles",
        &[json!(generation), json!(marks), json!(nodes)],
    )
    .await?;
    if answer.stale {
        return Ok(None);
    }
    let boxed = |(kind, x, y, width, height)| SecretBox {
        kind,
        rect: Rect {
            x,
            y,
            width,
            height,
        },
    };
    Ok(Some(answer.boxes.into_iter().map(boxed).collect()))
}

/// Covers secret fields and the given nodes on the elements themselves; how many are covered.
pub async fn cover<R: Realm>(
    realm: &R,
    context: &str,
    generation: u32,
    nodes: &[u32],
) -> Result<usize, ReadError> {
    let arguments = [Value::Bool(true), json!(generation), json!(nodes)];
    Ok(number(realm, context, "cover", &arguments).await? as usize)
}

pub async fn uncover<R: Realm>(realm: &R, context: &str) -> Result<(), ReadError> {
    let arguments = [Value::Bool(false), json!(0), json!([])];
    number(realm, context, "cover", &arguments).await.map(drop)
}

/// Where a frame's content begins in its owner's viewport; `None`: the frame element is gone.
pub async fn content_offset<R: Realm>(
    realm: &R,
    context: &str,
    frame: super::NodeId,
) -> Result<Option<(f64, f64)>, ReadError> {
    let arguments = [json!(frame.generation), json!(frame.node)];
    asked(realm, context, "contentOffset", &arguments).await
}

/// Stops animations and the caret, or lets them go on.
pub async fn freeze<R: Realm>(realm: &R, context: &str, on: bool) -> Result<(), ReadError> {
    call(realm, context, "freeze", &[Value::Bool(on)], None)
        .await
        .map(drop)
}
