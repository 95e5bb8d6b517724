//! Building the plan: bind, unfold, understand hosts and writes, check what can be checked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::policy::{self, HostRule, SafeRequest, Scheme, WriteRule};
use crate::scenario::{
    self, Act, By, Fixture, FixtureKind, Flow, FormValue, Scenario, Step, Suite, Target, Value,
    Vars,
};
use crate::snapshot::{Approved, LockedGoal};
use crate::text::Problem;

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
                    if let Some(fixture) = suite.fixtures.get(name) {
                        plan.servers.insert(name.clone(), fixture.clone());
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
        .map_err(|denial| {
            problems.push(Problem::error(denial.to_string()).at(&bound.source, bound.start.span))
        })
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
    for step in before.iter().chain(&steps).chain(&after) {
        credentials.extend(credentials_in(&step.step));
        goto_problem(
            step,
            start.as_ref(),
            &hosts,
            suite,
            &servers,
            scheme,
            &mut problems,
        );
        warnings.extend(step_warnings(step, &bound.language.value));
    }
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

/// A `goto` off the list is known before any browser.
fn goto_problem(
    step: &PlannedStep,
    start: Option<&url::Url>,
    hosts: &[HostRule],
    suite: &Suite,
    servers: &[String],
    scheme: Scheme,
    problems: &mut Vec<Problem>,
) {
    let (Act::Goto(address), Some(start)) = (&step.step.act, start) else {
        return;
    };
    let joined = start
        .join(address)
        .map_or_else(|_| address.clone(), |u| u.to_string());
    match policy::navigable(&joined) {
        Err(denial) => {
            problems.push(Problem::error(denial.to_string()).at(&step.source, step.step.span))
        }
        Ok(url) => {
            let fixture_hosts = servers
                .iter()
                .filter_map(|n| match &suite.fixtures.get(n)?.kind {
                    FixtureKind::Server(server) => Some(server.hosts.iter()),
                    FixtureKind::Flow(_) => None,
                });
            let fixture_rules: Vec<HostRule> = fixture_hosts
                .flatten()
                .filter_map(|(name, _)| HostRule::parse(&name.value, scheme).ok())
                .collect();
            let listed = HostRule::of(&url).is_some_and(|rule| {
                hosts
                    .iter()
                    .chain(&fixture_rules)
                    .any(|h| h.same_place(&rule))
            });
            if !listed {
                problems.push(
                    Problem::error(format!(
                        "`goto` leaves the listed hosts: {}",
                        url.host_str().unwrap_or_default()
                    ))
                    .at(&step.source, step.step.span)
                    .help(format!(
                        "add `{}` to `hosts:`",
                        HostRule::of(&url)
                            .map(|r| format!("{}://{}:{}", r.scheme, r.host, r.port))
                            .unwrap_or_default()
                    )),
                );
            }
        }
    }
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
