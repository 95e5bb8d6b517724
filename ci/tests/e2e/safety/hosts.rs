//! Only listed hosts, by every way a page has of leaving (R70–R77, cases 143–153).

use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::lab::Lab;
use super::netns::WayOut;
use super::stage::Stage;

const LEFT: &str = "refused/host_left";
const PASSED: &str = "passed/completed";

fn start(lab: &Lab, id: &str, path: &str, steps: &str, expect: &str) {
    lab.scenario(
        id,
        &format!("start: http://site.test/{path}\n{steps}expect: [ {expect} ]\n"),
    );
}

#[test]
fn r70_r77_cases_143_to_153_no_way_out_of_the_list() {
    let stage = Stage::open("");
    let page = |path: &str, body: &str| {
        stage.page(
            "site.test",
            path,
            &format!("<title>Inside</title><h1>Inside</h1>{body}<output id=result>idle</output>"),
        );
    };
    let evil = "http://evil.test/landing";
    stage.page(
        "evil.test",
        "/landing",
        "<title>Evil</title><h1>Evil words</h1>",
    );
    stage.page(
        "other.test",
        "/landing",
        "<title>Other</title><h1>Other words</h1>",
    );
    page("/plain", "");
    page(
        "/script",
        &format!("<script>location.href='{evil}'</script>"),
    );
    page(
        "/meta",
        &format!("<meta http-equiv=refresh content=\"0;url={evil}\">"),
    );
    page("/link", &format!("<a href={evil}>Go</a>"));
    page("/blank", &format!("<a href={evil} target=_blank>Go</a>"));
    page(
        "/popup",
        &format!("<button onclick=\"window.open('{evil}')\">Go</button>"),
    );
    page(
        "/form",
        &format!("<form action={evil}><button>Go</button></form>"),
    );
    page("/hop", "<a href=/redirect/evil.test/landing>Go</a>");
    page("/listed-hop", "<a href=/redirect/other.test/landing>Go</a>");
    page(
        "/frame",
        &format!("<iframe title=box src={evil}></iframe><img src=http://evil.test/i.png>"),
    );
    page(
        "/data",
        "<button onclick=\"result.textContent='asked';window.open('data:text/html,<h1>outside</h1>')\">Go</button>",
    );
    page(
        "/blob",
        "<button onclick=\"result.textContent='asked';window.open(window.URL.createObjectURL(new Blob(['<h1>outside</h1>'],{type:'text/html'})))\">Go</button>",
    );
    page(
        "/blob-alone",
        "<a id=a target=_blank>Go</a><script>a.href=URL.createObjectURL(new Blob(['<h1>outside</h1>'],{type:'text/html'}))</script>",
    );
    page(
        "/third-parties",
        &(0..50)
            .map(|i| format!("<img alt='' src=http://cdn{i}.test/x.png>"))
            .collect::<String>(),
    );
    let lab = Lab::on(&stage, &["site.test"], true);
    // Served there as well, so that only the list keeps it out.
    lab.write(
        "suite/fixtures/other.yaml",
        &format!(
            "scope: run\ncommand: [sleep, \"1000000\"]\nready: http://127.0.0.1:{0}/health\nhosts:\n  other.test: \"127.0.0.1:{0}\"\n",
            stage.port()
        ),
    );
    let click = "steps: [ { click: Go } ]\n";
    let pause = "steps: [ { wait: { seconds: 1 } } ]\n";
    let inside = "{ title: Inside }";
    start(&lab, "script", "script", pause, inside);
    start(&lab, "meta", "meta", pause, inside);
    for id in [
        "link",
        "blank",
        "popup",
        "form",
        "hop",
        "blob",
        "blob-alone",
    ] {
        start(&lab, id, id, click, inside);
    }
    start(&lab, "data", "data", click, "{ see: asked }");
    start(
        &lab,
        "start-redirects",
        "redirect/evil.test/landing",
        pause,
        inside,
    );
    start(&lab, "frame", "frame", pause, inside);
    start(&lab, "third-parties", "third-parties", pause, inside);
    lab.write(
        "suite/scenarios/listed-hop.yaml",
        "name: listed-hop\nfixtures: [stage, other]\nstart: http://site.test/listed-hop\nsteps: [ { click: Go } ]\nexpect: [ { see: Other words } ]\n",
    );
    start(
        &lab,
        "moves-itself",
        "pages/145-page-moves-itself.html",
        "steps: [ { wait: { seconds: 2 } } ]\n",
        "{ see: Moving soon }",
    );
    start(
        &lab,
        "worker",
        "pages/149-service-worker-detour.html",
        pause,
        "{ see: no worker }",
    );
    start(
        &lab,
        "hints",
        "pages/151-dns-hints.html",
        pause,
        "{ see: hints added }",
    );
    start(
        &lab,
        "sockets",
        "pages/152-sockets-and-beacons.html",
        "steps: [ { click: Send, expect: { see: es error } } ]\n",
        "{ see: ws error }, { see: fetch error }, { not_see: ws open }, { not_see: fetch ok }",
    );
    let run = lab.run(&["--fresh", "--jobs", "2", "--suggest"]);
    run.check(&[
        ("script", LEFT),
        ("meta", LEFT),
        ("link", LEFT),
        ("blank", LEFT),
        ("popup", LEFT),
        ("form", LEFT),
        ("hop", LEFT),
        ("blob", LEFT),
        ("blob-alone", LEFT),
        // The browser opens no data: document for a page: the window stays empty.
        ("data", PASSED),
        ("start-redirects", LEFT),
        ("moves-itself", LEFT),
        ("frame", PASSED),
        ("third-parties", PASSED),
        ("listed-hop", PASSED),
        ("worker", PASSED),
        ("hints", PASSED),
        ("sockets", PASSED),
    ]);
    let strangers: Vec<String> = stage
        .received()
        .iter()
        .filter(|r| !matches!(r.host.as_str(), "site.test" | "other.test"))
        .map(|r| format!("{}{}", r.host, r.path))
        .collect();
    assert!(strangers.is_empty(), "{strangers:?}");
    // Nothing of the other page in any artefact (case 153).
    let all = std::fs::read_to_string(run.folder().join("events.jsonl")).expect("a journal");
    assert!(!all.contains("Evil words") && !all.contains("<h1>outside"));
    // Each refusal is evidence: in the events, and in JUnit and HTML.
    let refused = run
        .of("frame", "blocked")
        .filter(|e| e["host"] == "evil.test")
        .count();
    assert!(refused >= 2, "frame and image: {refused}");
    for file in ["junit.xml", "report.html"] {
        let text = std::fs::read_to_string(run.folder().join(file)).expect("a report");
        assert!(text.contains("evil.test"), "{file}");
    }
    assert!(
        run.stdout.contains("\nhosts:\n") && run.stdout.contains("\n  - http://evil.test\n"),
        "{}",
        run.stdout
    );
}

