//! The failure cases of reading and acting (groups a and b of the collection, 140 and 141), and pages
//! of the same kinds, run as one suite by two workers that share their browsers.
//!
//! A scenario says itself what must be told: each `# says:` line stands in the failure of its failed
//! step, each `# notes:` line in what the run noted; `# chromium:` says why Firefox can't do it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

/// What a scenario came to.
#[derive(Debug, Default)]
struct Came {
    as_expected: bool,
    message: String,
    /// Everything the failed step said, as a person reads it.
    said: String,
    noted: String,
}

struct Run {
    /// Kept so that downloads can be looked at.
    folder: tempfile::TempDir,
    came: BTreeMap<String, Came>,
    output: String,
}

fn run() -> &'static Run {
    static RUN: OnceLock<Run> = OnceLock::new();
    RUN.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let suite = folder.path().join("suite");
        copy(&root.join("ci/tests/cases"), &suite);
        copy(&root.join("fixtures/pages"), &suite.join("fixtures/pages"));
        let output = Command::new(env!("CARGO_BIN_EXE_rehearsal"))
            .args(["run", "--jobs", "2", "--fresh", "--confirm-writes", "--out"])
            .arg(folder.path().join("runs"))
            .current_dir(&suite)
            .output()
            .expect("rehearsal runs");
        Run {
            came: came(&journal(&folder.path().join("runs"))),
            output: String::from_utf8_lossy(&output.stdout).into_owned()
                + String::from_utf8_lossy(&output.stderr).as_ref(),
            folder,
        }
    })
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder").flatten() {
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &to);
        } else {
            std::fs::copy(&path, &to).expect("a copy");
        }
    }
}

fn journal(runs: &Path) -> Vec<Value> {
    let text = std::fs::read_dir(runs)
        .into_iter()
        .flatten()
        .flatten()
        .find_map(|run| std::fs::read_to_string(run.path().join("events.jsonl")).ok())
        .unwrap_or_default();
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

fn came(events: &[Value]) -> BTreeMap<String, Came> {
    let mut all: BTreeMap<String, Came> = BTreeMap::new();
    for event in events {
        let Some(id) = event["scenario"].as_str() else {
            continue;
        };
        let came = all.entry(id.to_owned()).or_default();
        match event["event"].as_str() {
            Some("scenario_finished") => {
                came.as_expected = event["as_expected"] == true;
                came.message = words(&event["message"]);
            }
            Some("step_finished") => {
                came.noted += &words(&event["notes"]);
                came.said += &words(&event["failure"]);
            }
            Some("note") => came.noted += &words(event),
            _ => {}
        }
    }
    all
}

/// The strings of a value, and `role "name" in place` for an element it names.
fn words(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text}\n"),
        Value::Array(items) => items.iter().map(words).collect(),
        Value::Object(map) => {
            let named = match (&value["role"], &value["name"]) {
                (Value::String(role), Value::String(name)) => format!("{role} \"{name}\"\n"),
                _ => String::new(),
            };
            named + map.values().map(words).collect::<String>().as_str()
        }
        _ => String::new(),
    }
}

/// Ids of the suite whose name begins so.
fn ids(prefix: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("ci/tests/cases/scenarios");
    let folder = |name: &str| -> Vec<PathBuf> {
        std::fs::read_dir(root.join(name))
            .expect("scenarios")
            .flatten()
            .map(|entry| entry.path())
            .collect()
    };
    let mut ids: Vec<String> = [folder(""), folder("extra")]
        .concat()
        .iter()
        .filter(|path| path.extension().is_some_and(|e| e == "yaml"))
        .filter_map(|path| path.strip_prefix(&root).ok())
        .map(|path| path.with_extension("").to_string_lossy().into_owned())
        .filter(|id| id.starts_with(prefix))
        .collect();
    ids.sort();
    ids
}

fn source(id: &str) -> String {
    let path = format!("ci/tests/cases/scenarios/{id}.yaml");
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("a scenario")
}

/// What is wrong with a scenario's outcome.
fn faults(id: &str) -> Vec<String> {
    let Some(came) = run().came.get(id) else {
        return vec![format!("{id} did not run:\n{}", run().output)];
    };
    let mut faults = Vec::new();
    if !came.as_expected {
        faults.push(format!("{id}: {}\n{}", came.message, came.said));
    }
    for line in source(id).lines() {
        if let Some(says) = line.strip_prefix("# says: ")
            && !came.said.contains(says)
        {
            faults.push(format!("{id} does not say `{says}`:\n{}", came.said));
        }
        if let Some(notes) = line.strip_prefix("# notes: ")
            && !came.noted.contains(notes)
        {
            faults.push(format!("{id} does not note `{notes}`:\n{}", came.noted));
        }
    }
    faults
}

