//! One wave: every document of a page, read at the same generation and put together.

use std::future::Future;
use std::pin::Pin;

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::observation::{Document, NodeId, Observation, Sought, Unread, UnreadKind};
use super::realm::{ReadError, Realm, call, shape};
use super::scrub::{self, Scrub};
use super::{internals, script, wire};

/// How deep frames with a context of their own are followed.
pub const FRAME_DEPTH: usize = 5;
/// Closed roots inside closed roots are opened this many times per read.
const ROUNDS: usize = 3;

/// What one wave is asked for.
pub struct Wave<'a> {
    /// Higher than that of every earlier wave of this page.
    pub generation: u32,
    pub scrub: &'a dyn Scrub,
    /// May a frame of this address be read? Asked for frames with a context of their own.
    pub allowed: &'a (dyn Fn(&str) -> bool + Sync),
    /// Elements to find and list beside those worth naming.
    pub sought: &'a [Sought],
}

/// An observation, and where the secrets stand that were scrubbed out of it: for each document flat
/// pairs of UTF-16 offsets into the page's own text, as [`super::acts::rectangles`] takes them.
pub struct Reading {
    pub observation: Observation,
    pub marks: Vec<Vec<u32>>,
    /// Elements a style sheet writes a secret into, for pictures to cover; some are no nodes.
    pub styled: Vec<NodeId>,
}

/// Reads the page in `context` (a top-level one).
pub async fn observe<R: Realm>(
    realm: &R,
    context: &str,
    wave: &Wave<'_>,
) -> Result<Reading, ReadError> {
    let mut top = read_one(realm, context, wave).await?;
    let observation = Observation {
        generation: wave.generation,
        url: scrub::string(wave.scrub, std::mem::take(&mut top.url)),
        title: scrub::string(wave.scrub, std::mem::take(&mut top.title)),
        sought: wave.sought.to_vec(),
        ..Observation::default()
    };
    let mut reading = Reading {
        observation,
        marks: Vec::new(),
        styled: Vec::new(),
    };
    let tree = Tree {
        read: top,
        children: Vec::new(),
    };
    let tree = grow(realm, tree, wave, 0).await;
    flatten(tree, None, &mut reading);
    Ok(reading)
}

struct OneRead {
    url: String,
    title: String,
    document: Document,
    unread: Vec<Unread>,
    marks: Vec<u32>,
    styled: Vec<u32>,
    /// Frames with a context of their own: owner's index, address, context if it is known.
    frames: Vec<(Option<u32>, String, Option<String>)>,
}

struct Tree {
    read: OneRead,
    /// Owner's index in `read`, and the child.
    children: Vec<(Option<u32>, Tree)>,
}

/// Reads the frames below a document, all of one level at once.
fn grow<'a, R: Realm>(
    realm: &'a R,
    mut tree: Tree,
    wave: &'a Wave<'a>,
    depth: usize,
) -> Pin<Box<dyn Future<Output = Tree> + Send + 'a>> {
    Box::pin(async move {
        let frames = std::mem::take(&mut tree.read.frames);
        let reads = frames
            .into_iter()
            .map(|(owner, address, child)| async move {
                let Some(child) = child else {
                    return (owner, Err(unread(UnreadKind::FrameStillLoading, address)));
                };
                if depth >= FRAME_DEPTH {
                    return (owner, Err(unread(UnreadKind::FrameTooDeep, address)));
                }
                match read_one(realm, &child, wave).await {
                    Ok(read) if !local(&read.url) && !(wave.allowed)(&read.url) => {
                        let what = scrub::string(wave.scrub, read.url);
                        (owner, Err(unread(UnreadKind::FrameNotAllowed, what)))
                    }
                    Ok(read) => {
                        let tree = Tree {
                            read,
                            children: Vec::new(),
                        };
                        (owner, Ok(grow(realm, tree, wave, depth + 1).await))
                    }
                    // A frame that goes away or hangs must not take the page with it; it is named.
                    Err(_) => (owner, Err(unread(UnreadKind::FrameStillLoading, address))),
                }
            });
        for (owner, result) in join_all(reads).await {
            match result {
                Ok(child) => tree.children.push((owner, child)),
                Err(unread) => tree.read.unread.push(unread),
            }
        }
        tree
    })
}

/// Documents without an origin of their own hold what their parent wrote into them.
fn local(url: &str) -> bool {
    url.starts_with("about:")
}

fn unread(kind: UnreadKind, what: String) -> Unread {
    Unread { kind, what }
}

fn flatten(tree: Tree, owner: Option<NodeId>, reading: &mut Reading) {
    let into = &mut reading.observation;
    let index = into.documents.len() as u32;
    let generation = into.generation;
    let id = |node: u32| NodeId {
        generation,
        document: index,
        node,
    };
    let mut document = tree.read.document;
    document.owner = owner;
    if let Some(id) = owner {
        let (path, reachable) = owner_of(into, id);
        for node in &mut document.nodes {
            node.reachable &= reachable;
            node.frames = path.iter().chain(&node.frames).cloned().collect();
        }
    }
    into.documents.push(document);
    into.unread.extend(tree.read.unread);
    reading.marks.push(tree.read.marks);
    reading.styled.extend(tree.read.styled.into_iter().map(id));
    for (node, child) in tree.children {
        flatten(child, node.map(id), reading);
    }
}

