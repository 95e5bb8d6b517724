//! Finding by text, containment, scrolling and dropping: calls the broker makes beside those in
//! [`super::acts`].

use serde_json::json;

use super::acts::{Found, found_in, truth};
use super::observation::NodeId;
use super::realm::{ReadError, Realm};

/// Elements that show a text: the innermost ones, each lifted to its nearest actionable ancestor.
/// `Err(reason)`: `stale`.
pub async fn query_text<R: Realm>(
    realm: &R,
    context: &str,
    generation: u32,
    document: u32,
    text: &str,
) -> Result<Result<Vec<Found>, String>, ReadError> {
    found_in(realm, context, "queryText", generation, document, text).await
}

/// Whether `inner` lies in `outer`, both of one document and read.
pub async fn contains<R: Realm>(
    realm: &R,
    context: &str,
    outer: NodeId,
    inner: NodeId,
) -> Result<bool, ReadError> {
    truth(
        realm,
        context,
        "containsNode",
        &[
            json!(outer.generation),
            json!(outer.node),
            json!(inner.node),
        ],
    )
    .await
}
