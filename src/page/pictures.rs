//! For pictures: where secrets show, covering them on the elements, standing still.

use serde::Deserialize;
use serde_json::json;

use super::acts::asked;
use super::observation::Rect;
use super::realm::{ReadError, Realm};

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
    #[serde(default)]
    still: u64,
}

/// When boxes are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Before a picture: the document is made to stand still and its secret fields are covered first.
    Before,
    /// After it: it is let go once it was measured.
    After,
}

/// What was measured at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    pub boxes: Vec<SecretBox>,
    /// After a picture: for how many milliseconds the document did not change since it was made to stand
    /// still; 0 where it did.
    pub still: u64,
}

/// Boxes to paint over on a picture, measured before and after it; otherwise as [`rectangles`].
pub async fn measure<R: Realm>(
    realm: &R,
    context: &str,
    generation: u32,
    marks: &[u32],
    nodes: &[u32],
    moment: Moment,
) -> Result<Option<Measured>, ReadError> {
    let call = match moment {
        Moment::Before => "pose",
        Moment::After => "release",
    };
    boxes(realm, context, call, generation, marks, nodes).await
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
    let answer = boxes(realm, context, "rectangles", generation, marks, nodes).await?;
    Ok(answer.map(|measured| measured.boxes))
}

async fn boxes<R: Realm>(
    realm: &R,
    context: &str,
    call: &'static str,
    generation: u32,
    marks: &[u32],
    nodes: &[u32],
) -> Result<Option<Measured>, ReadError> {
    let answer: Answer = asked(
        realm,
        context,
        call,
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
    Ok(Some(Measured {
        boxes: answer.boxes.into_iter().map(boxed).collect(),
        still: answer.still,
    }))
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