/// Case 144: an allow-list of schemes, tested one by one, before any browser.
#[test]
fn r70_r71_r75_cases_144_146_only_listed_http_addresses_can_be_opened() {
    let stage = Stage::open("");
    for scheme in [
        "javascript:alert(1)",
        "file:///etc/hostname",
        "chrome://version",
        "view-source:http://site.test/",
        "about:blank",
        "data:text/html,x",
        "blob:http://site.test/1",
        "ftp://site.test/",
        "ws://site.test/",
        "custom:thing",
        // R71: exact hosts, known from the plan.
        "http://evil.test/",
        "http://www.site.test/",
        "http://site.test:8080/",
        "https://site.test/",
        "http://site.test./",
        "http://site.test@evil.test/",
        "http://user:word@site.test/",
        "http://127.0.0.1:9/",
        "http://0x7f000001/",
        "//evil.test/",
    ] {
        let lab = Lab::on(&stage, &["site.test"], true);
        start(
            &lab,
            "one",
            "plain",
            &format!("steps: [ {{ goto: \"{scheme}\" }} ]\n"),
            "{ title: x }",
        );
        let run = lab.run(&["--fresh"]);
        assert_eq!(run.code, 2, "{scheme}: {}{}", run.stdout, run.stderr);
        assert!(!run.browser_seen);
    }
    assert!(stage.received().is_empty());
}

/// The vector page (security.md 3.4) on Chromium, or the browser that `REHEARSAL_BROWSER` names. Where the
/// machine allows a network of our own, no packet may leave it; everywhere what passes the proxy to this
/// machine meets a decoy.
#[test]
fn r71_r72_r73_r74_no_vector_goes_around_the_proxy() {
    let alone = std::thread::spawn(|| {
        let mut way_out = WayOut::only()?;
        // A control: what leaves is seen.
        for (from, to) in [("0.0.0.0:0", OUTSIDE), ("[::]:0", OUTSIDE_V6)] {
            let probe = UdpSocket::bind(from).expect("a socket");
            probe.send_to(b"x", (to, 9)).expect("sent");
            assert_eq!(way_out.left(), [format!("UDP {to} 9")]);
        }
        let place = format!("{OUTSIDE}:80").parse().expect("a place");
        let blink = std::time::Duration::from_millis(10);
        assert!(TcpStream::connect_timeout(&place, blink).is_err());
        assert!(way_out.left().contains(&format!("TCP {OUTSIDE} 80")));
        no_vector_reaches_a_decoy();
        assert_eq!(way_out.left(), [""; 0], "packets left");
        Ok::<(), String>(())
    });
    match alone.join() {
        Ok(Ok(())) => println!("no packet left a network that had only us outside"),
        Ok(Err(why)) => {
            println!("{why}; decoy listeners alone have to tell");
            no_vector_reaches_a_decoy();
        }
        Err(failed) => std::panic::resume_unwind(failed),
    }
}

