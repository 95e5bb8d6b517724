//! What comes onto a page while its picture is taken is in no picture uncovered (R18): words, a field's
//! value, a shadow root, a style sheet, each so many milliseconds after a click. Read by OCR.

use super::lab::{Lab, canary};
use super::ocr::{read, shows};
use super::stage::Stage;

const DELAYS: [u32; 5] = [0, 15, 35, 60, 90];

/// Ways to show a text, and to take it away again.
const WAYS: [(&str, &str, &str, &str); 4] = [
    (
        "words",
        "<p id=p></p>",
        "p.textContent = TEXT",
        "p.textContent = ''",
    ),
    (
        "value",
        "<input id=p aria-label=Copy readonly>",
        "p.value = TEXT",
        "p.value = ''",
    ),
    (
        "shadow",
        "<div id=p></div><script>const r = p.attachShadow({mode: 'open'}); r.innerHTML = '<b></b>'</script>",
        "r.firstChild.textContent = TEXT",
        "r.firstChild.textContent = ''",
    ),
    (
        "sheet",
        "<style id=s>#p { display: none }</style><p id=p>USER</p>",
        "s.sheet.insertRule('#p { display: block }', 1)",
        "s.sheet.deleteRule(1)",
    ),
];

#[test]
fn r18_what_comes_during_a_picture_is_covered_or_the_picture_is_taken_again() {
    let user = canary(14);
    let stage = Stage::open("unused");
    let mut lab = Lab::on(&stage, &["site.test"], true);
    lab.credential("shop", "http://site.test", &user, &canary(14));
    let mut ids = Vec::new();
    for (way, holds, show, hide) in WAYS {
        for (beside, more) in [("alone", ""), ("beside", "<p>USER</p>")] {
            let buttons: String = DELAYS
                .map(|ms| format!("<button onclick=\"setTimeout(show, {ms})\">After {ms}</button>"))
                .concat();
            let page = format!(
                "<title>Late</title><style>body {{ font: 24px 'DejaVu Sans Mono', monospace }} input {{ font: inherit; width: 28em }}</style>\
                 <h1>Late</h1>{buttons}<button onclick=hide()>Hide</button>{more}{holds}\
                 <script>const TEXT = 'USER'; function show() {{ {show} }} function hide() {{ {hide} }}</script>"
            );
            let id = format!("{way}-{beside}");
            stage.page("site.test", &format!("/{id}"), &page.replace("USER", &user));
            let steps: String = DELAYS
                .map(|ms| format!("  - click: After {ms}\n  - {{ click: Hide, picture: drop }}\n"))
                .concat();
            lab.scenario(
                &id,
                &format!("start: http://site.test/{id}\ncredentials: [shop]\nsteps:\n{steps}expect: [ {{ see: Late }} ]\n"),
            );
            ids.push(id);
        }
    }
    let run = lab.run(&["--fresh"]);
    let wishes: Vec<_> = ids
        .iter()
        .map(|id| (id.as_str(), "passed/completed"))
        .collect();
    run.check(&wishes);
    let mut leaks = Vec::new();
    let mut kept = 0;
    for id in &ids {
        for (step, picture) in run.pictures(id) {
            kept += 1;
            if shows(&read(&picture), &user) {
                leaks.push(format!("{id} step {step}: {}", picture.display()));
            }
        }
    }
    let covered = run.events.iter().filter_map(|e| e["redactions"].as_array());
    let covered = covered.filter(|boxes| !boxes.is_empty()).count();
    println!("{kept} pictures, {covered} with something covered");
    if !leaks.is_empty() {
        panic!("{leaks:#?}\n{}", lab.keep().display());
    }
    assert!(kept > ids.len() * DELAYS.len() / 2, "{kept} pictures kept");
    assert!(
        covered >= ids.len(),
        "{covered} pictures with something covered"
    );
}
