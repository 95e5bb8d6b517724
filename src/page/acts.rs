//! What the broker asks of an element. Each call names the element by context and [`NodeId`]; a node of
//! an older generation answers with [`Obstacle::Stale`], never with another element.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::observation::{NodeId, Tri};
use super::realm::{ReadError, Realm, call, shape};
use super::{internals, script};

/// What an element is being prepared for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Click,
    /// Pointing at it; a disabled element may be hovered.
    Hover,
    Fill,
    /// As `Fill`, for a value that is set and not typed.
    Set,
    /// As `Fill`, and in the same call into the field, with what it holds selected.
    Type,
    Drag,
    /// A file field may be hidden: only its being enabled is looked at.
    Upload,
}

impl Purpose {
    fn word(self) -> &'static str {
        match self {
            Self::Click => "click",
            Self::Hover => "hover",
            Self::Fill => "fill",
            Self::Set => "set",
            Self::Type => "type",
            Self::Drag => "drag",
            Self::Upload => "upload",
        }
    }
}

/// A point that belongs to the element, in CSS pixels of its context's viewport.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    pub x: f64,
    pub y: f64,
    /// The point lies on the element's label, which passes the click on.
    pub on_label: bool,
    /// Checked, pressed or selected at that moment; `None` for things that are none of these.
    pub checked: Option<Tri>,
    /// `None` where the field was not entered.
    pub entered: Option<Entered>,
}

/// A field that was entered to be typed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Entered {
    /// Keys would go into it.
    pub focused: bool,
    /// There is nothing to type over.
    pub blank: bool,
}

/// What stands between an element and an action.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    #[error("the page was read again since: look the target up anew")]
    Stale,
    #[error("re-rendered: the element was taken out of the page after it was found")]
    Detached,
    #[error("disabled{}", by_words(.0))]
    Disabled(Option<String>),
    #[error("read-only")]
    ReadOnly,
    #[error("hidden since it was found")]
    Hidden,
    #[error("still moving")]
    Moving,
    #[error("it has no size")]
    ZeroSize,
    #[error("it lies outside what can be scrolled into view")]
    OffScreen,
    #[error("it lets clicks pass through (pointer-events: none)")]
    PassesThrough,
    #[error("covered by {0}")]
    Covered(String),
}

fn by_words(by: &Option<String>) -> String {
    by.as_deref()
        .filter(|by| !by.is_empty())
        .map(|by| format!(" by {by}"))
        .unwrap_or_default()
}

#[derive(Deserialize)]
struct PrepareAnswer {
    ok: bool,
    #[serde(default)]
    x: f64,
    #[serde(default)]
    y: f64,
    #[serde(default)]
    checked: Option<i64>,
    #[serde(default)]
    entered: Option<Entered>,
    #[serde(default)]
    via: Option<String>,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    by: Option<String>,
}

impl PrepareAnswer {
    fn judged(self) -> Result<Result<Point, Obstacle>, ReadError> {
        if self.ok {
            return Ok(Ok(Point {
                x: self.x,
                y: self.y,
                on_label: self.via.as_deref() == Some("label"),
                checked: self.checked.and_then(tri),
                entered: self.entered,
            }));
        }
        Ok(Err(match self.reason.as_deref() {
            Some("stale") => Obstacle::Stale,
            Some("detached") => Obstacle::Detached,
            Some("disabled") => Obstacle::Disabled(self.by.filter(|by| !by.is_empty())),
            Some("read_only") => Obstacle::ReadOnly,
            Some("hidden") => Obstacle::Hidden,
            Some("moving") => Obstacle::Moving,
            Some("zero_size") => Obstacle::ZeroSize,
            Some("off_screen") => Obstacle::OffScreen,
            Some("passes_through") => Obstacle::PassesThrough,
            Some("covered") => Obstacle::Covered(self.by.unwrap_or_default()),
            other => return Err(shape("prepare", other.unwrap_or("no reason"))),
        }))
    }
}

/// Was the control taken out of the page before the click on it came? Asked after a click on a point that
/// [`prepare`] gave.
pub async fn click_lost<R: Realm>(realm: &R, context: &str) -> Result<bool, ReadError> {
    truth(realm, context, "clickLost", &[]).await
}

/// Scrolls the element into view around sticky bars, waits until it stands still, and finds a point that
/// belongs to it. Words in the obstacle come from the page: scrub them before they are shown.
pub async fn prepare<R: Realm>(
    realm: &R,
    context: &str,
    id: NodeId,
    purpose: Purpose,
) -> Result<Result<Point, Obstacle>, ReadError> {
    let answer: PrepareAnswer =
        asked(realm, context, "prepare", &on(id, [json!(purpose.word())])).await?;
    answer.judged()
}