fn hold(prefix: &str) {
    let ids = ids(prefix);
    assert!(!ids.is_empty(), "no scenario of {prefix}");
    let firefox = std::env::var("REHEARSAL_BROWSER").is_ok_and(|browser| browser == "firefox");
    let possible = |id: &&String| !(firefox && source(id).contains("\n# chromium: "));
    let ids = ids.iter().filter(possible);
    let faults: Vec<String> = ids.flat_map(|id| faults(id)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

macro_rules! cases {
    ($($name:ident: $prefix:literal,)*) => {
        $(#[test] fn $name() { hold($prefix); })*

        #[test]
        fn every_scenario_of_the_suite_belongs_to_a_test() {
            let tested: BTreeSet<String> = [$($prefix),*].iter().flat_map(|p| ids(p)).collect();
            let all: BTreeSet<String> = ids("").into_iter().collect();
            assert_eq!(all.difference(&tested).collect::<Vec<_>>(), Vec::<&String>::new());
        }
    };
}

cases! {
    case_001_icon_only_tooltip: "001-",
    case_002_clickable_paragraph: "002-",
    case_003_labelledby_hidden_node: "003-",
    case_004_labelledby_dangling: "004-",
    case_005_empty_title_attribute: "005-",
    case_006_name_from_child_title: "006-",
    case_007_svg_title_in_link: "007-",
    case_008_name_attribute_is_not_a_name: "008-",
    case_009_ligature_icon_text: "009-",
    case_010_nbsp_and_soft_hyphen: "010-",
    case_011_bidi_controls_in_name: "011-",
    case_012_emoji_in_name: "012-",
    case_013_disabled_by_ancestor: "013-",
    case_014_duplicate_and_substring_names: "014-",
    case_015_hidden_twin: "015-",
    case_016_styled_checkbox: "016-",
    case_017_open_shadow_controls: "017-",
    case_018_labelledby_inside_shadow: "018-",
    case_019_closed_shadow: "019-",
    case_020_cross_origin_iframe: "020-",
    case_021_back_to_top_after_iframe: "021-",
    case_022_nested_iframes: "022-",
    case_023_virtual_list_inner_scroller: "023-",
    case_024_text_node_target: "024-",
    case_025_candidate_cap_hides_target: "025-",
    case_026_bare_label_as_control: "026-",
    case_027_hidden_file_input: "027-",
    case_028_controlled_input_clear: "028-",
    case_029_date_field: "029-",
    case_030_lazy_combobox: "030-",
    case_031_stale_on_rerender: "031-",
    case_032_overlay_intercepts: "032-",
    case_033_sticky_header_covers: "033-",
    case_034_confirm_dialogs: "034-",
    case_035_opens_new_tab: "035-",
    case_036_slow_download: "036-",
    case_037_never_idle_network: "037-",
    case_038_late_render_after_load: "038-",
    case_039_r95_endless_spinner: "039-",
    case_040_trusted_types: "040-",
    case_041_csp_blocks_inline_style: "041-",
    case_042_overridden_array_and_map: "042-",
    case_043_overridden_eval_and_query: "043-",
    case_044_rich_text_editor: "044-",
    case_045_hover_submenu: "045-",
    case_046_drag_and_drop: "046-",
    case_047_offscreen_click_noop: "047-",
    case_048_effect_outside_the_page: "048-",
    case_049_text_lost_while_loading: "049-",
    case_140_literal_taken_as_pattern: "140-",
    case_141_loose_versus_exact: "141-",
    r51_pages_of_the_same_kinds: "extra/",
}

/// The whole file, not what had arrived of it.
#[test]
fn case_036_the_download_is_complete() {
    let runs = run().folder.path().join("runs");
    let file = std::fs::read_dir(runs)
        .expect("a run")
        .flatten()
        .map(|run| run.path().join("036-slow-download/downloads/log.csv"))
        .find(|path| path.is_file())
        .expect("log.csv");
    let text = std::fs::read_to_string(file).expect("text");
    assert_eq!(text.lines().count(), 2000);
    assert!(text.ends_with("1999,ok"));
}
