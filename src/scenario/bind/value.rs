//! What is typed: text, fields of credentials, whole forms.

use super::{Bind, Fields};
use crate::scenario::model::*;
use crate::scenario::yaml::{Kind, Node};
use crate::text::{Span, nearest, visible};

impl Bind<'_> {
    pub(super) fn fill_value(&mut self, fields: Fields<'_>) -> Option<Value> {
        match (fields.get("with"), fields.get("credential")) {
            (Some(node), None) => self
                .at("with", |b| b.value(node, "the text to type"))
                .map(|v| Value::Text(v.value)),
            (None, Some(node)) => self.at("credential", |b| b.credential_field(node)),
            (Some(_), Some(_)) => {
                self.error(
                    fields.span,
                    "`with` and `credential` stand beside one `fill`",
                    "keep one of them",
                );
                None
            }
            (None, None) => {
                self.error(fields.entry("fill").map_or(fields.span, |e| e.key.span), "`fill` doesn't say with what", "add `with: text` or `credential: name.password` at the same indentation as `fill`");
                None
            }
        }
    }

    fn credential_field(&mut self, node: &Node) -> Option<Value> {
        let text = self.text(node, "name.field of a credential")?;
        let Some((name, field)) = text
            .split_once('.')
            .filter(|(n, f)| !n.is_empty() && !f.is_empty())
        else {
            self.wrong(
                node,
                "name.field of a credential",
                "code-host-user.password",
            );
            return None;
        };
        self.known_credential(name, node.span)?;
        Some(Value::Credential {
            name: name.to_string(),
            field: field.to_string(),
        })
    }

    pub(super) fn credential_name(&mut self, node: &Node) -> Option<String> {
        let name = self.text(node, "the name of a credential")?.value;
        self.known_credential(&name, node.span)?;
        Some(name)
    }

    fn known_credential(&mut self, name: &str, span: Span) -> Option<()> {
        if self.credentials.iter().any(|c| c == name) {
            return Some(());
        }
        let help = match nearest(name, self.credentials.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("list it at the top: credentials: [{name}]"),
        };
        self.error(
            span,
            &format!(
                "the credential `{}` is not listed in this file",
                visible(name)
            ),
            help,
        );
        None
    }

    pub(super) fn form(&mut self, node: &Node) -> Option<Vec<(Target, FormValue)>> {
        let entries = self.entries(
            node,
            "a map of controls and values",
            "form: { Passenger: Ada, With bicycle: true }",
        )?;
        if entries.is_empty() {
            self.wrong(node, "at least one control", "form: { Passenger: Ada }");
            return None;
        }
        let mut lines = Vec::new();
        for entry in entries {
            let line = self.at(entry.key.value.as_str(), |b| {
                let target = b.target_text(&entry.key, entry.key.span);
                let value = match &entry.value.kind {
                    Kind::Scalar(s) if s.plain && s.text == "true" => Some(FormValue::Bool(true)),
                    Kind::Scalar(s) if s.plain && s.text == "false" => Some(FormValue::Bool(false)),
                    Kind::Map(inner) if inner.iter().any(|e| e.key.value == "credential") => {
                        b.form_credential(&entry.value)
                    }
                    _ => b
                        .value(&entry.value, "the value of a control")
                        .map(|v| FormValue::Value(Value::Text(v.value))),
                };
                target.zip(value)
            });
            lines.extend(line);
        }
        Some(lines)
    }

    fn form_credential(&mut self, node: &Node) -> Option<FormValue> {
        let fields = self.map(node, &crate::scenario::shapes::CREDENTIAL_VALUE)?;
        self.at("credential", |b| {
            b.credential_field(fields.get("credential")?)
        })
        .map(FormValue::Value)
    }
}