/// A point of a frame that has a context of its own, as seen from the document that holds the frame
/// element `owner`: scrolled into view, and free to be pointed at or covered there.
pub async fn through_frame<R: Realm>(
    realm: &R,
    context: &str,
    owner: NodeId,
    at: Point,
) -> Result<Result<Point, Obstacle>, ReadError> {
    let answer: PrepareAnswer = asked(
        realm,
        context,
        "throughFrame",
        &on(owner, [json!(at.x), json!(at.y)]),
    )
    .await?;
    answer.judged()
}

/// The element's BiDi shared id, for `input.setFiles` and pointer origins. `None`: stale or gone.
pub async fn shared_id<R: Realm>(
    realm: &R,
    context: &str,
    id: NodeId,
) -> Result<Option<String>, ReadError> {
    let value = call(realm, context, "element", &on(id, []), None).await?;
    Ok(script::remote_node(&value).map(str::to_owned))
}

/// Context of the element's own document: another one than `context` inside a same-origin frame.
pub async fn own_context<R: Realm>(
    realm: &R,
    context: &str,
    id: NodeId,
) -> Result<Option<String>, ReadError> {
    let value = call(realm, context, "windowAt", &on(id, []), None).await?;
    Ok(script::remote_window(&value).map(str::to_owned))
}

/// Focuses the element; says whether keys would now go to it.
pub async fn focus<R: Realm>(realm: &R, context: &str, id: NodeId) -> Result<bool, ReadError> {
    truth(realm, context, "focus", &on(id, [])).await
}

/// Would keys go to the element? Asked before each key of a secret.
pub async fn has_focus<R: Realm>(realm: &R, context: &str, id: NodeId) -> Result<bool, ReadError> {
    truth(realm, context, "hasFocus", &on(id, [])).await
}

/// Selects what the field holds, so that keys replace it.
pub async fn select_text<R: Realm>(
    realm: &R,
    context: &str,
    id: NodeId,
) -> Result<bool, ReadError> {
    truth(realm, context, "selectText", &on(id, [])).await
}

/// Puts text where the caret is, if the field has the focus.
pub async fn insert_text<R: Realm>(
    realm: &R,
    context: &str,
    id: NodeId,
    text: &str,
) -> Result<bool, ReadError> {
    truth(realm, context, "insertText", &on(id, [json!(text)])).await
}

pub async fn scroll_into_view<R: Realm>(
    realm: &R,
    context: &str,
    id: NodeId,
) -> Result<bool, ReadError> {
    truth(realm, context, "scrollIntoView", &on(id, [])).await
}

/// What a field answered after it was set.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct SetAnswer {
    #[serde(default)]
    pub ok: bool,
    pub value: Option<String>,
    /// `not_settable`, `not_a_select`, `no_such_option`, `disabled`.
    pub reason: Option<String>,
}

/// Sets a date, time, color or range field through the browser's own setter, with the events a person's
/// edit sends. Never used for secrets: those are typed.
pub async fn set_value<R: Realm>(
    realm: &R,
    context: &str,
    id: NodeId,
    value: &str,
) -> Result<SetAnswer, ReadError> {
    asked(realm, context, "setValue", &on(id, [json!(value)])).await
}

/// Selects options of a native select by position.
pub async fn select_options<R: Realm>(
    realm: &R,
    context: &str,
    id: NodeId,
    positions: &[usize],
) -> Result<SetAnswer, ReadError> {
    asked(realm, context, "selectOption", &on(id, [json!(positions)])).await
}

/// What a field shows now. A secret field answers with its length only.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct ReadBack {
    pub value: Option<String>,
    pub length: Option<usize>,
    pub valid: Option<bool>,
    /// Milliseconds since the document last changed.
    pub quiet: Option<u64>,
    /// `stale`, `detached`.
    pub reason: Option<String>,
    /// The focus was taken away after that: what the field shows then.
    pub left: Option<String>,
}

/// Focuses a field and selects what it holds, so that keys replace it. `false`: the focus went elsewhere.
pub async fn enter<R: Realm>(realm: &R, context: &str, id: NodeId) -> Result<bool, ReadError> {
    truth(realm, context, "enter", &on(id, [])).await
}