/// Frame names down to and including the owner, and whether it can be reached.
fn owner_of(into: &Observation, id: NodeId) -> (Vec<String>, bool) {
    let Some(node) = into.node(id) else {
        return (Vec::new(), true);
    };
    let mut path = node.frames.clone();
    path.push(if node.name.is_empty() {
        node.tag.clone()
    } else {
        node.name.clone()
    });
    (path, node.reachable)
}

async fn read_one<R: Realm>(
    realm: &R,
    context: &str,
    wave: &Wave<'_>,
) -> Result<OneRead, ReadError> {
    let request = json!({"generation": wave.generation, "sought": wave.sought});
    let mut answer = raw_read(realm, context, &request).await?;
    let mut unread = Vec::new();
    for _ in 0..ROUNDS {
        if answer.suspects == 0 {
            break;
        }
        let (adopted, closed) = open_closed_roots(realm, context, wave.generation).await?;
        unread.extend(closed);
        if !adopted {
            break;
        }
        answer = raw_read(realm, context, &request).await?;
    }
    if answer.customs > 0 && learn_internals(realm, context, wave.generation).await? {
        answer = raw_read(realm, context, &request).await?;
    }
    let frames = frame_contexts(realm, context, wave.generation, &answer.owned).await?;
    let (url, title) = (answer.url().to_owned(), answer.title().to_owned());
    let decoded = wire::decode(answer, context, wave.generation, wave.scrub)?;
    unread.extend(decoded.unread);
    Ok(OneRead {
        url,
        title,
        document: decoded.document,
        unread,
        marks: decoded.marks,
        styled: decoded.styled,
        frames,
    })
}

async fn raw_read<R: Realm>(
    realm: &R,
    context: &str,
    request: &Value,
) -> Result<wire::Answer, ReadError> {
    let value = call(realm, context, "read", std::slice::from_ref(request), None).await?;
    let text = script::remote_text(&value).ok_or_else(|| shape("a read", kind(&value)))?;
    wire::parse(text)
}

/// Lets BiDi look at hosts a script can't see into, and hands the closed roots it finds to the reader.
async fn open_closed_roots<R: Realm>(
    realm: &R,
    context: &str,
    generation: u32,
) -> Result<(bool, Vec<Unread>), ReadError> {
    let look = json!({"includeShadowTree": "all", "maxDomDepth": 0});
    let hosts = call(realm, context, "suspects", &[json!(generation)], Some(look)).await?;
    let mut pairs = Vec::new();
    let mut closed = Vec::new();
    for host in script::remote_items(&hosts) {
        let root = &host["value"]["shadowRoot"];
        if root["value"]["mode"] != "closed" {
            continue;
        }
        match (script::remote_node(host), script::remote_node(root)) {
            (Some(host), Some(root)) => {
                pairs.push(json!({"sharedId": host}));
                pairs.push(json!({"sharedId": root}));
            }
            _ => closed.push(unread(
                UnreadKind::ClosedShadowRoot,
                host["value"]["localName"]
                    .as_str()
                    .unwrap_or("an element")
                    .to_owned(),
            )),
        }
    }
    if pairs.is_empty() {
        return Ok((false, closed));
    }
    call(realm, context, "adopt", &pairs, None).await?;
    Ok((true, closed))
}

/// Asks the browser what custom elements say of themselves, and tells the reader; whether that is news.
async fn learn_internals<R: Realm>(
    realm: &R,
    context: &str,
    generation: u32,
) -> Result<bool, ReadError> {
    let handles = json!({"maxDomDepth": 0});
    let customs = call(
        realm,
        context,
        "customs",
        &[json!(generation)],
        Some(handles),
    )
    .await?;
    let customs = script::remote_items(&customs).iter();
    let asked = customs.map(|element| async {
        let node = realm
            .accessibility(context, script::remote_node(element)?)
            .await?;
        internals::attributes(&node)
    });
    let said: Vec<Option<Value>> = join_all(asked).await;
    let news = call(
        realm,
        context,
        "adoptInternals",
        &[json!(generation), json!(said)],
        None,
    )
    .await?;
    Ok(news["value"] == true)
}

/// Context ids of the frames the reader could not look into, through their windows.
async fn frame_contexts<R: Realm>(
    realm: &R,
    context: &str,
    generation: u32,
    owned: &[(i64, String)],
) -> Result<Vec<(Option<u32>, String, Option<String>)>, ReadError> {
    if owned.is_empty() {
        return Ok(Vec::new());
    }
    let windows = call(realm, context, "frameWindows", &[json!(generation)], None).await?;
    let windows = script::remote_items(&windows);
    Ok(owned
        .iter()
        .enumerate()
        .map(|(i, (owner, address))| {
            let child = windows.get(i).and_then(script::remote_window);
            (
                u32::try_from(*owner).ok(),
                address.clone(),
                child.map(str::to_owned),
            )
        })
        .collect())
}

fn kind(value: &Value) -> String {
    format!("a remote {}", value["type"].as_str().unwrap_or("nothing"))
}
