//! Building the plan: bind, unfold, understand hosts and writes, check what can be checked.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::policy::{self, HostRule, SafeRequest, Scheme, WriteRule};
use crate::scenario::{
    self, Act, By, Fixture, FixtureKind, Flow, FormValue, Scenario, Server, Serves, Step, Suite,
    Target, Value, Vars,
};
use crate::snapshot::{Approved, LockedGoal};
use crate::text::{Problem, Spanned};

use super::confirm::confirmed;
use super::unfold::{BoundFlow, PlannedStep, StepBy, number, unfold};
use super::{Plan, Planned};

/// What the command line adds.
#[derive(Debug, Clone, Default)]
pub struct Wishes {
    pub run_id: String,
    pub vars: BTreeMap<String, String>,
    pub confirm_all: bool,
    pub confirm: Vec<String>,
}

/// The plan of the chosen scenarios, or every problem of every one of them.
pub fn build(suite: &Suite, chosen: &[&Scenario], wishes: &Wishes) -> Result<Plan, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut plan = Plan {
        scenarios: Vec::new(),
        servers: BTreeMap::new(),
        warnings: Vec::new(),
    };
    for id in &wishes.confirm {
        if !suite.ids.contains(id) {
            let problem = Problem::error(format!("--confirm {id}: no scenario is called that"));
            problems.push(
                match crate::text::nearest(id, suite.ids.iter().map(String::as_str)) {
                    Some(near) => problem.help(format!("did you mean `{near}`?")),
                    None => problem,
                },
            );
        }
    }
    problems.extend(unused_vars(chosen, wishes));
    for scenario in chosen {
        match one(suite, scenario, wishes) {
            Ok((planned, warnings)) => {
                for name in &planned.servers {
                    if let Some(fixture) = suite.fixtures.get(name)
                        && plan.servers.insert(name.clone(), fixture.clone()).is_none()
                    {
                        problems.extend(served_problem(fixture, &suite.root));
                    }
                }
                plan.warnings.extend(warnings);
                plan.scenarios.push(planned);
            }
            Err(more) => problems.extend(more),
        }
    }
    if problems.is_empty() {
        Ok(plan)
    } else {
        Err(problems)
    }
}

/// A folder of pages is the suite's own, too.
fn served_problem(fixture: &Fixture, root: &Path) -> Option<Problem> {
    let FixtureKind::Server(Server {
        serves: Serves::Folder(folder),
        ..
    }) = &fixture.kind
    else {
        return None;
    };
    let (name, shown) = (&fixture.name, folder.display());
    (!root.join(folder).is_dir()).then(|| {
        Problem::error(format!(
            "fixture `{name}`: there is no folder `{shown}` to serve"
        ))
        .help("put it into the suite; the path is meant from the suite's folder")
    })
}

/// `--var` that no chosen scenario declares.
fn unused_vars(chosen: &[&Scenario], wishes: &Wishes) -> Vec<Problem> {
    let known: BTreeSet<&str> = chosen
        .iter()
        .flat_map(|s| s.vars.keys().map(String::as_str))
        .collect();
    wishes
        .vars
        .keys()
        .filter(|name| !known.contains(name.as_str()))
        .map(|name| {
            let problem = Problem::error(format!(
                "--var {name}: no selected scenario has a variable of that name"
            ));
            match crate::text::nearest(name, known.iter().copied()) {
                Some(near) => problem.help(format!("did you mean `{near}`?")),
                None => problem.help("declare it under `vars:` in the scenario"),
            }
        })
        .collect()
}

