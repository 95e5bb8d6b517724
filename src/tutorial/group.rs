//! Actions → 3–7 steps: micro-actions merged, and merged further where there are still too many.

use super::actions::{Action, Kind, Wish};
use super::model::{Words, tame};

/// Actions told as one step.
#[derive(Debug, Clone)]
pub struct Group {
    pub actions: Vec<Action>,
}

/// Rules first (a form with what sends it, a search with its Enter), then the limit.
pub fn group(actions: Vec<Action>, limit: usize) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for action in actions {
        match groups.last_mut() {
            Some(last) if last.takes(&action) => last.actions.push(action),
            _ => groups.push(Group {
                actions: vec![action],
            }),
        }
    }
    while groups.len() > limit.max(1) {
        let cheapest = (0..groups.len() - 1).min_by_key(|i| cost(&groups[*i], &groups[i + 1]));
        let Some(at) = cheapest else { break };
        let next = groups.remove(at + 1);
        groups[at].actions.extend(next.actions);
    }
    groups
}

/// What a reader loses when two neighbours are told as one.
fn cost(a: &Group, b: &Group) -> u32 {
    let same_page = a.page() == b.page();
    let crowd = (a.actions.len() + b.actions.len()) as u32;
    a.weight().min(b.weight()) * 4 + if same_page { 0 } else { 12 } + crowd
}

impl Group {
    fn last(&self) -> Option<&Action> {
        self.actions.last()
    }

    fn page(&self) -> &str {
        self.last().map_or("", |a| a.page.as_str())
    }

    /// Whether the next action belongs to the same state of the page.
    fn takes(&self, next: &Action) -> bool {
        let Some(last) = self.last() else { return true };
        let alone = |a: &Action| matches!(a.kind, Kind::Login | Kind::Goto | Kind::Person);
        if alone(last) || alone(next) || last.page != next.page {
            return false;
        }
        // A note opens a step of its own, unless it is the end of a form.
        if next.note.is_some() && !(next.kind.sends() && last.kind.enters()) {
            return false;
        }
        match last.kind {
            Kind::Point => true,
            // Clicking into a field and then typing there is one thing.
            Kind::Click => {
                next.kind == Kind::Fill && next.name == last.name && is_field(&last.role)
            }
            kind if kind.enters() => next.kind.enters() || next.kind.sends(),
            _ => false,
        }
    }

    /// How much this step matters to a reader.
    fn weight(&self) -> u32 {
        self.actions.iter().map(weight).max().unwrap_or(0)
    }

    /// Actions as a reader does them: the click into a field that is typed into goes without saying.
    pub fn told(&self) -> Vec<&Action> {
        let mut told: Vec<&Action> = Vec::new();
        for action in &self.actions {
            let into = told.last().is_some_and(|last| {
                last.kind == Kind::Click
                    && action.kind == Kind::Fill
                    && last.name == action.name
                    && is_field(&last.role)
            });
            if into {
                told.pop();
            }
            told.push(action);
        }
        told
    }

    /// The step's caption: the author's note, else made by rules.
    pub fn caption(&self) -> Words {
        let notes: Vec<&str> = self
            .actions
            .iter()
            .filter_map(|a| a.note.as_deref())
            .collect();
        if let Some(note) = notes.last() {
            return Words::of(tame(note, 160).trim_end_matches(['.', ' ']));
        }
        let told = self.told();
        if let [one] = told[..] {
            return one.words();
        }
        if let Some(search) = search(&told) {
            return search;
        }
        let entered: Vec<&Action> = told.iter().copied().filter(|a| a.kind.enters()).collect();
        let rest: Vec<&Action> = told.iter().copied().filter(|a| !a.kind.enters()).collect();
        match (&entered[..], &rest[..]) {
            ([], _) => listed(&self.main()),
            (_, []) => enter(&entered),
            (_, [sender]) if told.last().is_some_and(|l| l.kind.sends()) => match sender.kind {
                Kind::Click => enter(&entered).say(", then click ").join(named(sender)),
                _ => enter(&entered).say(", then send the form"),
            },
            _ => listed(&self.main()),
        }
    }

    /// The two actions of a crowded step that name it, in order.
    fn main(&self) -> Vec<&Action> {
        let told = self.told();
        let mut by_weight: Vec<usize> = (0..told.len()).collect();
        by_weight.sort_by_key(|i| (std::cmp::Reverse(weight(told[*i])), *i));
        by_weight.truncate(2);
        by_weight.sort_unstable();
        by_weight.into_iter().map(|i| told[i]).collect()
    }
}

fn is_field(role: &str) -> bool {
    matches!(role, "textbox" | "searchbox" | "combobox" | "spinbutton")
}

fn weight(action: &Action) -> u32 {
    let by_kind = match action.kind {
        Kind::Login => 10,
        Kind::Person => 9,
        Kind::Goto | Kind::Submit => 4,
        Kind::Click | Kind::Drag | Kind::Upload => 3,
        Kind::Fill | Kind::Choose | Kind::Press => 2,
        Kind::Tick | Kind::Untick | Kind::Point => 1,
    };
    let told = [
        action.write.is_some(),
        action.note.is_some(),
        action.picture == Wish::Keep,
    ];
    by_kind + 8 * told.into_iter().filter(|t| *t).count() as u32
}

/// One search box, typed into and sent.
fn search(told: &[&Action]) -> Option<Words> {
    let [field, sender] = told else { return None };
    let says = field.name.to_lowercase();
    let is_search = field.role == "searchbox" || says.contains("search") || says.contains("cerca");
    let value = field
        .value
        .as_deref()
        .filter(|v| !v.is_empty() && !v.starts_with("credential "))?;
    (is_search && field.kind == Kind::Fill && sender.kind.sends())
        .then(|| Words::of("Search for ").value(value))
}

/// "Fill in **Title** and **Text**", "Choose …", "Set **A**, **B** and 2 more".
fn enter(entered: &[&Action]) -> Words {
    let verb = match entered {
        [one] => return short(one),
        all if all.iter().all(|a| a.kind == Kind::Tick) => "Tick ",
        all if all.iter().all(|a| a.kind == Kind::Untick) => "Untick ",
        _ => "Fill in ",
    };
    let shown = if entered.len() > 3 { 2 } else { entered.len() };
    let mut words = Words::of(verb);
    for (i, action) in entered.iter().take(shown).enumerate() {
        if i > 0 {
            words = words.say(if i + 1 == entered.len() {
                " and "
            } else {
                ", "
            });
        }
        words = words.join(named(action));
    }
    match entered.len() - shown {
        0 => words,
        more => words.say(format!(" and {more} more fields")),
    }
}

/// Without the value: the list below tells it.
fn short(action: &Action) -> Words {
    match action.kind {
        Kind::Fill => Words::of("Fill in ").join(named(action)),
        _ => action.words(),
    }
}

fn named(action: &Action) -> Words {
    match action.name.trim() {
        "" => Words::of(format!(
            "the {}",
            if action.role.is_empty() {
                "control"
            } else {
                action.role.as_str()
            }
        )),
        name => Words::new().control(name),
    }
}

/// "Click **A**, then click **B**"; more than two are told by first and last.
fn listed(told: &[&Action]) -> Words {
    match told {
        [] => Words::new(),
        [one] => one.words(),
        [first, .., last] => first.words().say(", then ").join(last.words().lower()),
    }
}
