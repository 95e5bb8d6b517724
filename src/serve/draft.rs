//! A scenario out of what is left of a text once credentials were taken out of it.

use std::collections::BTreeMap;

use crate::secrets::{Secret, Vault, VaultError};

use super::intake::{Handed, Taken};

/// Characters of a name.
const NAME: usize = 60;

impl Taken {
    /// Credentials by name, the text as the goal; `None` when the text names no site.
    pub fn scenario(&self) -> Option<String> {
        let start = self.site.as_deref()?;
        let goal = match self.text.as_str() {
            "" => "Sign in.",
            text => text,
        };
        // JSON strings, which YAML reads as they are.
        let text = |t: &str| serde_json::Value::from(t).to_string();
        let [name, start, goal] = [&name(goal), start, goal].map(|t| text(&literal(t)));
        let mut yaml = format!("name: {name}\nstart: {start}\n");
        if let Some(handed) = &self.credential {
            yaml.push_str(&format!("credentials: [{}]\n", handed.name));
        }
        yaml.push_str(&format!("goal: {goal}\n"));
        yaml.push_str(
            "# How the page must look when it is done; make it say more than an address.\n",
        );
        yaml.push_str("expect:\n  - url: \"**\"\n");
        Some(yaml)
    }
}

impl Handed {
    /// Puts it into the vault, which is made where there is none. Blocks.
    pub fn keep(&self, vault: &Vault) -> Result<(), VaultError> {
        if !vault.exists() {
            vault.create()?;
        }
        vault.add(&self.name, &self.origin, self.fields())
    }

    fn fields(&self) -> BTreeMap<String, Secret> {
        let mut fields = BTreeMap::from([("password".to_owned(), self.password.duplicate())]);
        if let Some(username) = &self.username {
            fields.insert("username".to_owned(), username.duplicate());
        }
        fields
    }
}

/// What somebody wrote is text, not a place for variables.
fn literal(text: &str) -> String {
    text.replace("$(", "$$(")
}

/// The first sentence: a dot within a host's name ends none.
fn name(goal: &str) -> String {
    let line = goal.lines().next().unwrap_or(goal);
    let end = line
        .char_indices()
        .find(|(at, c)| {
            matches!(c, '.' | ';' | '!' | '?')
                && line[at + 1..]
                    .chars()
                    .next()
                    .is_none_or(char::is_whitespace)
        })
        .map_or(line.len(), |(at, _)| at);
    crate::text::cut(line[..end].trim(), NAME)
}

#[cfg(test)]
mod tests {
    use super::super::intake::{Words, take};
    use crate::scenario::{Lexicons, Vars, bind, parse_scenario};
    use crate::text::Source;

    /// As a run has it, every variable replaced.
    fn drafted(text: &str) -> (String, String, String, Vec<String>) {
        let taken = take(text, &Words::built_in().expect("lexicons"))
            .unwrap_or_else(|e| panic!("{text}: {e}"));
        let yaml = taken.scenario().expect("a site");
        let source = std::sync::Arc::new(Source {
            path: "draft.yaml".into(),
            text: yaml.clone(),
        });
        let (scenario, problems) = parse_scenario(source, "draft", &Lexicons::default());
        let scenario = scenario.unwrap_or_else(|| panic!("{yaml}\n{problems:?}"));
        let scenario = bind(&scenario, &Vars::default());
        let scenario = scenario.unwrap_or_else(|problems| panic!("{yaml}\n{problems:?}"));
        (
            scenario.name.value,
            scenario.start.value,
            scenario.goal.expect("a goal").value,
            scenario
                .credentials
                .iter()
                .map(|c| c.value.clone())
                .collect(),
        )
    }

    #[test]
    fn a_draft_is_a_scenario_that_says_what_was_written() {
        let (name, start, goal, credentials) = drafted(
            "Open http://parcels.test/ and look at order 1007. Then stop. Credentials for parcels.test: user bob7, password Zebra-99x.",
        );
        assert_eq!(name, "Open http://parcels.test/ and look at order 1007");
        assert_eq!(start, "http://parcels.test/");
        assert_eq!(
            goal,
            "Open http://parcels.test/ and look at order 1007. Then stop."
        );
        assert_eq!(credentials, ["parcels-user"]);
    }

    #[test]
    fn what_looks_like_a_variable_stays_text() {
        let (name, _, goal, _) = drafted("On notes.test write \"$(run.id) $(x)\"\nand save");
        assert_eq!(name, "On notes.test write \"$(run.id) $(x)\"");
        assert!(goal.contains("write \"$(run.id) $(x)\""), "{goal}");
    }
}