fn one(
    suite: &Suite,
    written: &Scenario,
    wishes: &Wishes,
) -> Result<(Planned, Vec<Problem>), Vec<Problem>> {
    let overrides = wishes
        .vars
        .iter()
        .filter(|(name, _)| written.vars.contains_key(*name))
        .map(|(k, v)| (k.clone(), v.clone()))
        .collect();
    let vars = Vars {
        run_id: wishes.run_id.clone(),
        overrides,
    };
    let bound = scenario::bind(written, &vars)?;
    let mut problems = Vec::new();
    let mut warnings = Vec::new();

    // Flows: those of `use:`, and flow fixtures.
    let mut credentials: BTreeSet<String> =
        bound.credentials.iter().map(|c| c.value.clone()).collect();
    let mut flow_hosts = Vec::new();
    let mut flow_of = |name: &str, given: &BTreeMap<String, String>| {
        bind_flow(suite, name, given, &vars, &mut credentials, &mut flow_hosts)
    };
    let mut steps = take(
        unfold(
            &written_into(&bound.steps, &written.steps),
            &bound.source,
            "",
            StepBy::Author,
            None,
            &mut flow_of,
        ),
        &mut problems,
    );
    let (mut before, mut after, mut servers, mut keeps) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for name in &bound.fixtures {
        match suite.fixtures.get(&name.value).map(|f| &f.kind) {
            Some(FixtureKind::Server(_)) => servers.push(name.value.clone()),
            Some(FixtureKind::Flow(_)) => match flow_of(&name.value, &BTreeMap::new()) {
                Ok(flow) => {
                    keeps.extend(flow.flow.keep.map(|keep| (name.value.clone(), keep)));
                    let prefix = format!("{}.", name.value);
                    before.extend(take(
                        unfold(
                            &flow.flow.steps,
                            &flow.source,
                            &prefix,
                            StepBy::Fixture,
                            Some(&name.value),
                            &mut flow_of,
                        ),
                        &mut problems,
                    ));
                    let prefix = format!("{}.after.", name.value);
                    let mut closing = take(
                        unfold(
                            &flow.flow.after,
                            &flow.source,
                            &prefix,
                            StepBy::Fixture,
                            Some(&name.value),
                            &mut flow_of,
                        ),
                        &mut problems,
                    );
                    closing.append(&mut after);
                    after = closing;
                }
                Err(problem) => problems.push(problem),
            },
            // The suite has said so already, with the place.
            None => {}
        }
    }
    number(&mut steps);

    let start = policy::navigable(&bound.start.value)
        .map_err(|denial| problems.push(denied(&denial).at(&bound.source, bound.start.span)))
        .ok();
    let scheme = start
        .as_ref()
        .and_then(|u| Scheme::of(u.scheme()))
        .unwrap_or(Scheme::Https);
    let mut hosts: Vec<HostRule> = start
        .as_ref()
        .and_then(HostRule::of)
        .map(HostRule::private)
        .into_iter()
        .collect();
    for entry in bound.hosts.iter().chain(&flow_hosts) {
        match HostRule::parse(&entry.host.value, scheme) {
            Ok(rule) => {
                if let Some(mixed) = policy::mixed_scripts(&rule.host) {
                    warnings.push(
                        Problem::warning(format!(
                            "`{}` mixes alphabets: {mixed}",
                            entry.host.value
                        ))
                        .at(&bound.source, entry.host.span),
                    );
                }
                hosts.push(if entry.private { rule.private() } else { rule });
            }
            Err(error) => {
                problems.push(Problem::error(error.to_string()).at(&bound.source, entry.host.span))
            }
        }
    }
    let writes = bound
        .writes
        .iter()
        .filter_map(|w| {
            WriteRule::parse(&w.what.value, &w.request.value, w.times)
                .map_err(|e| {
                    problems.push(Problem::error(e.to_string()).at(&bound.source, w.request.span))
                })
                .ok()
        })
        .collect::<Vec<_>>();
    let safe_requests = bound
        .safe_requests
        .iter()
        .filter_map(|s| {
            SafeRequest::parse(&s.request.value, s.operation.clone())
                .map_err(|e| {
                    problems.push(Problem::error(e.to_string()).at(&bound.source, s.request.span))
                })
                .ok()
        })
        .collect::<Vec<_>>();

    let disposable = disposable_hosts(suite, &servers, scheme);
    let listed = Listed {
        rules: hosts
            .iter()
            .cloned()
            .chain(fixture_hosts(suite, &servers, scheme))
            .collect(),
    };
    for step in before.iter().chain(&steps).chain(&after) {
        credentials.extend(credentials_in(&step.step));
        if let Some(start) = &start {
            problems.extend(goto_problem(step, start, &listed));
        }
        problems.extend(upload_problem(step, &suite.root));
        warnings.extend(step_warnings(step, &bound.language.value));
    }
    if start.is_some() {
        let requests = bound.writes.iter().map(|w| &w.request);
        let requests = requests.chain(bound.safe_requests.iter().map(|s| &s.request));
        problems.extend(requests.filter_map(|r| Some(listed.never(r)?.at(&bound.source, r.span))));
    }
    problems.extend(ends_problem(&bound));
    let approved = Approved::read(&suite.root, &bound.id)
        .map_err(|e| problems.push(Problem::error(e.to_string()).help("mend or remove the file")))
        .unwrap_or_default();
    if !problems.is_empty() {
        return Err(problems);
    }
    let steps_write = before
        .iter()
        .chain(&steps)
        .chain(&after)
        .any(|s| s.step.write.is_some());
    let by_person = wishes.confirm_all || wishes.confirm.contains(&bound.id);
    let gate = confirmed(steps_write, &writes, &hosts, &disposable, by_person);
    let changes = before
        .iter()
        .chain(&steps)
        .chain(&after)
        .filter_map(|s| {
            s.step
                .write
                .as_ref()
                .map(|w| format!("{} (step {})", w.value, s.place))
        })
        .chain(writes.iter().map(|w| {
            format!(
                "{} ({} {})",
                w.what,
                w.request.method,
                w.request.glob.as_str()
            )
        }))
        .collect();
    let goal_written = written.goal.as_ref().map(|g| g.value.clone());
    let mut goals: Vec<String> = before
        .iter()
        .chain(&steps)
        .chain(&after)
        .filter(|s| matches!(s.step.act, Act::Plan(_)))
        .map(|s| goal_key(&hosts, &s.step.written, Some(s)))
        .collect();
    if let (true, Some(goal)) = (steps.is_empty(), &goal_written) {
        goals.push(goal_key(&hosts, goal, None));
    }
    let locked = |key: &String| {
        approved
            .lock
            .as_ref()
            .is_some_and(|l| l.goal(key).is_some())
    };
    let needs_model = !goals.iter().all(locked);
    let planned = Planned {
        digest: digest(&bound),
        keeps,
        before,
        steps,
        after,
        servers,
        hosts,
        writes,
        safe_requests,
        credentials: credentials.into_iter().collect(),
        changes,
        gate,
        approved: Arc::new(approved),
        goals,
        needs_model,
        goal_written,
        scenario: bound,
    };
    Ok((planned, warnings))
}

