//! Which roles fit a verb, and how well: the words of WAI-ARIA, nothing invented.

use crate::page::Node;
use crate::scenario::Verb;

/// How well an element's role fits a verb; lower is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// What the verb is made for.
    Best,
    /// Works, but a better fitting control of the same name is preferred.
    Second,
    /// Only where nothing else has the name.
    Last,
}

impl Fit {
    /// Taken off the score.
    pub fn cost(self) -> f64 {
        match self {
            Self::Best => 0.0,
            Self::Second => 0.02,
            Self::Last => 0.04,
        }
    }
}

pub(super) const PRESSABLE: &[&str] = &[
    "button",
    "link",
    "menuitem",
    "menuitemcheckbox",
    "menuitemradio",
    "tab",
    "option",
    "checkbox",
    "radio",
    "switch",
    "treeitem",
];
pub(super) const TEXT_FIELDS: &[&str] = &["textbox", "searchbox", "spinbutton"];
const BOXES: &[&str] = &[
    "checkbox",
    "radio",
    "switch",
    "menuitemcheckbox",
    "menuitemradio",
];

/// Whether and how well `node` can serve `verb` when the target names no role.
pub fn fits(verb: Verb, node: &Node) -> Option<Fit> {
    let role = node.role.as_str();
    let file = node.input_type.as_deref() == Some("file");
    match verb {
        Verb::Click | Verb::Do | Verb::Plan => {
            if PRESSABLE.contains(&role) || node.tag == "summary" {
                Some(Fit::Best)
            } else if TEXT_FIELDS.contains(&role)
                || matches!(role, "combobox" | "slider" | "listbox")
            {
                Some(Fit::Second)
            } else if node.interactive {
                Some(Fit::Last)
            } else {
                None
            }
        }
        Verb::Fill | Verb::Form => {
            let form = verb == Verb::Form;
            let list = role == "combobox" && (node.tag != "select" || form);
            let choice = form
                && (BOXES.contains(&role) || matches!(role, "radiogroup" | "listbox" | "group"));
            if TEXT_FIELDS.contains(&role) && !file || is_typed_input(node) {
                Some(Fit::Best)
            } else if list || choice || role == "slider" {
                Some(Fit::Second)
            } else if node.interactive && node.states.multiline {
                Some(Fit::Last)
            } else {
                None
            }
        }
        Verb::Select => match role {
            "combobox" | "listbox" => Some(Fit::Best),
            "radiogroup" | "menu" | "tablist" | "tree" => Some(Fit::Second),
            // A fieldset of radio buttons has no role of its own.
            "group" => Some(Fit::Last),
            "button" | "textbox" if node.states.has_popup => Some(Fit::Second),
            _ => None,
        },
        Verb::Check | Verb::Uncheck => {
            if BOXES.contains(&role) {
                Some(Fit::Best)
            } else if role == "button" && node.states.pressed.is_some() {
                Some(Fit::Second)
            } else {
                None
            }
        }
        Verb::Upload => file
            .then_some(Fit::Best)
            .or((node.interactive && role == "button").then_some(Fit::Last)),
        Verb::Press | Verb::Submit => {
            if node.interactive {
                Some(Fit::Best)
            } else {
                Some(Fit::Last)
            }
        }
        Verb::Hover | Verb::Scroll | Verb::Drag | Verb::Wait | Verb::Expect => {
            if node.interactive {
                Some(Fit::Best)
            } else {
                Some(Fit::Second)
            }
        }
        _ => Some(Fit::Best),
    }
}

/// Native inputs that take a value but have no text role everywhere.
fn is_typed_input(node: &Node) -> bool {
    node.tag == "input"
        && matches!(
            node.input_type.as_deref(),
            Some(
                "date"
                    | "time"
                    | "datetime-local"
                    | "month"
                    | "week"
                    | "color"
                    | "range"
                    | "password"
            )
        )
}

/// Whether an element counts as having the role an author wrote. `frame` and `iframe` mean frame
/// elements; a `textbox` asked for may be a `searchbox` (its subclass) and a typed input.
pub fn role_matches(wanted: &str, node: &Node) -> bool {
    if wanted == node.role {
        return true;
    }
    match wanted {
        "frame" | "iframe" => matches!(node.tag.as_str(), "iframe" | "frame"),
        "image" => node.role == "img",
        "img" => node.role == "image",
        // What a person calls a field, whatever it takes.
        "textbox" => {
            let native = matches!(node.tag.as_str(), "input" | "textarea");
            matches!(node.role.as_str(), "spinbutton" | "combobox") && native
                || node.role == "searchbox"
                || is_typed_input(node)
        }
        "presentation" => node.role == "none",
        // Inside an article or main they are no landmarks, but authors see and name them all the same.
        "banner" => node.tag == "header" && node.role == "generic",
        "contentinfo" => node.tag == "footer" && node.role == "generic",
        "text" => true,
        _ => false,
    }
}
