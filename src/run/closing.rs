//! After an attempt: the write-up, the comparison with what is approved, the search for leaks.
//!
//! Each is an event inside its scenario; none turns a failure into a pass (R57).

use std::path::Path;

use crate::event::{SnapshotVerdict, Verdict, What};
use crate::plan::Planned;
use crate::scenario::Pattern;
use crate::secrets::LeakHit;
#[cfg(feature = "leak-injector")]
use crate::secrets::inject::plant;
use crate::snapshot::{self, Compared, Kind, Lock};
use crate::store::RunFolder;

use super::attempt::Ended;
use super::emit::{Attempt, Stream};
use super::redact::is_user_name;
use super::settings::{Outgoing, RunContext};
use super::worker::attempt_folder;

/// `offers`: the attempt's lock and tutorial are compared and proposed; of repeated attempts one
/// does that for all.
#[allow(clippy::too_many_arguments)]
pub async fn after(
    context: &RunContext,
    stream: &Stream,
    planned: &Planned,
    say: &Attempt,
    attempt: u32,
    run: &RunFolder,
    ended: Option<&Ended>,
    offers: bool,
) {
    let Ok(folder) = attempt_folder(run, planned.id(), attempt) else {
        return;
    };
    let events = stream.of_attempt(planned.id(), attempt);
    let passed = ended.is_some_and(|e| e.as_expected);
    let up = match super::writeup::write(context, planned, &events, &folder, passed).await {
        Ok(up) => Some(up),
        Err(error) => {
            say.note(format!("the tutorial was not written: {error}"));
            None
        }
    };
    if let Some(up) = &up {
        up.notes.iter().for_each(|note| say.note(note.as_str()));
        up.calls
            .iter()
            .for_each(|call| say.say(What::ModelCalled(super::asking::called("tutorial", call))));
    }
    if let Some(ended) = ended.filter(|e| e.as_expected && offers) {
        if planned.scenario.tutorial.is_some()
            && let Some(up) = &up
        {
            if up.prose_holds {
                snapshot::withdraw(&context.suite_root, planned.id(), Kind::Tutorial);
                verdict(say, Kind::Tutorial, Verdict::Same, None, None);
            } else {
                tutorial_verdict(context, planned, say, &up.markdown, &folder);
            }
        }
        if let Some(lock) = &ended.lock {
            lock_verdict(context, planned, say, lock);
        }
    }
    search_leaks(context, say, &folder);
}

fn tutorial_verdict(
    context: &RunContext,
    planned: &Planned,
    say: &Attempt,
    markdown: &str,
    folder: &Path,
) {
    if context.mode.fresh {
        return verdict(say, Kind::Tutorial, Verdict::Skipped, None, None);
    }
    let volatile: Vec<Pattern> = planned
        .scenario
        .volatile
        .iter()
        .chain(&context.volatile)
        .cloned()
        .collect();
    let (root, id) = (&context.suite_root, planned.id());
    let pictures = folder.join("pictures");
    let approved = planned.approved.tutorial.as_deref();
    // The suite's own patterns are for all scenarios; one that has no use here is no mistake.
    let texts = [markdown, approved.unwrap_or_default()];
    for pattern in snapshot::idle(Kind::Tutorial, &texts, &planned.scenario.volatile) {
        say.note(format!(
            "`volatile`: {pattern} fits nothing in the tutorial; is it spelt as the page has it?"
        ));
    }
    match snapshot::compare(Kind::Tutorial, approved, markdown, &volatile) {
        Compared::Same => {
            snapshot::withdraw(root, id, Kind::Tutorial);
            verdict(say, Kind::Tutorial, Verdict::Same, None, None);
        }
        Compared::Missing => {
            let wanted = if context.mode.is_strict() {
                Verdict::Pending
            } else {
                Verdict::Proposed
            };
            propose_tutorial(context, say, id, markdown, &pictures, wanted, None);
        }
        Compared::Differs { diff } => propose_tutorial(
            context,
            say,
            id,
            markdown,
            &pictures,
            Verdict::Pending,
            Some(diff),
        ),
    }
}

fn propose_tutorial(
    context: &RunContext,
    say: &Attempt,
    id: &str,
    markdown: &str,
    pictures: &Path,
    wanted: Verdict,
    diff: Option<String>,
) {
    #[cfg(feature = "leak-injector")]
    let markdown = &plant::onto("proposed tutorial", markdown.to_owned());
    if !is_clean(context, say, Kind::Tutorial, markdown) {
        return;
    }
    match snapshot::propose_tutorial(
        &context.suite_root,
        id,
        markdown,
        Some(pictures).filter(|p| p.is_dir()),
    ) {
        Ok(path) => verdict(
            say,
            Kind::Tutorial,
            wanted,
            Some(shown(context, &path)),
            diff,
        ),
        Err(error) => {
            say.note(error.to_string());
            verdict(say, Kind::Tutorial, wanted, None, diff);
        }
    }
}