/// Places nobody has (RFC 5737, RFC 3849).
const OUTSIDE: &str = "203.0.113.7";
const OUTSIDE_V6: &str = "2001:db8::7";

fn no_vector_reaches_a_decoy() {
    let stage = Stage::open("");
    let tcp = Decoy::tcp();
    let udp = Decoy::udp();
    let (t, u) = (tcp.port, udp.port);
    let mut addresses = Vec::new();
    for host in [
        "127.0.0.1",
        "localhost",
        "127.1",
        "2130706433",
        "0x7f000001",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "x.localhost",
        "0.0.0.0",
        "localhost.",
        "evil.test",
        "site.test:8080#",
        "169.254.169.254",
    ] {
        addresses.push(format!("http://{host}:{t}/"));
    }
    addresses.push(format!("http://{OUTSIDE}/"));
    addresses.push(format!("http://[{OUTSIDE_V6}]/"));
    let list = addresses
        .iter()
        .map(|a| format!("'{a}'"))
        .collect::<Vec<_>>()
        .join(",");
    stage.page(
        "site.test",
        "/vectors",
        &format!(
            "<title>Vectors</title><h1>Vectors</h1><output id=o></output><div id=d></div><script>
const list = [{list}];
let n = 0, c = 0;
for (const a of list) {{
  const ws = a.replace('http', 'ws');
  const tries = [
    () => fetch(a + 'fetch', {{mode: 'no-cors'}}), () => fetch(a + 'keep', {{mode: 'no-cors', keepalive: true}}),
    () => {{ const x = new XMLHttpRequest(); x.open('GET', a + 'xhr'); x.send() }},
    () => navigator.sendBeacon(a + 'beacon', 'x'), () => new WebSocket(ws + 'ws'), () => new EventSource(a + 'es'),
    () => {{ new Image().src = a + 'img' }},
    () => {{ for (const [tag, at] of [['iframe','src'],['embed','src'],['object','data'],['video','src'],['audio','src'],['script','src'],['track','src']]) {{ const e = document.createElement(tag); e[at] = a + tag; d.append(e) }} }},
    () => {{ for (const rel of ['stylesheet','preload','prefetch','preconnect','dns-prefetch','modulepreload','prerender','manifest','icon']) {{ const l = document.createElement('link'); l.rel = rel; l.as = 'fetch'; l.href = a + rel; document.head.append(l) }} }},
    () => {{ const s = document.createElement('style'); s.textContent = '@font-face{{font-family:z' + n + ';src:url(' + a + 'font)}} #o{{font-family:z' + n + '}} @import \"' + a + 'import\"; body{{background:url(' + a + 'bg)}}'; document.head.append(s) }},
    () => new Worker(URL.createObjectURL(new Blob(['fetch(\"' + a + 'worker\",{{mode:\"no-cors\"}})']))),
    () => new SharedWorker(URL.createObjectURL(new Blob(['fetch(\"' + a + 'shared\",{{mode:\"no-cors\"}})']))),
    () => {{ const p = new RTCPeerConnection({{iceServers: [{{urls: ['stun:127.0.0.1:{u}', 'stun:{OUTSIDE}:3478', 'stun:stun.evil.test:3478']}}, {{urls: 'turn:127.0.0.1:{t}?transport=tcp', username: 'a', credential: 'b'}}]}}); p.onicecandidate = (e) => {{ c += e.candidate && e.candidate.candidate ? 1 : 0 }}; p.createDataChannel('x'); p.createOffer().then(o => p.setLocalDescription(o)) }},
    () => new WebTransport('https://127.0.0.1:{u}/'), () => new WebTransport('https://{OUTSIDE}/'),
    () => {{ const f = document.createElement('iframe'); f.srcdoc = '<img src=' + a + 'srcdoc>'; d.append(f) }},
    () => import(a + 'module'),
  ];
  for (const t of tries) {{ n++; try {{ const r = t(); if (r && r.catch) r.catch(() => 0) }} catch {{}} }}
}}
setTimeout(() => o.textContent = n + ' tried, ' + c + ' candidates', 1500);
</script>"
        ),
    );
    let lab = Lab::on(&stage, &["site.test"], true);
    for mode in ["inspect", "tunnel"] {
        start(
            &lab,
            mode,
            "vectors",
            &format!("network: {mode}\nsteps: [ {{ wait: {{ seconds: 3 }} }} ]\n"),
            "{ see: \"tried, 0 candidates\" }",
        );
    }
    // A control: the decoys do see what comes.
    assert!(TcpStream::connect(("127.0.0.1", t)).is_ok());
    let probe = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    probe.send_to(b"x", ("127.0.0.1", u)).expect("sent");
    until(|| tcp.hits() == 1 && udp.hits() == 1);
    let run = lab.run(&["--fresh", "--jobs", "2"]);
    for mode in ["inspect", "tunnel"] {
        assert_eq!(run.ended(mode), PASSED, "{}", run.failure(mode));
        let blocked = run.of(mode, "blocked").count();
        assert!(blocked >= 10, "{mode}: only {blocked} refusals were told");
    }
    assert_eq!(
        (tcp.hits(), udp.hits()),
        (1, 1),
        "a vector went around the proxy"
    );
    assert!(stage.received().iter().all(|r| r.host == "site.test"));
}