pub(super) fn goal_key(hosts: &[HostRule], written: &str, step: Option<&PlannedStep>) -> String {
    let hosts: Vec<String> = hosts
        .iter()
        .map(|h| format!("{}://{}:{}", h.scheme, h.host, h.port))
        .collect();
    LockedGoal::key(
        written,
        hosts.iter().map(String::as_str),
        step.and_then(|s| s.flow.as_deref()),
        step.map_or(1, |s| s.occurrence),
    )
}

/// A bound step keeps its words as written: they are the key of its lock.
fn written_into(bound: &[Step], written: &[Step]) -> Vec<Step> {
    bound
        .iter()
        .zip(written)
        .map(|(bound, written)| Step {
            written: written.written.clone(),
            ..bound.clone()
        })
        .collect()
}

fn take(
    result: Result<Vec<PlannedStep>, Vec<Problem>>,
    problems: &mut Vec<Problem>,
) -> Vec<PlannedStep> {
    result.unwrap_or_else(|more| {
        problems.extend(more);
        Vec::new()
    })
}

fn bind_flow(
    suite: &Suite,
    name: &str,
    given: &BTreeMap<String, String>,
    vars: &Vars,
    credentials: &mut BTreeSet<String>,
    hosts: &mut Vec<scenario::HostEntry>,
) -> Result<BoundFlow, Problem> {
    let Some(Fixture {
        kind: FixtureKind::Flow(flow),
        source,
        ..
    }) = suite.fixtures.get(name)
    else {
        return Err(Problem::error(format!(
            "there is no flow `{name}` in fixtures/"
        )));
    };
    let bound: Flow = scenario::bind_flow(flow, source, given, vars)
        .map_err(|mut problems| problems.remove(0))?;
    credentials.extend(bound.credentials.iter().map(|c| c.value.clone()));
    hosts.extend(bound.hosts.iter().cloned());
    let steps = written_into(&bound.steps, &flow.steps);
    let after = written_into(&bound.after, &flow.after);
    Ok(BoundFlow {
        flow: Flow {
            steps,
            after,
            ..bound
        },
        source: source.clone(),
    })
}