/// Takes the focus away, so that the page sees a finished edit; what the field shows then.
pub async fn leave<R: Realm>(realm: &R, context: &str, id: NodeId) -> Result<ReadBack, ReadError> {
    asked(realm, context, "leaveField", &on(id, [])).await
}

/// What a field shows now; where that is `text` and the document is quiet, it is left as well.
pub async fn finish<R: Realm>(
    realm: &R,
    context: &str,
    id: NodeId,
    text: &str,
) -> Result<ReadBack, ReadError> {
    asked(realm, context, "finishField", &on(id, [json!(text)])).await
}

pub async fn read_back<R: Realm>(
    realm: &R,
    context: &str,
    id: NodeId,
) -> Result<ReadBack, ReadError> {
    asked(realm, context, "readBack", &on(id, [])).await
}

/// Checked, pressed or selected; `None` for things that are none of these.
pub async fn checked<R: Realm>(
    realm: &R,
    context: &str,
    id: NodeId,
) -> Result<Option<Tri>, ReadError> {
    let state = number(realm, context, "checkedState", &on(id, [])).await? as i64;
    if state != ONLY_THE_BROWSER {
        return Ok(tri(state));
    }
    let Some(element) = shared_id(realm, context, id).await? else {
        return Ok(None);
    };
    let node = realm.accessibility(context, &element).await;
    let said = node.as_ref().and_then(internals::attributes);
    let state = ["aria-checked", "aria-pressed", "aria-selected"]
        .iter()
        .find_map(|name| said.as_ref()?.get(name)?.as_str());
    Ok(match state {
        Some("true") => Some(Tri::True),
        Some("mixed") => Some(Tri::Mixed),
        Some(_) => Some(Tri::False),
        None => None,
    })
}

const ONLY_THE_BROWSER: i64 = -2;

fn tri(state: i64) -> Option<Tri> {
    match state {
        0 => Some(Tri::False),
        1 => Some(Tri::True),
        2 => Some(Tri::Mixed),
        _ => None,
    }
}

/// The element's form, by attributes only (`form.action` can be clobbered by a field of that name).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct FormFacts {
    pub action: Option<String>,
    pub method: Option<String>,
    pub enctype: Option<String>,
    pub target: Option<String>,
    /// What relative addresses start from.
    pub base: String,
    pub label: String,
    pub submitter: Submitter,
    /// Pressing the element submits the form.
    #[serde(default)]
    pub submits: bool,
    pub fields: Vec<FormField>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Submitter {
    pub formaction: Option<String>,
    pub formmethod: Option<String>,
    pub formenctype: Option<String>,
    pub formtarget: Option<String>,
    pub name: Option<String>,
    pub value: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct FormField {
    pub name: String,
    pub r#type: String,
    pub secret: bool,
    pub filled: bool,
    /// Changes when the value does; empty for secret fields.
    #[serde(default)]
    pub value: String,
    /// What a person sees in it; empty for secret and hidden fields.
    #[serde(default)]
    pub shown: String,
}

pub async fn form_facts<R: Realm>(
    realm: &R,
    context: &str,
    id: NodeId,
) -> Result<Option<FormFacts>, ReadError> {
    asked(realm, context, "formFacts", &on(id, [])).await
}

/// A link that says what its file is called.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct DownloadFacts {
    pub name: String,
    pub href: String,
    /// What a relative `href` starts from.
    pub base: String,
}

pub async fn download_facts<R: Realm>(
    realm: &R,
    context: &str,
    id: NodeId,
) -> Result<Option<DownloadFacts>, ReadError> {
    asked(realm, context, "downloadFacts", &on(id, [])).await
}

/// The enabled submit button of the element's form (or of the form itself).
pub async fn submitter<R: Realm>(
    realm: &R,
    context: &str,
    id: NodeId,
) -> Result<Option<NodeId>, ReadError> {
    let at = number(realm, context, "submitterOf", &on(id, [])).await?;
    Ok((at >= 0.0).then_some(NodeId {
        node: at as u32,
        ..id
    }))
}

/// While on, keys that would land outside the element are stopped before the page hears of them.
pub async fn guard<R: Realm>(
    realm: &R,
    context: &str,
    id: NodeId,
    on: bool,
) -> Result<bool, ReadError> {
    truth(realm, context, "guard", &self::on(id, [Value::Bool(on)])).await
}

/// Marks fields as never to be read (and masked in pictures), or takes the mark back.
pub async fn protect<R: Realm>(
    realm: &R,
    context: &str,
    generation: u32,
    nodes: &[u32],
    on: bool,
) -> Result<(), ReadError> {
    let arguments = [json!(generation), json!(nodes), json!(on)];
    call(realm, context, "protect", &arguments, None)
        .await
        .map(drop)
}

