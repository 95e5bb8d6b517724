//! Trusted input as one list of actions: pointer, keys, text.
//!
//! Text is one `performActions` whatever its length: separate calls would let the page move
//! the focus in between. A key action takes one grapheme; characters of the private area that
//! WebDriver reads as keys are refused, so that data can't press Enter.

use serde_json::{Value, json};
use unicode_normalization::char::canonical_combining_class;

use super::error::DriverError;

/// Where a pointer's coordinates count from.
#[derive(Debug, Clone, PartialEq)]
pub enum Origin {
    /// The frame's viewport.
    Viewport,
    /// The middle of an element, by its shared id.
    Element(String),
}

impl Origin {
    fn json(&self) -> Value {
        match self {
            Origin::Viewport => json!("viewport"),
            Origin::Element(id) => json!({"type": "element", "element": {"sharedId": id}}),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Button {
    Left,
    Middle,
    Right,
}

impl Button {
    fn number(self) -> u8 {
        match self {
            Button::Left => 0,
            Button::Middle => 1,
            Button::Right => 2,
        }
    }
}

/// A key that is not text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    Enter,
    Tab,
    Escape,
    Backspace,
    Delete,
    Space,
    ArrowLeft,
    ArrowUp,
    ArrowRight,
    ArrowDown,
    Home,
    End,
    PageUp,
    PageDown,
    Insert,
    Shift,
    Control,
    Alt,
    Meta,
    /// F1 to F12.
    Function(u8),
    Char(char),
}

impl Key {
    /// By the name people write: "Enter", "Ctrl", "ArrowDown", "F5", "a".
    pub fn by_name(name: &str) -> Option<Self> {
        let mut chars = name.chars();
        if let (Some(only), None) = (chars.next(), chars.next()) {
            return (!is_key_code(only)).then_some(if only == ' ' {
                Key::Space
            } else {
                Key::Char(only)
            });
        }
        let lower = name.to_ascii_lowercase();
        Some(match lower.as_str() {
            "enter" | "return" => Key::Enter,
            "tab" => Key::Tab,
            "escape" | "esc" => Key::Escape,
            "backspace" => Key::Backspace,
            "delete" | "del" => Key::Delete,
            "space" => Key::Space,
            "arrowleft" | "left" => Key::ArrowLeft,
            "arrowup" | "up" => Key::ArrowUp,
            "arrowright" | "right" => Key::ArrowRight,
            "arrowdown" | "down" => Key::ArrowDown,
            "home" => Key::Home,
            "end" => Key::End,
            "pageup" => Key::PageUp,
            "pagedown" => Key::PageDown,
            "insert" => Key::Insert,
            "shift" => Key::Shift,
            "control" | "ctrl" => Key::Control,
            "alt" | "option" => Key::Alt,
            "meta" | "cmd" | "command" | "super" => Key::Meta,
            _ => {
                let number = lower.strip_prefix('f')?.parse().ok()?;
                return (1..=12).contains(&number).then_some(Key::Function(number));
            }
        })
    }

    /// W3C WebDriver's code for the key.
    fn code(self) -> char {
        match self {
            Key::Backspace => '\u{E003}',
            Key::Tab => '\u{E004}',
            Key::Enter => '\u{E007}',
            Key::Shift => '\u{E008}',
            Key::Control => '\u{E009}',
            Key::Alt => '\u{E00A}',
            Key::Escape => '\u{E00C}',
            Key::Space => ' ',
            Key::PageUp => '\u{E00E}',
            Key::PageDown => '\u{E00F}',
            Key::End => '\u{E010}',
            Key::Home => '\u{E011}',
            Key::ArrowLeft => '\u{E012}',
            Key::ArrowUp => '\u{E013}',
            Key::ArrowRight => '\u{E014}',
            Key::ArrowDown => '\u{E015}',
            Key::Insert => '\u{E016}',
            Key::Delete => '\u{E017}',
            Key::Meta => '\u{E03D}',
            Key::Function(number) => {
                char::from_u32(0xE030 + u32::from(number.clamp(1, 12))).unwrap_or('\u{E031}')
            }
            Key::Char(c) => c,
        }
    }
}

/// A list of input sources for `input.performActions`.
#[derive(Debug, Clone, PartialEq)]
pub struct Actions(Vec<Value>);

impl Actions {
    pub(super) fn into_json(self) -> Value {
        Value::Array(self.0)
    }

    fn pointer(actions: Vec<Value>) -> Self {
        Self(vec![json!({
            "type": "pointer", "id": "mouse",
            "parameters": {"pointerType": "mouse"},
            "actions": actions,
        })])
    }

    fn keys(actions: Vec<Value>) -> Self {
        Self(vec![
            json!({"type": "key", "id": "keyboard", "actions": actions}),
        ])
    }

    /// Moves to a point and clicks `count` times.
    pub fn click(origin: &Origin, x: f64, y: f64, button: Button, count: u8) -> Self {
        let mut actions = vec![move_to(origin, x, y, 0)];
        for _ in 0..count {
            actions.push(json!({"type": "pointerDown", "button": button.number()}));
            actions.push(json!({"type": "pointerUp", "button": button.number()}));
        }
        Self::pointer(actions)
    }

    /// Moves through the points without pressing anything (menus that open on hover).
    pub fn hover(origin: &Origin, path: &[(f64, f64)]) -> Self {
        Self::pointer(
            path.iter()
                .map(|(x, y)| move_to(origin, *x, *y, 20))
                .collect(),
        )
    }

    /// Presses at `from`, moves to `to` in several moves (pages start a drag only after some),
    /// lets go.
    pub fn drag(from: (&Origin, f64, f64), to: (&Origin, f64, f64)) -> Self {
        let mut actions = vec![
            move_to(from.0, from.1, from.2, 0),
            json!({"type": "pointerDown", "button": 0}),
            json!({"type": "pause", "duration": 60}),
            move_to(from.0, from.1 + 6.0, from.2 + 6.0, 60),
        ];
        // The browser walks the way in small moves during the duration.
        actions.push(move_to(to.0, to.1, to.2, 250));
        actions.push(move_to(to.0, to.1, to.2, 50));
        actions.push(json!({"type": "pause", "duration": 60}));
        actions.push(json!({"type": "pointerUp", "button": 0}));
        Self::pointer(actions)
    }

    /// Turns the wheel at a point.
    pub fn wheel(x: f64, y: f64, delta_x: i32, delta_y: i32) -> Self {
        Self(vec![json!({
            "type": "wheel", "id": "wheel",
            "actions": [{"type": "scroll", "x": x.round() as i64, "y": y.round() as i64,
                         "deltaX": delta_x, "deltaY": delta_y, "origin": "viewport"}],
        })])
    }

    /// Presses the keys in order and lets go in reverse: `[Control, Char('a')]`.
    pub fn chord(keys: &[Key]) -> Self {
        Self::keys(pressed(keys))
    }

    /// Deletes what is selected (where `all`, everything is selected by keys first) and types a
    /// text in its place.
    pub fn type_over(text: &str, all: bool) -> Result<Self, DriverError> {
        let mut actions = Vec::new();
        if all {
            actions.extend(pressed(&[Key::Control, Key::Char('a')]));
        }
        actions.extend(pressed(&[Key::Delete]));
        actions.extend(typed(text)?);
        Ok(Self::keys(actions))
    }

    /// Types a text. A line break presses Enter (in a one-line box that may submit its form),
    /// a tab character presses Tab.
    pub fn text(text: &str) -> Result<Self, DriverError> {
        typed(text).map(Self::keys)
    }
}

fn pressed(keys: &[Key]) -> Vec<Value> {
    let down = keys
        .iter()
        .map(|key| json!({"type": "keyDown", "value": key.code().to_string()}));
    let up = keys
        .iter()
        .rev()
        .map(|key| json!({"type": "keyUp", "value": key.code().to_string()}));
    down.chain(up).collect()
}

fn typed(text: &str) -> Result<Vec<Value>, DriverError> {
    if text.chars().any(is_key_code) {
        return Err(DriverError::Untypable(
            "it holds a private-use character (U+E000 to U+E0FF) that means a key",
        ));
    }
    if text.contains('\0') {
        return Err(DriverError::Untypable("it holds a NUL character"));
    }
    let mut actions = Vec::new();
    for value in strokes(text) {
        actions.push(json!({"type": "keyDown", "value": value}));
        actions.push(json!({"type": "keyUp", "value": value}));
    }
    Ok(actions)
}

fn move_to(origin: &Origin, x: f64, y: f64, duration: u32) -> Value {
    json!({"type": "pointerMove", "x": x, "y": y, "duration": duration, "origin": origin.json()})
}

fn is_key_code(c: char) -> bool {
    ('\u{E000}'..='\u{E0FF}').contains(&c)
}

/// Chromium takes no more UTF-16 units in one key press (measured: "Invalid 'text' parameter").
const LONGEST_STROKE: usize = 3;

/// What each key press says. A cluster too long for one press is typed in its parts, which
/// gives the same text.
fn strokes(text: &str) -> Vec<String> {
    let text = text.replace("\r\n", "\n");
    let mut strokes = Vec::new();
    for grapheme in graphemes(&text) {
        match grapheme {
            "\n" | "\r" => strokes.push(Key::Enter.code().to_string()),
            "\t" => strokes.push(Key::Tab.code().to_string()),
            long if long.encode_utf16().count() > LONGEST_STROKE => {
                strokes.extend(long.chars().map(String::from));
            }
            short => strokes.push(short.to_owned()),
        }
    }
    strokes
}

/// Text in clusters a key action takes: base and marks, joined emoji, flags, Hangul syllables.
/// A simple form of Unicode's rule (UAX 29): at worst a cluster is typed as its parts, which
/// gives the same text.
fn graphemes(text: &str) -> Vec<&str> {
    let mut clusters = Vec::new();
    let mut start = 0;
    let mut previous: Option<char> = None;
    let mut flags = 0;
    for (at, c) in text.char_indices() {
        let joined = previous.is_some_and(|before| joins(before, c, flags));
        if !joined && at > start {
            clusters.push(&text[start..at]);
            start = at;
            flags = 0;
        }
        flags += usize::from(is_flag_half(c));
        previous = Some(c);
    }
    if start < text.len() {
        clusters.push(&text[start..]);
    }
    clusters
}

fn joins(before: char, c: char, flags: usize) -> bool {
    const JOINER: char = '\u{200D}';
    if matches!(before, '\n' | '\r' | '\t') {
        return false;
    }
    let extends = canonical_combining_class(c) != 0
        || matches!(
            c,
            '\u{200C}' | JOINER | '\u{FE00}'..='\u{FE0F}' | '\u{20E3}'
        )
        || matches!(c, '\u{1F3FB}'..='\u{1F3FF}' | '\u{E0020}'..='\u{E007F}');
    let hangul = matches!(before, '\u{1100}'..='\u{115F}' | '\u{1160}'..='\u{11A7}')
        && matches!(c, '\u{1160}'..='\u{11FF}');
    extends
        || hangul
        || (before == JOINER && !c.is_alphanumeric() && !c.is_ascii())
        || (is_flag_half(before) && is_flag_half(c) && flags % 2 == 1)
}

fn is_flag_half(c: char) -> bool {
    ('\u{1F1E6}'..='\u{1F1FF}').contains(&c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_typed_by_grapheme_and_in_one_list() {
        assert_eq!(graphemes("ab"), ["a", "b"]);
        assert_eq!(graphemes("e\u{301}x"), ["e\u{301}", "x"]);
        assert_eq!(graphemes("👩\u{200D}👧!"), ["👩\u{200D}👧", "!"]);
        assert_eq!(graphemes("🇩🇪🇫🇷"), ["🇩🇪", "🇫🇷"]);
        assert_eq!(graphemes("👍🏽漢"), ["👍🏽", "漢"]);
        assert_eq!(graphemes(""), Vec::<&str>::new());
        assert_eq!(strokes("👩\u{200D}👧"), ["👩", "\u{200D}", "👧"]);
        assert_eq!(strokes("a\r\nb"), ["a", "\u{E007}", "b"]);
        let Value::Array(sources) = Actions::text("a\nb").unwrap().into_json() else {
            panic!("a list");
        };
        let typed: Vec<&str> = sources[0]["actions"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|action| action["type"] == "keyDown")
            .filter_map(|action| action["value"].as_str())
            .collect();
        assert_eq!(typed, ["a", "\u{E007}", "b"]);
    }

    #[test]
    fn data_cannot_press_keys() {
        assert!(matches!(
            Actions::text("x\u{E007}"),
            Err(DriverError::Untypable(_))
        ));
        assert!(Actions::text("x\0").is_err());
        assert_eq!(Key::by_name("\u{E007}"), None);
    }

    #[test]
    fn keys_have_names() {
        assert_eq!(Key::by_name("Ctrl"), Some(Key::Control));
        assert_eq!(Key::by_name("F12").map(Key::code), Some('\u{E03C}'));
        assert_eq!(Key::by_name("F13"), None);
        assert_eq!(Key::by_name("a"), Some(Key::Char('a')));
        assert_eq!(Key::by_name("nonsense"), None);
    }

    #[test]
    fn a_chord_is_let_go_in_reverse() {
        let Value::Array(sources) = Actions::chord(&[Key::Control, Key::Char('a')]).into_json()
        else {
            panic!("a list");
        };
        let told: Vec<String> = sources[0]["actions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|a| {
                format!(
                    "{}{}",
                    a["type"].as_str().unwrap(),
                    a["value"].as_str().unwrap()
                )
            })
            .collect();
        assert_eq!(
            told,
            ["keyDown\u{E009}", "keyDowna", "keyUpa", "keyUp\u{E009}"]
        );
    }
}