/// Settings that don't hold are seen before the first page (security.md 3.3): here WebRTC is let out.
#[test]
fn r73_a_browser_that_goes_around_the_proxy_is_refused() {
    let stage = Stage::open("");
    stage.page("site.test", "/plain", "<title>Inside</title>");
    let mut lab = Lab::on(&stage, &["site.test"], true);
    start(
        &lab,
        "one",
        "plain",
        "steps: [ { wait: { seconds: 1 } } ]\n",
        "{ title: Inside }",
    );
    let loose = match std::env::var("REHEARSAL_BROWSER").as_deref() {
        Ok("firefox") => LOOSE_FIREFOX,
        _ => LOOSE_CHROMIUM,
    };
    lab.write("browser", loose);
    let browser = lab.path("browser");
    std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    lab.set("REHEARSAL_BINARY", &browser.display().to_string());
    let run = lab.run(&["--fresh"]);
    assert_eq!(run.code, 3, "{}{}", run.stdout, run.stderr);
    assert!(
        run.failure("one").contains("goes around the proxy"),
        "{}",
        run.failure("one")
    );
    assert!(stage.received().iter().all(|r| r.host != "site.test"));
}

const LOOSE_CHROMIUM: &str = r#"#!/bin/sh
for word do
  shift
  case $word in --webrtc-ip-handling-policy=*) word=--webrtc-ip-handling-policy=default ;; esac
  set -- "$@" "$word"
done
exec chromium "$@"
"#;

const LOOSE_FIREFOX: &str = r#"#!/bin/sh
for word do
  case $last in *-profile) echo 'user_pref("media.peerconnection.enabled", true);' >>"$word/user.js" ;; esac
  last=$word
done
exec firefox-esr "$@"
"#;

/// Browsers of a remote grid reach the proxies at the address the settings name.
#[test]
fn r71_proxies_listen_where_the_settings_say() {
    let stage = Stage::open("");
    stage.page("site.test", "/plain", "<title>Inside</title>");
    let lab = Lab::on(&stage, &["site.test"], true);
    start(
        &lab,
        "one",
        "plain",
        "steps: [ { wait: { seconds: 1 } } ]\n",
        "{ title: Inside }",
    );
    lab.write("suite/rehearsal.toml", "[network]\nbind = \"127.0.0.2\"\n");
    let run = lab.run(&["--fresh"]);
    assert_eq!(run.ended("one"), PASSED, "{}", run.failure("one"));
    let own = b"EXCLUDE 127.0.0.2";
    let told = |line: &Vec<u8>| line.windows(own.len()).any(|part| part == own);
    assert!(run.command_lines.iter().any(told), "no browser was told");
}

/// Listens where nothing may ever come.
struct Decoy {
    port: u16,
    hits: Arc<AtomicUsize>,
}

impl Decoy {
    fn tcp() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let hits = Arc::new(AtomicUsize::new(0));
        let mut all = vec![listener];
        all.extend(TcpListener::bind(("::1", port)));
        for listener in all {
            let hits = hits.clone();
            std::thread::spawn(move || {
                while listener.accept().is_ok() {
                    hits.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        Self { port, hits }
    }

    fn udp() -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let port = socket.local_addr().expect("an address").port();
        let hits = Arc::new(AtomicUsize::new(0));
        let counted = hits.clone();
        std::thread::spawn(move || {
            let mut buffer = [0u8; 64];
            while socket.recv_from(&mut buffer).is_ok() {
                counted.fetch_add(1, Ordering::SeqCst);
            }
        });
        Self { port, hits }
    }

    fn hits(&self) -> usize {
        self.hits.load(Ordering::SeqCst)
    }
}

fn until(mut holds: impl FnMut() -> bool) {
    let end = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while !holds() && std::time::Instant::now() < end {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(holds());
}