/// How many secret fields hold something.
pub async fn held_fields<R: Realm>(realm: &R, context: &str) -> Result<usize, ReadError> {
    Ok(number(realm, context, "heldFields", &[]).await? as usize)
}

/// Empties secret fields once their submit was answered; how many still hold something.
pub async fn clear_protected<R: Realm>(realm: &R, context: &str) -> Result<usize, ReadError> {
    Ok(number(realm, context, "clearProtected", &[]).await? as usize)
}

/// Login fields, in counts and positions: the one read allowed while a secret is being typed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Probe {
    pub kind: ProbeKind,
    /// Positions in the generation's nodes; -1 for none.
    pub username: i64,
    pub password: i64,
    /// The field for a one-time code, or one box for each of its digits, in order.
    pub codes: Vec<u32>,
    /// Password-like or protected fields that hold something.
    pub held: u32,
    pub passwords: u32,
    pub new_passwords: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbeKind {
    None,
    Login,
    /// A field marked as user name, and no password yet.
    UsernameFirst,
    /// A single text field that may be a user name.
    OneText,
    Code,
    /// Fields for a code that can't be told apart.
    ManyCodes,
    /// Two password fields or a new password: nothing may be filled.
    ChangeOrRegistration,
}

/// `None`: the document is another one than that of the read.
pub async fn probe<R: Realm>(
    realm: &R,
    context: &str,
    generation: u32,
) -> Result<Option<Probe>, ReadError> {
    asked(realm, context, "probe", &[json!(generation)]).await
}

/// How what was typed into a sign-in form is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Press {
    /// This button; `enter` in the field would come to the same.
    Button { id: NodeId, enter: bool },
    /// There is no button; the key in the field.
    Enter,
    /// The button that would fit is disabled.
    Disabled,
    /// Two buttons fit equally well.
    Unclear,
    /// The only button that would fit sends the form to an address of its own.
    Elsewhere(NodeId),
    /// None of the form's buttons signs in.
    None,
}

/// The button that signs in with what the field holds.
pub async fn sign_in_button<R: Realm>(
    realm: &R,
    context: &str,
    id: NodeId,
) -> Result<Press, ReadError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Found {
        Press,
        Enter,
        Disabled,
        Unclear,
        Elsewhere,
        None,
    }
    #[derive(Deserialize)]
    struct Answer {
        found: Found,
        at: i64,
        enter: bool,
    }
    let answer: Answer = asked(realm, context, "signInButton", &on(id, [])).await?;
    let button = NodeId {
        node: answer.at.max(0) as u32,
        ..id
    };
    Ok(match answer.found {
        Found::Press => Press::Button {
            id: button,
            enter: answer.enter,
        },
        Found::Enter => Press::Enter,
        Found::Disabled => Press::Disabled,
        Found::Unclear => Press::Unclear,
        Found::Elsewhere => Press::Elsewhere(button),
        Found::None => Press::None,
    })
}

/// While on, a form whose password is still empty is not sent by the browser itself.
pub async fn hold_back<R: Realm>(realm: &R, context: &str, on: bool) -> Result<(), ReadError> {
    call(realm, context, "holdBack", &[Value::Bool(on)], None)
        .await
        .map(drop)
}

/// A scroll box, largest first.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Scroller {
    pub top: f64,
    pub height: f64,
    pub view: f64,
    pub what: String,
}

pub async fn scrollers<R: Realm>(realm: &R, context: &str) -> Result<Vec<Scroller>, ReadError> {
    asked(realm, context, "scrollers", &[]).await
}

/// Scrolls box `at` of the last [`scrollers`] by a share of what it shows (0.9 leaves an overlap); did
/// it move?
pub async fn scroll_by<R: Realm>(
    realm: &R,
    context: &str,
    at: usize,
    share: f64,
) -> Result<bool, ReadError> {
    truth(realm, context, "scrollBy", &[json!(at), json!(share)]).await
}

/// Puts box `at` of the last [`scrollers`] to a height in CSS pixels; did it move?
pub async fn scroll_to<R: Realm>(
    realm: &R,
    context: &str,
    at: usize,
    top: f64,
) -> Result<bool, ReadError> {
    truth(realm, context, "scrollTo", &[json!(at), json!(top)]).await
}

