//! What an action would do, from facts and never from labels' meaning.

use url::Url;

use crate::broker::{BrokerError, Primitive};
use crate::event::Blocked;
use crate::page::Observation;
use crate::page::acts::{FormFacts, FormField};
use crate::policy::{HostRule, RequestPattern, Scheme, WriteRule};
use crate::run::{Held, Meant};
use crate::scenario::Act;
use crate::text::{cut, visible};

use super::bound::{Hash, Place, action_digest, target_digest};
use super::consent::{Bound, Opens, Risk};

/// More fields of a form than these are counted, not shown.
const FIELDS: usize = 30;

/// An action with what it is known to do before it is done.
pub struct Weighed {
    pub bound: Bound,
    /// The form that holds the element.
    pub form: Option<FormFacts>,
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
    place: &Place,
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
        action: action_digest(meant, form.as_ref(), place),
        document: held.broker().document_id(node),
        target: target_digest(&observation, node, form.as_ref(), place),
        allow_version: held.broker().allow_version(),
    };
    let mut need = need(held, meant, &observation, form.as_ref(), place);
    if let Meant::Node {
        id,
        primitive: Primitive::Click,
        ..
    } = meant
        && let Some(name) = held.broker().download_named(*id).await?
    {
        need = Some(with_download(need, meant, &name));
    }
    Ok(Weighed { bound, form, need })
}

fn need(
    held: &mut Held<'_>,
    meant: &Meant,
    observation: &Observation,
    form: Option<&FormFacts>,
    place: &Place,
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
            submission(held, form, vec![first, at], place)
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
        opens: Opens {
            host: Some(rule),
            ..Opens::default()
        },
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

fn submission(
    held: &mut Held<'_>,
    form: &FormFacts,
    mut lines: Vec<String>,
    place: &Place,
) -> Option<Need> {
    let method = method(form);
    if method == "DIALOG" {
        return None;
    }
    let Some(url) = destination(form) else {
        lines.push("Sends a form to an unknown address.".into());
        return Some(Need {
            risk: Risk::Submit,
            lines,
            opens: Opens::default(),
        });
    };
    if let Some(need) = new_host(held, &url, lines.clone()) {
        return Some(need);
    }
    lines.push(format!("Sends a form: {method} {}.", shown(url.as_str())));
    lines.extend(fields(form, place));
    let opens = Opens {
        requests: rule(&method, &url).into_iter().collect(),
        ..Opens::default()
    };
    Some(Need {
        risk: Risk::Submit,
        lines,
        opens,
    })
}

/// The values about to be sent, in the order of the form; secret ones by their name only.
fn fields(form: &FormFacts, place: &Place) -> Vec<String> {
    let sent: Vec<&FormField> = form
        .fields
        .iter()
        .filter(|f| !matches!(f.r#type.as_str(), "button" | "submit" | "reset" | "image"))
        .collect();
    if sent.is_empty() {
        return vec!["It has no fields.".into()];
    }
    let line = |field: &&FormField| {
        let name = visible(&cut(&field.name, 60));
        if let Some(by) = place.sets(form, &field.name) {
            return format!("{name}: as action {by} leaves it");
        }
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
        opens: Opens {
            requests: vec![rule],
            ..Opens::default()
        },
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
        opens: Opens {
            host: Some(rule),
            ..Opens::default()
        },
    })
}

/// A file it is known to offer: asked for together with whatever else it needs.
pub fn with_download(need: Option<Need>, meant: &Meant, name: &str) -> Need {
    let mut need = need.unwrap_or_else(|| Need {
        risk: Risk::Download,
        lines: vec![format!("{}.", visible(&cut(&meant.says(), 300)))],
        opens: Opens::default(),
    });
    need.lines.push(format!(
        "Downloads the file \"{}\" and hands it to the caller.",
        visible(&cut(name, 200))
    ));
    need.opens.download = Some(name.to_owned());
    need
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

pub fn method(form: &FormFacts) -> String {
    let own = form.submits.then_some(form.submitter.formmethod.as_deref());
    let written = own.flatten().or(form.method.as_deref()).unwrap_or("get");
    match written.trim().to_ascii_uppercase().as_str() {
        "POST" => "POST".into(),
        "DIALOG" => "DIALOG".into(),
        // Whatever is no method is sent by GET.
        _ => "GET".into(),
    }
}

pub fn destination(form: &FormFacts) -> Option<Url> {
    let own = form.submits.then_some(form.submitter.formaction.as_deref());
    let written = own.flatten().or(form.action.as_deref()).unwrap_or("");
    let base = Url::parse(&form.base).ok()?;
    base.join(written.trim()).ok()
}

fn shown(address: &str) -> String {
    visible(&crate::page::shown_address(address))
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
        opens: Opens::default(),
    };
    Ok(Weighed {
        bound,
        form: None,
        need: Some(need),
    })
}