fn lock_verdict(context: &RunContext, planned: &Planned, say: &Attempt, lock: &Lock) {
    if context.mode.fresh {
        return;
    }
    let (root, id) = (&context.suite_root, planned.id());
    let approved = planned.approved.lock.clone().unwrap_or_default();
    if *lock == approved {
        snapshot::withdraw(root, id, Kind::Steps);
        if !lock.is_empty() {
            verdict(say, Kind::Steps, Verdict::Same, None, None);
        }
        return;
    }
    let text = lock.render(id);
    #[cfg(feature = "leak-injector")]
    let text = plant::onto("proposed steps", text);
    if !is_clean(context, say, Kind::Steps, &text) {
        return;
    }
    let missing = planned.approved.lock.is_none();
    let wanted = if missing && !context.mode.is_strict() {
        Verdict::Proposed
    } else {
        Verdict::Pending
    };
    let old = planned.approved.lock.as_ref().map(|l| l.render(id));
    let diff = match snapshot::compare(Kind::Steps, old.as_deref(), &text, &[]) {
        Compared::Differs { diff } => Some(diff),
        _ => None,
    };
    match snapshot::propose(root, id, Kind::Steps, &text) {
        Ok(path) => verdict(say, Kind::Steps, wanted, Some(shown(context, &path)), diff),
        Err(error) => say.note(error.to_string()),
    }
}

fn verdict(
    say: &Attempt,
    kind: Kind,
    verdict: Verdict,
    pending: Option<String>,
    diff: Option<String>,
) {
    say.say(What::Snapshot(SnapshotVerdict {
        what: kind.word().into(),
        verdict,
        pending,
        diff,
    }));
}

fn shown(context: &RunContext, path: &Path) -> String {
    path.strip_prefix(&context.suite_root)
        .unwrap_or(path)
        .to_string_lossy()
        .into_owned()
}

/// Everything the attempt left behind is searched, and what its writers held back is told.
fn search_leaks(context: &RunContext, say: &Attempt, folder: &Path) {
    #[cfg(feature = "leak-injector")]
    plant::beside(folder).expect("the folder takes it");
    tell(say, context.outgoing.take_held_back(folder));
    let faults = search(&context.outgoing, folder, |hit| tell(say, [hit]));
    faults.into_iter().for_each(|fault| say.note(fault));
}

/// The last look at a run's folder: whoever wrote a file, and whenever its value became known.
/// Whether something was found.
pub fn search_run(outgoing: &Outgoing, stream: &Stream, folder: &Path) -> bool {
    let mut found = false;
    let faults = search(outgoing, folder, |hit| {
        found = true;
        stream.run(leak(hit));
    });
    let notes = faults.into_iter().map(|text| What::Note { text });
    notes.for_each(|note| stream.run(note));
    found
}

/// A leaking file is withdrawn, a note stays. Gives what could not be.
fn search(outgoing: &Outgoing, folder: &Path, mut tell: impl FnMut(LeakHit)) -> Vec<String> {
    let report = outgoing.scanner().scan_tree(folder);
    let mut faults = Vec::new();
    for (path, hits) in report.leaking {
        let withdrawn = outgoing.store().withdraw(&path, &hits, outgoing.scanner());
        hits.into_iter().for_each(&mut tell);
        if let Err(error) = withdrawn {
            faults.push(format!("a leaking file could not be removed: {error}"));
        }
    }
    faults
}

/// Nothing is proposed with a value in it: whoever accepts it would commit it. A user name may be part
/// of a step's own words.
fn is_clean(context: &RunContext, say: &Attempt, kind: Kind, text: &str) -> bool {
    let name = format!("the proposed {}", kind.word());
    let mut hits = context
        .outgoing
        .scanner()
        .scan_bytes(&name, text.as_bytes());
    hits.retain(|hit| !is_user_name(&hit.credential));
    let clean = hits.is_empty();
    tell(say, hits);
    clean
}

fn tell(say: &Attempt, hits: impl IntoIterator<Item = LeakHit>) {
    hits.into_iter().for_each(|hit| say.say_durably(leak(hit)));
}

fn leak(hit: LeakHit) -> What {
    What::Leak {
        file: hit.file,
        credential: hit.credential,
        form: hit.form,
    }
}