/// An element a CSS selector found. Its id works in every call here, also where the read did not list it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub id: NodeId,
    pub role: String,
    pub name: String,
    pub tag: String,
}

#[derive(Deserialize)]
struct QueryAnswer {
    #[serde(default)]
    found: Vec<QueryItem>,
    reason: Option<String>,
}
#[derive(Deserialize)]
struct QueryItem {
    index: u32,
    role: String,
    name: String,
    tag: String,
}

/// `Err(reason)`: `stale` or `bad_selector`.
pub async fn query<R: Realm>(
    realm: &R,
    context: &str,
    generation: u32,
    document: u32,
    css: &str,
) -> Result<Result<Vec<Found>, String>, ReadError> {
    found_in(realm, context, "query", generation, document, css).await
}

/// Asks a search of the reader and names what it found.
pub(super) async fn found_in<R: Realm>(
    realm: &R,
    context: &str,
    search: &'static str,
    generation: u32,
    document: u32,
    wanted: &str,
) -> Result<Result<Vec<Found>, String>, ReadError> {
    let answer: QueryAnswer =
        asked(realm, context, search, &[json!(generation), json!(wanted)]).await?;
    if let Some(reason) = answer.reason {
        return Ok(Err(reason));
    }
    Ok(Ok(answer
        .found
        .into_iter()
        .map(|item| Found {
            id: NodeId {
                generation,
                document,
                node: item.index,
            },
            role: item.role,
            name: item.name,
            tag: item.tag,
        })
        .collect()))
}

#[derive(Deserialize)]
struct ExtractAnswer {
    #[serde(default)]
    data: Value,
    reason: Option<String>,
    css: Option<String>,
}

/// Evaluates an extraction spec: `{css, attr}` gives text or null, `{each, fields}` rows (R93). What comes
/// back is unscrubbed. `Err`: the selector the browser refused.
pub async fn extract<R: Realm>(
    realm: &R,
    context: &str,
    spec: &Value,
) -> Result<Result<Value, String>, ReadError> {
    let answer: ExtractAnswer =
        asked(realm, context, "extract", std::slice::from_ref(spec)).await?;
    Ok(match answer.reason {
        Some(reason) => Err(answer.css.unwrap_or(reason)),
        None => Ok(answer.data),
    })
}

/// Digest of what can be acted on, blind to digits, clocks and spinners.
pub async fn fingerprint<R: Realm>(realm: &R, context: &str) -> Result<String, ReadError> {
    let value = call(realm, context, "fingerprint", &[], None).await?;
    script::remote_text(&value)
        .map(str::to_owned)
        .ok_or_else(|| shape("fingerprint", &value["type"]))
}

/// Milliseconds since the document last changed.
pub async fn quiet_since<R: Realm>(realm: &R, context: &str) -> Result<u64, ReadError> {
    Ok(number(realm, context, "quietSince", &[]).await? as u64)
}

/// After an action: waits two frames and `more`, then says how many milliseconds ago the document last
/// changed.
pub async fn settled<R: Realm>(
    realm: &R,
    context: &str,
    more: std::time::Duration,
) -> Result<u64, ReadError> {
    let more = json!(more.as_millis() as u64);
    Ok(number(realm, context, "settled", &[more]).await? as u64)
}

fn on<const N: usize>(id: NodeId, rest: [Value; N]) -> Vec<Value> {
    let mut list = vec![json!(id.generation), json!(id.node)];
    list.extend(rest);
    list
}

pub(super) async fn asked<R: Realm, T: DeserializeOwned>(
    realm: &R,
    context: &str,
    name: &'static str,
    arguments: &[Value],
) -> Result<T, ReadError> {
    let value = call(realm, context, name, arguments, None).await?;
    let text = script::remote_text(&value).ok_or_else(|| shape(name, &value["type"]))?;
    serde_json::from_str(text).map_err(|e| shape(name, e))
}

pub(super) async fn truth<R: Realm>(
    realm: &R,
    context: &str,
    name: &'static str,
    arguments: &[Value],
) -> Result<bool, ReadError> {
    let value = call(realm, context, name, arguments, None).await?;
    value["value"]
        .as_bool()
        .ok_or_else(|| shape(name, &value["type"]))
}

pub(super) async fn number<R: Realm>(
    realm: &R,
    context: &str,
    name: &'static str,
    arguments: &[Value],
) -> Result<f64, ReadError> {
    let value = call(realm, context, name, arguments, None).await?;
    value["value"]
        .as_f64()
        .ok_or_else(|| shape(name, &value["type"]))
}