/// Canonical names served by disposable fixtures of the scenario.
fn disposable_hosts(suite: &Suite, servers: &[String], scheme: Scheme) -> BTreeSet<String> {
    servers
        .iter()
        .filter_map(|name| match &suite.fixtures.get(name)?.kind {
            FixtureKind::Server(server) if server.disposable => Some(server),
            _ => None,
        })
        .flat_map(|server| {
            server
                .hosts
                .iter()
                .filter_map(|(name, _)| HostRule::parse(&name.value, scheme).ok().map(|r| r.host))
        })
        .collect()
}

fn credentials_in(step: &Step) -> Vec<String> {
    fields_in(step).into_iter().map(|(name, _)| name).collect()
}

/// `(credential, field)` pairs a step uses.
pub(super) fn fields_in(step: &Step) -> Vec<(String, String)> {
    let of = |value: &Value| match value {
        Value::Credential { name, field } => Some((name.clone(), field.clone())),
        Value::Text(_) => None,
    };
    match &step.act {
        Act::Login(name) => vec![(name.clone(), "password".to_owned())],
        Act::Fill { value, .. } => of(value).into_iter().collect(),
        Act::Form(fields) => fields
            .iter()
            .filter_map(|(_, v)| match v {
                FormValue::Value(value) => of(value),
                FormValue::Bool(_) => None,
            })
            .collect(),
        Act::Sentence(phrase) => phrase.value.iter().filter_map(of).collect(),
        _ => Vec::new(),
    }
}

/// An address that is never opened.
fn denied(denial: &policy::Denial) -> Problem {
    let help = match denial {
        policy::Denial::UserInfo => {
            "name a credential under `credentials` and sign in with a `login` step"
        }
        policy::Denial::Scheme { .. } => "write an http or https address",
        policy::Denial::Unreadable => "a port is a number up to 65535",
        policy::Denial::Host { .. }
        | policy::Denial::Port { .. }
        | policy::Denial::SchemeOfHost { .. } => "nothing else is ever reached",
    };
    Problem::error(denial.to_string()).help(help)
}

/// Names that the scenario's servers bring.
fn fixture_hosts(suite: &Suite, servers: &[String], scheme: Scheme) -> Vec<HostRule> {
    let servers = servers
        .iter()
        .filter_map(|name| match &suite.fixtures.get(name)?.kind {
            FixtureKind::Server(server) => Some(server.hosts.iter()),
            FixtureKind::Flow(_) => None,
        });
    servers
        .flatten()
        .filter_map(|(name, _)| HostRule::parse(&name.value, scheme).ok())
        .collect()
}

/// Every host the scenario can reach.
struct Listed {
    rules: Vec<HostRule>,
}

