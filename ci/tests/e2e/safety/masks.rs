//! What pictures show, read by OCR (R18, R26, cases 041, 067, 077–080, 087, and the hostile pages of
//! security.md 2.1). A page without masks is read as a control: a blind reader proves nothing.

use super::lab::{Lab, canary};
use super::ocr::{read, shows};
use super::stage::{LOGIN, Stage};

const BIG: &str = "<style>body{font:24px 'DejaVu Sans Mono',monospace}input{font:24px 'DejaVu Sans Mono',monospace;width:28em}</style>";

#[test]
fn r18_r26_cases_041_067_077_080_087_no_picture_shows_what_is_covered() {
    let password = canary(14);
    let user = canary(14);
    let stage = Stage::open(&password);
    let page = |path: &str, body: &str| {
        stage.page(
            "site.test",
            path,
            &format!("<title>Page</title>{BIG}{body}"),
        );
    };
    page("/login", LOGIN);
    // Signed in, the site shows who is: in text, fields, frames, shadow roots, letters, a table.
    page(
        "/home",
        &format!(
            "<h1>Orders</h1><p>Signed in as {user}</p><input aria-label=Copy readonly value={user}>\
             <input type=submit value={user}><p>{}</p><iframe title=box width=700 height=80 srcdoc=\"{BIG}<p>{user}</p>\"></iframe>\
             <div id=h></div><script>h.attachShadow({{mode:'open'}}).innerHTML='<p>{user}</p>'</script>\
             <p style=\"text-transform:lowercase\">{user}</p><button title=x>{user}</button>",
            user.chars()
                .map(|c| format!("<span>{c}</span>"))
                .collect::<String>()
        ),
    );
    // Nobody knows this one: the scenario covers the place.
    let made = canary(14);
    page(
        "/key",
        &format!(
            "<h1>Keys</h1><section aria-label=\"New key\"><p>{made}</p><input value={made} aria-label=Key></section><p id=t>workspace {made}</p>"
        ),
    );
    page("/plain", &format!("<h1>Control</h1><p>{made}</p>"));
    // Pages that fight the mask. The value is one the broker knows and the page has kept.
    let hostile = |path: &str, body: &str| {
        let script = "const o = new MutationObserver(l => { for (const m of l) { for (const n of m.addedNodes) if (n.nodeType === 1 && n.dataset && !n.dataset.mine) n.remove(); if (m.type === 'attributes') m.target.removeAttribute('style') } }); o.observe(document, {childList: true, subtree: true, attributes: true});";
        page(
            path,
            &format!("<h1>Hostile</h1>{body}<script>{script}</script>"),
        );
    };
    hostile("/h-text", &format!("<p>{user}</p>"));
    hostile(
        "/h-dialog",
        &format!("<dialog data-mine=1 id=d>{user}</dialog><script>d.showModal()</script>"),
    );
    hostile(
        "/h-transform",
        &format!("<p style=\"transform:rotate(2deg) scale(1.2);transform-origin:0 0\">{user}</p>"),
    );
    hostile(
        "/h-css",
        &format!(
            "<style>*{{visibility:visible!important;opacity:1!important;filter:none!important;animation:none!important;background:#fff!important;color:#000!important}}</style><input aria-label=a value={user}><p>{user}</p>"
        ),
    );
    page(
        "/h-move",
        &format!(
            "<h1>Moving</h1><p id=m style=\"position:absolute;left:0\">{user}</p><script>let x=0;setInterval(()=>{{x=(x+41)%500;m.style.left=x+'px';m.style.top=x+'px'}},16)</script>"
        ),
    );
    hostile(
        "/h-scroll",
        &format!(
            "<div style=height:300px></div><p>{user}</p><div style=height:3000px></div><script>let y=0;setInterval(()=>{{y=(y+37)%400;scrollTo(0,y)}},16)</script>"
        ),
    );
    hostile(
        "/h-area",
        &format!(
            "<textarea aria-label=a cols=30 rows=3 style=\"font:24px monospace\">{user}</textarea><div contenteditable aria-label=b>{user}</div>"
        ),
    );
    hostile(
        "/h-placeholder",
        &format!(
            "<input aria-label=a placeholder={user}><select aria-label=s style=\"font:24px monospace\"><option>{user}</select>"
        ),
    );
    hostile(
        "/h-frame",
        "<iframe title=f width=700 height=120 style=\"border:20px solid;padding:10px\" src=http://other.test/inner></iframe>",
    );
    stage.page(
        "other.test",
        "/inner",
        &format!("{BIG}<p>{user}</p><input aria-label=x value={user}>"),
    );
    let mut lab = Lab::on(&stage, &["site.test", "other.test"], true);
    lab.credential("shop", "http://site.test", &user, &password);
    lab.scenario(
        "signed-in",
        "start: http://site.test/login\ncredentials: [shop]\ntutorial: true\nsteps:\n  - login: shop\nexpect: [ { see: Orders } ]\n",
    );
    lab.scenario(
        "rejected",
        "start: http://site.test/login\ncredentials: [shop]\nends: { status: failed, reason: login_rejected }\nsteps:\n  - login: shop\nexpect: [ { see: Orders } ]\n",
    );
    lab.scenario(
        "control",
        "start: http://site.test/plain\ntutorial: true\nsteps: [ { wait: heading \"Control\" } ]\nexpect: [ { see: Control } ]\n",
    );
    lab.scenario(
        "masked",
        "start: http://site.test/key\ntutorial: true\nmask:\n  - { target: region \"New key\", as: key }\n  - { text: \"/workspace [A-Z0-9]+/\", as: workspace }\nsteps: [ { wait: heading \"Keys\" } ]\nexpect: [ { see: Keys } ]\n",
    );
    let hostiles = [
        "text",
        "dialog",
        "transform",
        "css",
        "move",
        "scroll",
        "area",
        "placeholder",
        "frame",
    ];
    for name in hostiles {
        lab.scenario(
            &format!("h-{name}"),
            &format!("start: http://site.test/h-{name}\ncredentials: [shop]\nsteps: [ {{ wait: {{ seconds: 1 }} }} ]\nexpect: [ {{ title: Page }} ]\n"),
        );
    }
    for (id, file, field) in [
        ("c-067", "067-page-echoes-after-login.html", "Password"),
        ("c-080", "080-revealed-password.html", "Password"),
    ] {
        let button = if id == "c-080" {
            "Show password"
        } else {
            "Sign in"
        };
        lab.scenario(
            id,
            &format!(
                "start: http://site.test/pages/{file}\ncredentials: [shop]\nsteps:\n  - {{ fill: {field}, credential: shop.password }}\n  - click: {button}\nexpect: [ {{ title: \"*\" }} ]\n"
            ),
        );
    }
    lab.scenario(
        "c-041",
        "start: http://site.test/pages/041-csp-blocks-inline-style.html\nmask: [ { target: textbox \"Seal code\", as: seal } ]\nsteps: [ { wait: textbox \"Seal code\" } ]\nexpect: [ { see: Seal code } ]\n",
    );
    lab.scenario(
        "c-087",
        "start: http://site.test/pages/087-picture-redaction-fails-open.html\nmask: [ { target: textbox \"Tiller word\", as: tiller } ]\nsteps: [ { wait: { seconds: 1 } } ]\nexpect: [ { see: Tiller word } ]\n",
    );
    let run = lab.run(&["--fresh", "--jobs", "2"]);
    let passed = "passed/completed";
    let mut wishes = vec![
        ("signed-in", passed),
        ("control", passed),
        ("masked", passed),
        ("c-041", passed),
        ("c-067", passed),
        ("c-080", passed),
        ("c-087", passed),
    ];
    let names: Vec<String> = hostiles.iter().map(|n| format!("h-{n}")).collect();
    wishes.extend(names.iter().map(|n| (n.as_str(), passed)));
    run.check(&wishes);

    let control = run.pictures("control");
    assert!(
        control.iter().any(|(_, p)| shows(&read(p), &made)),
        "OCR reads an unmasked page"
    );
    let mut withheld = Vec::new();
    let mut leaks = Vec::new();
    let mut kept = 0;
    for (id, _) in &wishes {
        if *id == "control" {
            continue;
        }
        for (step, picture) in run.pictures(id) {
            kept += 1;
            let text = read(&picture);
            for (what, value) in [
                ("user", user.as_str()),
                ("password", &password),
                ("made", &made),
                ("041", "ORCHID77"),
                ("087", "TILLER3030"),
            ] {
                if shows(&text, value) {
                    leaks.push(format!("{id} step {step}: {what} in {}", picture.display()));
                }
            }
        }
        for frame in run.of(id, "frame") {
            if let Some(why) = frame["withheld"].as_str() {
                withheld.push(format!("{id}: {why}"));
                assert!(!why.is_empty(), "a withheld picture says why");
            }
        }
    }
    println!("{kept} pictures read; withheld: {withheld:#?}");
    if !leaks.is_empty() {
        let keep = lab.keep();
        panic!("{leaks:#?}\n{}", keep.display());
    }
    // What never holds still is withheld, not shown; so is a document that still holds a secret.
    for id in ["h-move", "h-scroll", "c-087", "c-067"] {
        assert!(
            withheld.iter().any(|w| w.starts_with(id)),
            "{id}: {withheld:?}"
        );
    }
    // Each kept frame has its record: what was covered and why.
    let reasons: Vec<String> = run
        .events
        .iter()
        .filter_map(|e| e["redactions"].as_array())
        .flatten()
        .filter_map(|r| r["reason"].as_str().map(str::to_owned))
        .collect();
    for reason in [
        "password field",
        "text that holds a registered value",
        "element that shows a registered value",
        "masked as key",
    ] {
        assert!(reasons.iter().any(|r| r == reason), "{reason}: {reasons:?}");
    }
    // Masked words stand nowhere in what was written either.
    let events = std::fs::read_to_string(run.folder().join("events.jsonl")).expect("a journal");
    for value in [&made, "ORCHID-77", &user, &password] {
        let masked_only = events.lines().filter(|l| !l.contains("\"control\""));
        assert!(!masked_only.clone().any(|l| l.contains(value)), "{value}");
    }
}
