//! What an action would do, from facts and never from labels' meaning, and what consent is bound to.

use sha2::{Digest, Sha256};
use url::Url;

use crate::broker::{BrokerError, Primitive};
use crate::event::Blocked;
use crate::page::acts::{FormFacts, FormField};
use crate::page::{NodeId, Observation};
use crate::policy::{HostRule, RequestPattern, Scheme, WriteRule};
use crate::resolve::describe;
use crate::run::{Held, Meant};
use crate::scenario::Act;
use crate::text::{cut, visible};

use super::consent::{Bound, Opens, Risk};

/// More fields of a form than these are counted, not shown.
const FIELDS: usize = 30;

/// An action with what it is known to do before it is done.
pub struct Weighed {
    pub bound: Bound,
    /// `None`: nothing that needs consent; the live gate stops what was not foreseen.
    pub need: Option<Need>,
}

pub struct Need {
    pub risk: Risk,
    pub lines: Vec<String>,
    pub opens: Opens,
}

/// Whose action it is.
#[derive(Clone, Copy)]
pub struct Caller<'a> {
    pub owner: &'a str,
    pub session: &'a str,
}

pub async fn weigh(
    held: &mut Held<'_>,
    meant: &Meant,
    caller: Caller<'_>,
) -> Result<Weighed, BrokerError> {
    let observation = held.broker().last().unwrap_or_default();
    let node = match meant {
        Meant::Node { id, .. } => Some(*id),
        Meant::Step(_) => None,
    };
    let form = match node {
        Some(id) => held.broker().form_of(id).await?,
        None => None,
    };
    let bound = Bound {
        owner: caller.owner.to_owned(),
        session: caller.session.to_owned(),
        action: action_digest(meant, form.as_ref()),
        document: held.broker().document_id(node),
        target: target_digest(&observation, node, form.as_ref()),
        allow_version: held.broker().allow_version(),
    };
    let need = need(held, meant, &observation, form.as_ref());
    Ok(Weighed { bound, need })
}

fn need(
    held: &mut Held<'_>,
    meant: &Meant,
    observation: &Observation,
    form: Option<&FormFacts>,
) -> Option<Need> {
    let at = format!("On {}", shown(&observation.url));
    let first = format!("{}.", visible(&cut(&meant.says(), 300)));
    match meant {
        Meant::Step(step) => match &step.act {
            Act::Goto(address) => {
                let base = Url::parse(&observation.url).ok();
                let url = match &base {
                    Some(base) => base.join(address).ok()?,
                    None => Url::parse(address).ok()?,
                };
                new_host(held, &url, vec![first])
            }
            _ => None,
        },
        Meant::Node { id, primitive, .. } => {
            let node = observation.node(*id)?;
            if let (Primitive::Click, Some(href)) = (primitive, &node.href)
                && let Ok(url) = Url::parse(href)
                && let Some(need) = new_host(held, &url, vec![first.clone(), at.clone()])
            {
                return Some(need);
            }
            let form = form?;
            let submits = match primitive {
                Primitive::Click => form.submits,
                Primitive::Submit => true,
                Primitive::Press { keys } => keys.ends_with("Enter"),
                _ => false,
            };
            if !submits {
                return None;
            }
            submission(held, form, vec![first, at])
        }
    }
}

/// An address whose place is not on the list: consent adds it, for this session.
fn new_host(held: &mut Held<'_>, url: &Url, mut lines: Vec<String>) -> Option<Need> {
    if held.broker().allows(url) {
        return None;
    }
    let rule = host_rule(url)?;
    lines.push(format!(
        "Adds the host {} to what this session may reach{}.",
        visible(&rule.to_string()),
        if rule.private {
            ", although it is this machine or its network"
        } else {
            ""
        }
    ));
    Some(Need {
        risk: Risk::NewHost,
        lines,
        opens: Opens::Host(rule),
    })
}

/// Only a literal private address, or `localhost`, may lead to this machine: a name may not.
pub fn host_rule(url: &Url) -> Option<HostRule> {
    Scheme::of(url.scheme())?;
    let rule = HostRule::of(url)?;
    let literal = match url.host()? {
        url::Host::Ipv4(_) | url::Host::Ipv6(_) => true,
        url::Host::Domain(name) => name == "localhost",
    };
    Some(if literal { rule.private() } else { rule })
}