impl Listed {
    /// What to add to `hosts` for this address; `None`: it is listed.
    fn lacks(&self, url: &url::Url) -> Option<String> {
        let rule = HostRule::of(url)?;
        let listed = self.rules.iter().any(|known| known.same_place(&rule));
        (!listed).then(|| format!("{}://{}:{}", rule.scheme, rule.host, rule.port))
    }

    /// A request that is never let through, whatever is declared about it.
    fn never(&self, request: &Spanned<String>) -> Option<Problem> {
        let (_, glob) = request.split_once(' ')?;
        let (scheme, rest) = glob.trim().split_once("://")?;
        let host = rest.split(['/', '?', '#']).next()?;
        let url = url::Url::parse(&format!("{scheme}://{host}/")).ok()?;
        let add = self.lacks(&url)?;
        let message = format!("no such request can be made: {host} is not listed");
        Some(Problem::error(message).help(format!("add `{add}` to `hosts:`")))
    }
}

/// A `goto` off the list is known before any browser.
fn goto_problem(step: &PlannedStep, start: &url::Url, listed: &Listed) -> Option<Problem> {
    let Act::Goto(address) = &step.step.act else {
        return None;
    };
    let joined = start
        .join(address)
        .map_or_else(|_| address.clone(), |u| u.to_string());
    let problem = match policy::navigable(&joined) {
        Err(denial) => denied(&denial),
        Ok(url) => {
            let add = listed.lacks(&url)?;
            let host = url.host_str().unwrap_or_default();
            Problem::error(format!("`goto` leaves the listed hosts: {host}"))
                .help(format!("add `{add}` to `hosts:`"))
        }
    };
    Some(problem.at(&step.source, step.step.span))
}

/// A file to upload is the suite's own: it is there, or the step can't work.
fn upload_problem(step: &PlannedStep, root: &Path) -> Option<Problem> {
    let Act::Upload { file, .. } = &step.step.act else {
        return None;
    };
    if root.join(file).is_file() {
        return None;
    }
    let problem = Problem::error(format!("there is no file `{}`", file.display()));
    let help = "put it into the suite; the path is meant from the suite's folder";
    Some(problem.at(&step.source, step.step.span).help(help))
}

/// A step no run gets to can't be the one it ends in.
fn ends_problem(scenario: &Scenario) -> Option<Problem> {
    let step = scenario.ends.step?;
    let last = scenario.steps.len();
    if step <= last {
        return None;
    }
    let problem = Problem::error(match last {
        0 => format!("`ends` names step {step}, and a goal has no numbered steps"),
        1 => format!("`ends` names step {step}, and there is one step"),
        _ => format!("`ends` names step {step}, and there are {last} steps"),
    });
    let problem = problem.at(&scenario.source, scenario.ends.span?);
    Some(problem.help("steps are counted from 1, those of a flow with the step that uses it"))
}

/// Hints that stop nothing: CSS targets, risky names without `write:`.
fn step_warnings(step: &PlannedStep, language: &str) -> Vec<Problem> {
    let mut warnings = Vec::new();
    let mut look = |target: &Target| {
        if let By::Name {
            name: Some(name), ..
        } = &target.by
            && step.step.write.is_none()
            && matches!(step.step.act, Act::Click(_) | Act::Submit(_))
            && let Some(word) = policy::risky(name, language)
        {
            warnings.push(
                Problem::warning(format!("\"{name}\" sounds like it changes something ({word}), and the step has no `write:`"))
                    .at(&step.source, step.step.span)
                    .help("only a hint: if it does, say what with `write: <what it changes>`"),
            );
        }
    };
    match &step.step.act {
        Act::Click(target) | Act::Submit(target) => look(target),
        _ => {}
    }
    warnings
}

/// What a consent record names: the scenario with every variable replaced.
fn digest(scenario: &Scenario) -> String {
    let mut hash = Sha256::new();
    hash.update(scenario.source.text.as_bytes());
    for (name, value) in &scenario.vars {
        hash.update([0]);
        hash.update(name.as_bytes());
        hash.update([1]);
        hash.update(value.value.as_bytes());
    }
    hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
}
