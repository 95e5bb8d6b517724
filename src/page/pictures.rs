//! For pictures: where secrets show, covering them on the elements, standing still.

use serde::Deserialize;
use serde_json::{Value, json};

use super::acts::{asked, number};
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
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    boxes: Vec<(BoxKind, f64, f64, f64, f64)>,
    #[serde(default)]
    stale: bool,
}

/// When boxes are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Before a picture: the document is made to stand still and its secret fields are covered first.
    Before,
    /// After it: it is let go once it was measured.
    After,
}

/// Boxes to paint over on a picture, measured before and after it; otherwise as [`rectangles`].
pub async fn measure<R: Realm>(
    realm: &R,
    context: &str,
    generation: u32,
    marks: &[u32],
    moment: Moment,
) -> Result<Option<Vec<SecretBox>>, ReadError> {
    let call = match moment {
        Moment::Before => "pose",
        Moment::After => "release",
    };
    boxes(realm, context, call, generation, marks).await
}

/// Boxes of secret fields and of the given marks (see [`super::Reading::marks`]). `None`: the page was
/// read again since; take the marks of that read.
pub async fn rectangles<R: Realm>(
    realm: &R,
    context: &str,
    generation: u32,
    marks: &[u32],
) -> Result<Option<Vec<SecretBox>>, ReadError> {
    boxes(realm, context, "rectangles", generation, marks).await
}

async fn boxes<R: Realm>(
    realm: &R,
    context: &str,
    call: &'static str,
    generation: u32,
    marks: &[u32],
) -> Result<Option<Vec<SecretBox>>, ReadError> {
    let answer: Answer = asked(realm, context, call, &[json!(generation), json!(marks)]).await?;
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

/// Covers secret fields on the elements themselves; how many are covered.
pub async fn cover<R: Realm>(realm: &R, context: &str, on: bool) -> Result<usize, ReadError> {
    Ok(number(realm, context, "cover", &[Value::Bool(on)]).await? as usize)
}