fn submission(held: &mut Held<'_>, form: &FormFacts, mut lines: Vec<String>) -> Option<Need> {
    let method = method(form);
    if method == "DIALOG" {
        return None;
    }
    let Some(url) = destination(form) else {
        lines.push("Sends a form to an unknown address.".into());
        return Some(Need {
            risk: Risk::Submit,
            lines,
            opens: Opens::Nothing,
        });
    };
    if let Some(need) = new_host(held, &url, lines.clone()) {
        return Some(need);
    }
    lines.push(format!("Sends a form: {method} {}.", shown(url.as_str())));
    lines.extend(fields(&form.fields));
    let opens = match rule(&method, &url) {
        Some(rule) => Opens::Requests(vec![rule]),
        None => Opens::Nothing,
    };
    Some(Need {
        risk: Risk::Submit,
        lines,
        opens,
    })
}

/// The values about to be sent, in the order of the form; secret ones by their name only.
fn fields(fields: &[FormField]) -> Vec<String> {
    let sent: Vec<&FormField> = fields
        .iter()
        .filter(|f| !matches!(f.r#type.as_str(), "button" | "submit" | "reset" | "image"))
        .collect();
    if sent.is_empty() {
        return vec!["It has no fields.".into()];
    }
    let line = |field: &&FormField| {
        let name = visible(&cut(&field.name, 60));
        match (field.secret, field.filled, field.r#type.as_str()) {
            (true, true, _) => format!("{name}: a secret"),
            (true, false, _) => format!("{name}: empty"),
            (_, _, "hidden") => format!("{name}: hidden by the page"),
            _ => format!("{name}: \"{}\"", visible(&cut(&field.shown, 200))),
        }
    };
    let mut lines: Vec<String> = sent.iter().take(FIELDS).map(line).collect();
    if sent.len() > FIELDS {
        lines.push(format!("and {} more fields", sent.len() - FIELDS));
    }
    lines
}

/// A write that was stopped on its way: now it is known what the action does.
pub fn stopped_write(meant: &Meant, blocked: &Blocked) -> Option<Need> {
    let method = blocked.method.clone()?;
    let path = blocked.path.as_deref().unwrap_or("/");
    let url = Url::parse(&format!(
        "{}://{}:{}{path}",
        blocked.scheme, blocked.host, blocked.port
    ))
    .ok()?;
    let rule = rule(&method, &url)?;
    Some(Need {
        risk: Risk::Post,
        lines: vec![
            format!("{}.", visible(&cut(&meant.says(), 300))),
            format!(
                "The page tried to send {} {}; it was stopped before it left.",
                visible(&method),
                shown(url.as_str())
            ),
            "What it sends with it is unknown: the page's script makes it up.".into(),
        ],
        opens: Opens::Requests(vec![rule]),
    })
}

/// A document outside the list: only its host is asked for, nothing from inside it (R76).
pub fn stopped_host(meant: &Meant, url: &Url) -> Option<Need> {
    let rule = host_rule(url)?;
    Some(Need {
        risk: Risk::NewHost,
        lines: vec![
            format!("{}.", visible(&cut(&meant.says(), 300))),
            format!(
                "The page went to {}, which is not on the list; it was stopped.",
                visible(&rule.to_string())
            ),
            "Adds this host to what this session may reach.".into(),
        ],
        opens: Opens::Host(rule),
    })
}

/// One request, once: exactly this method, host and path.
fn rule(method: &str, url: &Url) -> Option<WriteRule> {
    if matches!(method, "GET" | "HEAD" | "OPTIONS") {
        return None;
    }
    let mut bare = url.clone();
    bare.set_query(None);
    bare.set_fragment(None);
    let glob = crate::text::glob::escape(bare.as_str());
    let request = RequestPattern::parse(&format!("{method} {glob}")).ok()?;
    Some(WriteRule {
        what: "approved".into(),
        request,
        times: Some(1),
    })
}

fn method(form: &FormFacts) -> String {
    let own = form.submits.then_some(form.submitter.formmethod.as_deref());
    let written = own.flatten().or(form.method.as_deref()).unwrap_or("get");
    match written.trim().to_ascii_uppercase().as_str() {
        "POST" => "POST".into(),
        "DIALOG" => "DIALOG".into(),
        // Whatever is no method is sent by GET.
        _ => "GET".into(),
    }
}

fn destination(form: &FormFacts) -> Option<Url> {
    let own = form.submits.then_some(form.submitter.formaction.as_deref());
    let written = own.flatten().or(form.action.as_deref()).unwrap_or("");
    let base = Url::parse(&form.base).ok()?;
    base.join(written.trim()).ok()
}

fn shown(address: &str) -> String {
    visible(&crate::page::shown_address(address))
}

// ---- digests -------------------------------------------------------------------------------

/// Length before each part, so that no two lists of parts run together.
struct Hash(Sha256);

impl Hash {
    fn new(what: &str) -> Self {
        let mut hash = Self(Sha256::new());
        hash.add(what);
        hash
    }

    fn add(&mut self, part: &str) {
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part.as_bytes());
    }

    fn end(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}

/// Verb, values, element and where it sends. Values are hashed, never kept.
fn action_digest(meant: &Meant, form: Option<&FormFacts>) -> [u8; 32] {
    let mut hash = Hash::new("action");
    match meant {
        Meant::Node {
            primitive,
            role,
            name,
            ..
        } => {
            hash.add(&format!("{primitive:?}"));
            hash.add(role);
            hash.add(name);
        }
        Meant::Step(step) => hash.add(&format!("{:?}", step.act)),
    }
    if let Some(form) = form {
        hash.add(&method(form));
        hash.add(destination(form).as_ref().map_or("unknown", Url::as_str));
        hash.add(form.enctype.as_deref().unwrap_or(""));
    }
    hash.end()
}

/// The element, where it stands, the dialog around it and its form with the values in it
/// (security.md 4.3). Classes, styles, ids and everything outside form and dialog don't count.
fn target_digest(
    observation: &Observation,
    node: Option<NodeId>,
    form: Option<&FormFacts>,
) -> [u8; 32] {
    let mut hash = Hash::new("target");
    let Some((id, node)) = node.and_then(|id| Some((id, observation.node(id)?))) else {
        return hash.end();
    };
    for part in signature(observation, id) {
        hash.add(&part);
    }
    hash.add(&format!("{:?}", node.states));
    let dialog = observation
        .ancestors(id)
        .find(|(_, up)| matches!(up.role.as_str(), "dialog" | "alertdialog"));
    if let Some((dialog, _)) = dialog {
        hash.add(observation.text_of(dialog));
    }
    if let Some(form) = form {
        hash.add(&format!("{form:?}"));
    }
    hash.end()
}

/// What makes an element the same one in the next read.
fn signature(observation: &Observation, id: NodeId) -> Vec<String> {
    let Some(node) = observation.node(id) else {
        return Vec::new();
    };
    let rounded = |n: f64| (n / 8.0).round() as i64;
    // Relative to what it stands in: scrolling moves both, a page that rearranges itself doesn't.
    let holder = observation.ancestors(id).find_map(|(_, up)| up.rect);
    let place = node.rect.map_or_else(String::new, |r| {
        let (x, y) = holder.map_or((0.0, 0.0), |h| (r.x - h.x, r.y - h.y));
        format!(
            "{} {} {} {}",
            rounded(x),
            rounded(y),
            rounded(r.width),
            rounded(r.height)
        )
    });
    let mut parts = vec![
        id.document.to_string(),
        node.role.clone(),
        node.name.clone(),
        node.tag.clone(),
        node.input_type.clone().unwrap_or_default(),
        node.href.clone().unwrap_or_default(),
        place,
    ];
    parts.extend(
        observation
            .ancestors(id)
            .filter(|(_, up)| !up.name.is_empty())
            .map(|(_, up)| describe(&up.role, &up.name)),
    );
    parts
}

/// The element of an earlier read in a later one; `None` when it is not there once.
pub fn same_element(before: &Observation, id: NodeId, after: &Observation) -> Option<NodeId> {
    let wanted = signature(before, id);
    let mut fits = after
        .nodes()
        .filter(|(other, _)| signature(after, *other) == wanted);
    match (fits.next(), fits.next()) {
        (Some((found, _)), None) => Some(found),
        _ => None,
    }
}

/// For a sign-in: which credential, where, on which page.
pub async fn weigh_login(
    held: &mut Held<'_>,
    credential: &str,
    caller: Caller<'_>,
) -> Result<Weighed, BrokerError> {
    let observation = held.broker().look().await?;
    let origin = held.broker().credential_origin(credential);
    let origin = origin.unwrap_or_else(|| "unknown".into());
    let mut action = Hash::new("login");
    action.add(credential);
    action.add(&origin);
    let mut target = Hash::new("page");
    for (_, node) in observation.nodes().filter(|(_, n)| n.interactive) {
        target.add(&node.role);
        target.add(&node.name);
    }
    let bound = Bound {
        owner: caller.owner.to_owned(),
        session: caller.session.to_owned(),
        action: action.end(),
        document: held.broker().document_id(None),
        target: target.end(),
        allow_version: held.broker().allow_version(),
    };
    let user = held.broker().shown_user(credential);
    let need = Need {
        risk: Risk::Credential,
        lines: vec![
            format!("Sign in with the credential {credential} (user {user})."),
            format!("It is filled at {} only.", visible(&origin)),
            format!("On {}", shown(&observation.url)),
        ],
        opens: Opens::Nothing,
    };
    Ok(Weighed {
        bound,
        need: Some(need),
    })
}
