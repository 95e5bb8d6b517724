//! The driver room on a real browser: processes, contexts, navigation, input, deadlines. Chromium, or
//! what `REHEARSAL_BROWSER` names.

use std::io::{Read, Write};
use std::net::TcpListener as StdListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rehearsal::driver::events::NavPhase;
use rehearsal::driver::input::{Actions, Button, Key, Origin};
use rehearsal::driver::{
    Browser, BrowserKind, CallOptions, Clip, ContextSettings, DriverError, DriverEvent, Events,
    LaunchSettings, NavFailure, PromptKind, Tab, Wait, values,
};
use rehearsal::system::{GuardError, proc};
use serde_json::{Value, json};

const LIMIT: Duration = Duration::from_secs(20);
const SANDBOX: Option<&str> = Some("test");

fn settings() -> LaunchSettings {
    LaunchSettings {
        kind: kind(),
        guard: Some(env!("CARGO_BIN_EXE_rehearsal").into()),
        ..LaunchSettings::default()
    }
}

/// For what only Chromium or its driver does.
fn chromium() -> LaunchSettings {
    LaunchSettings {
        kind: BrowserKind::Chromium,
        ..settings()
    }
}

fn kind() -> BrowserKind {
    match std::env::var("REHEARSAL_BROWSER").as_deref() {
        Ok("firefox") => BrowserKind::Firefox,
        _ => BrowserKind::Chromium,
    }
}

/// A proxy that answers every plain request itself, by path, and keeps what it was asked.
struct Site {
    address: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Site {
    fn start(name: &'static str) -> Self {
        let listener = StdListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = asked.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let log = log.clone();
                std::thread::spawn(move || answer(stream, name, &log));
            }
        });
        Self { address, asked }
    }

    fn was_asked(&self, part: &str) -> bool {
        self.asked.lock().unwrap().iter().any(|a| a.contains(part))
    }
}

fn answer(mut stream: std::net::TcpStream, name: &str, log: &Mutex<Vec<String>>) {
    let mut head = Vec::new();
    let mut buffer = [0_u8; 4096];
    while !head.windows(4).any(|w| w == b"\r\n\r\n") {
        match stream.read(&mut buffer) {
            Ok(n) if n > 0 => head.extend_from_slice(&buffer[..n]),
            _ => return,
        }
    }
    let head = String::from_utf8_lossy(&head);
    let line = head.lines().next().unwrap_or_default().to_owned();
    log.lock().unwrap().push(line.clone());
    let mut words = line.split(' ');
    let (method, url) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    if method == "CONNECT" {
        let _ = stream.write_all(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n");
        return;
    }
    let path = url.splitn(4, '/').nth(3).unwrap_or_default();
    if path == "hang" {
        std::thread::sleep(Duration::from_secs(60));
        return;
    }
    if path == "loop" {
        let _ = stream.write_all(
            format!("HTTP/1.1 302 Found\r\nLocation: {url}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").as_bytes(),
        );
        return;
    }
    if path == "file" {
        let _ = stream.write_all(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Disposition: attachment; filename=a.bin\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc",
        );
        return;
    }
    let body = match path {
        "prompt" => "<button onclick=\"alert('hello')\" style='width:200px;height:100px'>ask</button>".into(),
        "popup" => "<a href='/child' target='_blank' style='display:block;width:300px;height:100px'>open</a>".into(),
        "forever" => "<p>a</p><script>setTimeout(() => { while (1) {} }, 0)</script>".into(),
        "form" => "<body style='margin:0'><input id=i style='width:300px;height:40px'><textarea id=t></textarea><input type=file id=f>".into(),
        "frames" => "<iframe src='/child'></iframe>".into(),
        _ => format!("<title>{name}</title><p>{name}</p>"),
    };
    let _ = stream.write_all(
        format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
        .as_bytes(),
    );
}

async fn ask(tab: &Tab, expression: &str) -> Value {
    let answer = tab
        .connection()
        .evaluate(tab.id(), SANDBOX, expression, &CallOptions::default())
        .await
        .unwrap();
    values::plain(&answer)
}

/// Waits for the event that `wanted` picks, with a limit.
async fn wait_for<T>(events: &mut Events, wanted: impl Fn(DriverEvent) -> Option<T>) -> T {
    tokio::time::timeout(LIMIT, async {
        loop {
            let event = events.next().await.expect("the browser is alive");
            if let Some(found) = wanted(event) {
                return found;
            }
        }
    })
    .await
    .expect("the event came in time")
}

/// Nothing but zombies left in the group within five seconds.
async fn gone(group: i32) -> bool {
    proc::wait_until(Duration::from_secs(5), || !proc::group_alive(group)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_does_what_a_broker_needs() {
    let (one, two) = (Site::start("one"), Site::start("two"));
    let started = Instant::now();
    let browser = Browser::launch(&settings()).await.unwrap();
    println!("measured: launch {:?}", started.elapsed());
    assert_eq!(
        browser.version().name.contains("chrom"),
        kind() == BrowserKind::Chromium
    );
    let group = browser.process_group().await.unwrap();
    let arguments = command_lines(group);
    assert!(
        kind() == BrowserKind::Firefox || !arguments.contains("--remote-debugging-port"),
        "no DevTools port"
    );

    let started = Instant::now();
    let mut first = browser
        .new_context(ContextSettings::new(&one.address))
        .await
        .unwrap();
    println!("measured: new context {:?}", started.elapsed());
    let mut second = browser
        .new_context(ContextSettings {
            locale: Some("fr-FR".into()),
            time_zone: Some("Asia/Tokyo".into()),
            ..ContextSettings::new(&two.address)
        })
        .await
        .unwrap();
    let mut events = first.events().unwrap();
    assert!(first.events().is_none(), "taken once");
    let mut others = second.events().unwrap();
    let started = Instant::now();
    let tab = first.new_tab().await.unwrap();
    println!("measured: new tab {:?}", started.elapsed());
    let other = second.new_tab().await.unwrap();

    // Two contexts, two proxies; loopback is no way around.
    for (tab, name) in [(&tab, "one"), (&other, "two")] {
        for url in [
            "http://shop.test/",
            "http://127.0.0.1:8099/",
            "http://localhost:8080/",
        ] {
            let outcome = tab.navigate(url, Wait::Interactive, LIMIT).await.unwrap();
            assert_eq!(outcome.failure, None, "{url}");
            assert_eq!(ask(tab, "document.title").await, json!(name), "{url}");
        }
    }
    assert!(one.was_asked("http://shop.test/") && two.was_asked("http://shop.test/"));
    assert_eq!(
        ask(
            &other,
            "[navigator.language, Intl.DateTimeFormat().resolvedOptions().timeZone]"
        )
        .await,
        json!(["fr-FR", "Asia/Tokyo"])
    );
    wait_for(&mut events, |event| match event {
        DriverEvent::Navigation {
            context,
            phase: NavPhase::Interactive,
            url,
            ..
        } if url == "http://shop.test/" => {
            assert_eq!(context, tab.id());
            Some(())
        }
        _ => None,
    })
    .await;
    assert!(
        others
            .drain()
            .iter()
            .all(|event| event.context() == other.id())
    );

    measure_calls(&tab).await;
    sandbox_is_out_of_reach(&tab).await;
    pictures(&tab).await;
    typing(&tab).await;
    dialogs(&tab, &mut events).await;
    popups(&first, &tab, &mut events).await;
    frames(&tab).await;
    failures(&tab).await;

    let folder = session_folder(group);
    first.close().await.unwrap();
    assert_eq!(second.tabs().await.unwrap().len(), 1);
    browser.close().await.unwrap();
    browser.close().await.unwrap();
    assert!(!proc::group_alive(group));
    assert!(!folder.exists(), "the profile is removed");
    assert!(matches!(other.tree().await, Err(DriverError::Lost)));
    assert_eq!(events.next().await.map(drop).or(Some(())), Some(()));
}

async fn measure_calls(tab: &Tab) {
    let mut times = Vec::new();
    for _ in 0..50 {
        let started = Instant::now();
        let answer = tab
            .connection()
            .call_function(
                tab.id(),
                SANDBOX,
                "(a, b) => a + b.c",
                vec![values::number(2.0), values::local(&json!({"c": 3}))],
                &CallOptions::default(),
            )
            .await
            .unwrap();
        times.push(started.elapsed());
        assert_eq!(values::plain(&answer), json!(5));
    }
    times.sort();
    println!("measured: call_function median {:?}", times[25]);
}

async fn sandbox_is_out_of_reach(tab: &Tab) {
    let page = tab.connection();
    page.evaluate(
        tab.id(),
        None,
        "document.querySelector = () => 'lie'; JSON.stringify = () => 'lie'; 1",
        &CallOptions::default(),
    )
    .await
    .unwrap();
    assert_eq!(
        ask(tab, "document.querySelector('p').textContent").await,
        json!("one")
    );
    let thrown = page
        .evaluate(tab.id(), SANDBOX, "nothing.here", &CallOptions::default())
        .await;
    assert!(
        matches!(thrown, Err(DriverError::PageInterferes { .. })),
        "{thrown:?}"
    );
}

async fn pictures(tab: &Tab) {
    let started = Instant::now();
    let whole = tab.screenshot(None).await.unwrap();
    println!("measured: screenshot {:?}", started.elapsed());
    let whole = image::load_from_memory(&whole).unwrap();
    assert_eq!((whole.width(), whole.height()), (1280, 800));
    let clip = Clip {
        x: 10.0,
        y: 10.0,
        width: 100.0,
        height: 50.0,
    };
    let part = image::load_from_memory(&tab.screenshot(Some(clip)).await.unwrap()).unwrap();
    assert_eq!((part.width(), part.height()), (100, 50));
}

async fn typing(tab: &Tab) {
    go(tab, "http://one.test/form").await;
    tab.perform(
        Actions::click(&Origin::Viewport, 50.0, 20.0, Button::Left, 1),
        LIMIT,
    )
    .await
    .unwrap();
    let text = "Zoë e\u{301} 漢字 👩\u{200D}👧 👍🏽 👨\u{200D}👩\u{200D}👧 🇩🇪 \"q\" <b>";
    let started = Instant::now();
    tab.perform(Actions::text(text).unwrap(), LIMIT)
        .await
        .unwrap();
    println!(
        "measured: typing {} characters {:?}",
        text.chars().count(),
        started.elapsed()
    );
    assert_eq!(
        ask(tab, "document.getElementById('i').value").await,
        json!(text)
    );
    tab.perform(Actions::chord(&[Key::Control, Key::Char('a')]), LIMIT)
        .await
        .unwrap();
    tab.perform(Actions::chord(&[Key::Delete]), LIMIT)
        .await
        .unwrap();
    assert_eq!(
        ask(tab, "document.getElementById('i').value").await,
        json!("")
    );

    let file = tempfile::NamedTempFile::new().unwrap();
    let element = tab
        .connection()
        .evaluate(
            tab.id(),
            SANDBOX,
            "document.getElementById('f')",
            &CallOptions::default(),
        )
        .await
        .unwrap();
    let element = values::plain(&element)["sharedId"]
        .as_str()
        .unwrap()
        .to_owned();
    tab.set_files(tab.id(), &element, &[file.path().to_owned()])
        .await
        .unwrap();
    assert_eq!(
        ask(tab, "document.getElementById('f').files.length").await,
        json!(1)
    );
}

async fn dialogs(tab: &Tab, events: &mut Events) {
    go(tab, "http://one.test/prompt").await;
    let click = Actions::click(&Origin::Viewport, 50.0, 50.0, Button::Left, 1);
    let pressed = tokio::spawn({
        let tab = tab.clone();
        async move { tab.perform(click, LIMIT).await }
    });
    let message = wait_for(events, |event| match event {
        DriverEvent::PromptOpened {
            kind: PromptKind::Alert,
            message,
            ..
        } => Some(message),
        _ => None,
    })
    .await;
    assert_eq!(message, "hello");
    tab.handle_prompt(true, None).await.unwrap();
    wait_for(events, |event| match event {
        DriverEvent::PromptClosed { accepted, .. } => Some(accepted),
        _ => None,
    })
    .await;
    pressed.await.unwrap().unwrap();
    assert!(matches!(
        tab.handle_prompt(true, None).await,
        Err(DriverError::NoSuchAlert)
    ));
}

async fn popups(context: &rehearsal::driver::UserContext, tab: &Tab, events: &mut Events) {
    go(tab, "http://one.test/popup").await;
    events.drain();
    tab.perform(
        Actions::click(&Origin::Viewport, 50.0, 50.0, Button::Left, 1),
        LIMIT,
    )
    .await
    .unwrap();
    let opened = wait_for(events, |event| match event {
        DriverEvent::TabOpened { context, .. } => Some(context),
        _ => None,
    })
    .await;
    assert_eq!(context.tabs().await.unwrap().len(), 2);
    let popup = context.tab(&opened);
    popup.close().await.unwrap();
    popup.close().await.unwrap();
    wait_for(events, |event| {
        (event
            == DriverEvent::TabClosed {
                context: opened.clone(),
            })
        .then_some(())
    })
    .await;
    tab.activate().await.unwrap();
    let closed = popup
        .navigate("http://one.test/", Wait::Interactive, LIMIT)
        .await;
    assert!(
        matches!(closed, Err(DriverError::NoSuchFrame { .. })),
        "{closed:?}"
    );
}

async fn frames(tab: &Tab) {
    let outcome = tab
        .navigate("http://one.test/frames", Wait::Complete, LIMIT)
        .await
        .unwrap();
    assert!(outcome.succeeded());
    let tree = tab.tree().await.unwrap();
    assert_eq!(tree.children.len(), 1);
    assert_eq!(tree.children[0].url, "http://one.test/child");
}

async fn failures(tab: &Tab) {
    for (url, expected) in [
        ("http://one.test/loop", NavFailure::TooManyRedirects),
        ("http://one.test:25/", NavFailure::UnsafePort),
        ("https://one.test/", NavFailure::Blocked),
    ] {
        let outcome = tab.navigate(url, Wait::Interactive, LIMIT).await.unwrap();
        assert_eq!(outcome.failure, Some(expected), "{url}");
    }
    go(tab, "http://one.test/before").await;
    let hung = tab
        .navigate(
            "http://one.test/hang",
            Wait::Interactive,
            Duration::from_secs(1),
        )
        .await;
    assert!(matches!(hung, Err(DriverError::Timeout { .. })), "{hung:?}");
    tab.stop_loading().await.unwrap();
    let (url, failure) = tab.document().await.unwrap();
    assert_eq!((url.as_str(), failure), ("http://one.test/before", None));
    go(tab, "http://one.test/").await;
    go(tab, "http://one.test/second").await;
    assert!(tab.traverse_history(-1).await.unwrap());
    assert!(!tab.traverse_history(-100).await.unwrap());
}

async fn go(tab: &Tab, url: &str) {
    let outcome = tab.navigate(url, Wait::Interactive, LIMIT).await.unwrap();
    assert_eq!(outcome.failure, None, "{url}");
}

/// F6: a page that never gives the processor back costs its own scenario, nothing more.
#[tokio::test(flavor = "multi_thread")]
async fn f06_a_page_that_never_answers_hits_our_deadline() {
    let site = Site::start("one");
    let browser = Browser::launch(&settings()).await.unwrap();
    let context = browser
        .new_context(ContextSettings::new(&site.address))
        .await
        .unwrap();
    let tab = context.new_tab().await.unwrap();
    let _ = tab
        .navigate("http://one.test/forever", Wait::None, LIMIT)
        .await
        .unwrap();
    let options = CallOptions {
        deadline: Duration::from_secs(2),
        ..CallOptions::default()
    };
    // The first answers may still come from the document before.
    let stuck = tokio::time::timeout(LIMIT, async {
        loop {
            let answer = tab
                .connection()
                .evaluate(tab.id(), SANDBOX, "1", &options)
                .await;
            if let Err(error @ DriverError::Timeout { .. }) = answer {
                return error;
            }
        }
    })
    .await
    .expect("the deadline fires");
    assert!(stuck.outcome_unknown());
    // Another context of the same browser still works.
    let neighbour = browser
        .new_context(ContextSettings::new(&site.address))
        .await
        .unwrap();
    let other = neighbour.new_tab().await.unwrap();
    go(&other, "http://one.test/").await;
    let group = browser.process_group().await.unwrap();
    browser.close().await.unwrap();
    assert!(!proc::group_alive(group));
}

/// F1, F2: the death of either half is noticed and takes the other half along.
#[tokio::test(flavor = "multi_thread")]
async fn f01_f02_a_killed_driver_or_browser_is_lost_and_nothing_stays() {
    let victims = match kind() {
        BrowserKind::Chromium => ["chromedriver", "chromium"],
        BrowserKind::Firefox => ["geckodriver", "firefox-esr"],
    };
    for victim in victims {
        let browser = Browser::launch(&settings()).await.unwrap();
        let group = browser.process_group().await.unwrap();
        let mut lost = browser.lost();
        let main = proc::group_members(group)
            .into_iter()
            .filter(|p| p.pid != group && program(p.pid).ends_with(victim))
            .min_by_key(|p| p.start)
            .expect(victim);
        assert!(proc::signal(main.pid, libc::SIGKILL));
        tokio::time::timeout(LIMIT, lost.wait_for(|lost| *lost))
            .await
            .unwrap_or_else(|_| panic!("the loss of {victim} is noticed"))
            .unwrap();
        let failed = browser
            .new_context(ContextSettings::new("127.0.0.1:9"))
            .await;
        assert!(matches!(failed, Err(DriverError::Lost)), "{failed:?}");
        browser.close().await.unwrap();
        assert!(!proc::group_alive(group), "after the death of {victim}");
    }
}

/// A killed guard does not set its group free, and the end says that proof is missing.
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_guard_takes_its_group_along() {
    let browser = Browser::launch(&settings()).await.unwrap();
    let group = browser.process_group().await.unwrap();
    let folder = session_folder(group);
    let mut lost = browser.lost();
    assert!(proc::signal(group, libc::SIGKILL));
    tokio::time::timeout(LIMIT, lost.wait_for(|lost| *lost))
        .await
        .expect("noticed")
        .unwrap();
    assert!(gone(group).await, "without anybody closing it");
    let closed = browser.close().await;
    assert!(
        matches!(closed, Err(DriverError::Guard(GuardError::Unproven))),
        "{closed:?}"
    );
    assert!(!folder.exists());
}

/// Case 115: a browser that is only dropped (panic, early return) goes all the same.
#[tokio::test(flavor = "multi_thread")]
async fn case_115_a_dropped_browser_leaves_nothing() {
    let browser = Browser::launch(&settings()).await.unwrap();
    let group = browser.process_group().await.unwrap();
    let folder = session_folder(group);
    drop(browser);
    assert!(gone(group).await);
    assert!(!folder.exists());
}

/// Not a test of its own: the runner that [`f33_case_110_kill_9_of_the_runner`] kills.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "started by another test"]
async fn holder() {
    if std::env::var_os("HOLD_A_BROWSER").is_none() {
        return;
    }
    let browser = Browser::launch(&settings()).await.unwrap();
    println!("holding {}", browser.process_group().await.unwrap());
    std::future::pending::<()>().await;
}

/// F33, case 110: kill -9 of a runner leaves neither process nor profile five seconds later.
#[tokio::test(flavor = "multi_thread")]
async fn f33_case_110_kill_9_of_the_runner() {
    let mut runner = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "driver::holder", "--ignored", "--nocapture"])
        .env("HOLD_A_BROWSER", "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = std::io::BufReader::new(runner.stdout.take().unwrap());
    let group: i32 = loop {
        let mut line = String::new();
        assert!(std::io::BufRead::read_line(&mut out, &mut line).unwrap() > 0);
        if let Some((_, group)) = line.split_once("holding ") {
            break group.trim().parse().unwrap();
        }
    };
    let folder = session_folder(group);
    let all: Vec<_> = proc::group_members(group)
        .iter()
        .map(proc::Stat::id)
        .collect();
    assert!(all.len() > 4, "driver, browser and its helpers run");
    runner.kill().unwrap();
    runner.wait().unwrap();
    assert!(gone(group).await);
    assert!(all.iter().all(|id| !proc::is_running(*id)));
    assert!(!folder.exists());
}

/// F3: a frozen driver and browser hit the deadline and are killed all the same.
#[tokio::test(flavor = "multi_thread")]
async fn f03_frozen_processes_are_killed() {
    let browser = Browser::launch(&settings()).await.unwrap();
    let group = browser.process_group().await.unwrap();
    for process in proc::group_members(group).iter().filter(|p| p.pid != group) {
        proc::signal(process.pid, libc::SIGSTOP);
    }
    let answer = browser
        .connection()
        .send("session.status", json!({}), Duration::from_secs(1))
        .await;
    assert!(
        matches!(answer, Err(DriverError::Timeout { .. })),
        "{answer:?}"
    );
    browser.close().await.unwrap();
    assert!(!proc::group_alive(group));
}

/// Case 112: a crashed page is told as such, and a new navigation brings the tab back.
#[tokio::test(flavor = "multi_thread")]
async fn case_112_a_crashed_page_is_an_event_of_its_own() {
    let site = Site::start("one");
    let browser = Browser::launch(&chromium()).await.unwrap();
    let mut context = browser
        .new_context(ContextSettings::new(&site.address))
        .await
        .unwrap();
    let mut events = context.events().unwrap();
    let tab = context.new_tab().await.unwrap();
    go(&tab, "http://one.test/").await;
    let _ = tab.navigate("chrome://crash", Wait::None, LIMIT).await;
    let crashed = wait_for(&mut events, |event| match event {
        DriverEvent::TabCrashed { context } => Some(context),
        _ => None,
    })
    .await;
    assert_eq!(crashed, tab.id());
    go(&tab, "http://one.test/").await;
    browser.close().await.unwrap();
}

/// Case 106: the commonest reason for no session is said in one line with both versions.
#[tokio::test(flavor = "multi_thread")]
async fn case_106_another_version_of_the_driver_is_one_clear_line() {
    let folder = tempfile::tempdir().unwrap();
    let listener = StdListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0_u8; 8192]);
            let body = r#"{"value":{"error":"session not created","message":"session not created: This version of ChromeDriver only supports Chrome version 114","stacktrace":"0x5 0x6"}}"#;
            let _ = stream.write_all(
                format!("HTTP/1.1 500 Internal Server Error\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len()).as_bytes(),
            );
        }
    });
    let old = script(
        folder.path(),
        "chromedriver",
        &format!(
            "if [ \"$1\" = --version ]; then echo 'ChromeDriver 114.0.5735.90 (x)'; exit; fi\n\
             echo 'ChromeDriver was started successfully on port {port}.'; exec sleep 60"
        ),
    );
    let said = launch_with(old).await;
    assert!(!said.contains('\n'), "{said}");
    assert!(said.contains("is version 114.0.5735.90 but"), "{said}");
}

/// A user context that is only dropped goes with its tabs; downloads are refused.
#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_context_goes_and_its_neighbour_stays() {
    let site = Site::start("one");
    let browser = Browser::launch(&settings()).await.unwrap();
    let mut context = browser
        .new_context(ContextSettings::new(&site.address))
        .await
        .unwrap();
    let mut events = context.events().unwrap();
    let tab = context.new_tab().await.unwrap();
    let neighbour = browser
        .new_context(ContextSettings::new(&site.address))
        .await
        .unwrap();
    let other = neighbour.new_tab().await.unwrap();
    go(&tab, "http://one.test/").await;
    let outcome = tab
        .navigate("http://one.test/file", Wait::Interactive, LIMIT)
        .await
        .unwrap();
    assert_eq!(
        outcome.failure,
        Some(NavFailure::Aborted),
        "a download is no page"
    );
    let refused = wait_for(&mut events, |event| match event {
        DriverEvent::DownloadEnded { completed, .. } => Some(!completed),
        _ => None,
    })
    .await;
    assert!(refused);
    drop(context);
    let until = Instant::now() + LIMIT;
    while !matches!(tab.tree().await, Err(DriverError::NoSuchFrame { .. })) {
        assert!(Instant::now() < until, "the dropped context's tab is gone");
    }
    go(&other, "http://one.test/").await;
    browser.close().await.unwrap();
}

/// Case 111: eight starts at once, each with a driver and a port of its own.
#[tokio::test(flavor = "multi_thread")]
async fn case_111_eight_parallel_launches_do_not_meet() {
    let launches = (0..8).map(|_| async {
        let settings = LaunchSettings {
            start_limit: Duration::from_secs(90),
            ..settings()
        };
        let browser = Browser::launch(&settings)
            .await
            .expect("each launch passes");
        let group = browser.process_group().await.unwrap();
        browser.close().await.unwrap();
        group
    });
    let mut groups = futures_util::future::join_all(launches).await;
    groups.sort_unstable();
    groups.dedup();
    assert_eq!(groups.len(), 8);
    assert!(groups.iter().all(|group| !proc::group_alive(*group)));
}

/// The driver picks a port that is free for one address family only, and ends; case 111's kind.
#[tokio::test(flavor = "multi_thread")]
async fn a_driver_whose_port_was_taken_is_started_again() {
    let folder = tempfile::tempdir().unwrap();
    let first = folder.path().join("first");
    let unlucky = script(
        folder.path(),
        "unlucky",
        &format!(
            "if mkdir '{}'; then echo 'bind() failed: Address already in use (98)' >&2; exit 1; fi\n\
             exec chromedriver \"$@\"",
            first.display()
        ),
    );
    let settings = LaunchSettings {
        driver: Some(unlucky),
        ..chromium()
    };
    let browser = Browser::launch(&settings)
        .await
        .expect("the second start passes");
    assert!(first.is_dir());
    browser.close().await.unwrap();
}

fn script(folder: &Path, name: &str, body: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

async fn launch_with(driver: PathBuf) -> String {
    let settings = LaunchSettings {
        driver: Some(driver),
        start_limit: Duration::from_secs(3),
        ..chromium()
    };
    let started = Instant::now();
    let error = Browser::launch(&settings).await.expect_err("no browser");
    assert!(error.is_environment(), "{error:?}");
    assert!(started.elapsed() < Duration::from_secs(30), "bounded");
    error.to_string()
}

/// R92, F4, case 113: a driver that is missing, dies, babbles or never answers is one clear line.
#[tokio::test(flavor = "multi_thread")]
async fn r92_case_113_a_driver_that_fails_is_a_clean_error() {
    let folder = tempfile::tempdir().unwrap();
    let said = launch_with(folder.path().join("absent")).await;
    assert!(
        said.contains("absent") && said.contains("apt-get install"),
        "{said}"
    );

    let dies = script(folder.path(), "dies", "echo 'no display' >&2; exit 3");
    let said = launch_with(dies).await;
    assert!(
        said.contains("exit code 3") && said.contains("no display"),
        "{said}"
    );

    let babbles = script(
        folder.path(),
        "babbles",
        "yes garbage | head -c 3000000; exec sleep 60",
    );
    let said = launch_with(babbles).await;
    assert!(said.contains("named no port in time"), "{said}");

    // Names a port where nobody ever answers.
    let silent = StdListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let mute = script(
        folder.path(),
        "mute",
        &format!("echo 'ChromeDriver was started successfully on port {port}.'; exec sleep 60"),
    );
    let said = launch_with(mute).await;
    assert!(
        said.contains(&format!("http://127.0.0.1:{port}/")),
        "{said}"
    );
    assert!(
        said.contains("Chromium") && said.contains("no answer within the limit"),
        "{said}"
    );

    // The same server, named by the user.
    let settings = LaunchSettings {
        start_limit: Duration::from_secs(1),
        ..chromium()
    };
    let error = Browser::attach(&format!("http://127.0.0.1:{port}"), &settings)
        .await
        .expect_err("no session");
    assert!(
        error.to_string().contains("no answer within the limit"),
        "{error}"
    );
}

/// Case 114: a session that comes after we gave up is deleted at once. And Selenium Grid's
/// condition: the body's header says UTF-8, once.
#[tokio::test(flavor = "multi_thread")]
async fn case_114_a_late_session_does_not_keep_its_slot() {
    let listener = StdListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (tell, heard) = std::sync::mpsc::channel();
    let (go_on, wait) = std::sync::mpsc::channel::<()>();
    std::thread::spawn(move || {
        let mut first = true;
        for mut stream in listener.incoming().flatten() {
            let mut bytes = [0_u8; 65536];
            let n = stream.read(&mut bytes).unwrap_or(0);
            let request = String::from_utf8_lossy(&bytes[..n]).into_owned();
            if std::mem::take(&mut first) {
                wait.recv().expect("the runner gave up");
            }
            let body = r#"{"value":{"sessionId":"late","capabilities":{}}}"#;
            let _ = stream.write_all(
                format!(
                    "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                    body.len()
                )
                .as_bytes(),
            );
            let _ = tell.send(request);
        }
    });
    let settings = LaunchSettings {
        start_limit: Duration::from_millis(500),
        ..settings()
    };
    let gave_up = Browser::attach(&format!("http://{address}/wd/hub"), &settings).await;
    assert!(
        matches!(gave_up, Err(DriverError::NoSession { .. })),
        "{gave_up:?}"
    );
    go_on.send(()).unwrap();
    let (request, deleted) = tokio::task::spawn_blocking(move || {
        let request = heard.recv_timeout(LIMIT).unwrap();
        let deleted = std::iter::from_fn(|| heard.recv_timeout(LIMIT).ok())
            .any(|request| request.starts_with("DELETE /wd/hub/session/late "));
        (request, deleted)
    })
    .await
    .unwrap();
    assert!(deleted);
    let request = request.to_lowercase();
    assert!(request.starts_with("post /wd/hub/session "), "{request}");
    assert_eq!(request.matches("content-type:").count(), 1, "{request}");
    assert!(
        request.contains("content-type: application/json;charset=utf-8"),
        "{request}"
    );
}

/// `--webdriver URL`: a driver that is not ours keeps running, its session does not.
#[tokio::test(flavor = "multi_thread")]
async fn an_attached_driver_loses_its_session_and_lives_on() {
    let mut driver = Command::new("chromedriver")
        .arg("--port=0")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut out = std::io::BufReader::new(driver.stdout.take().unwrap());
    let port = loop {
        let mut line = String::new();
        assert!(std::io::BufRead::read_line(&mut out, &mut line).unwrap() > 0);
        if let Some((_, rest)) = line.split_once("successfully on port ") {
            break rest.trim().trim_end_matches('.').to_owned();
        }
    };
    let settings = LaunchSettings {
        sandbox: rehearsal::driver::Sandbox::Off,
        ..LaunchSettings::default()
    };
    let browser = Browser::attach(&format!("http://127.0.0.1:{port}"), &settings)
        .await
        .unwrap();
    assert_eq!(browser.process_group().await, None);
    let site = Site::start("one");
    let context = browser
        .new_context(ContextSettings::new(&site.address))
        .await
        .unwrap();
    let tab = context.new_tab().await.unwrap();
    go(&tab, "http://one.test/").await;
    // Case 108: the session ends whatever was closed before.
    tab.close().await.unwrap();
    browser.close().await.unwrap();
    let pid = driver.id() as i32;
    let children_gone =
        proc::wait_until(Duration::from_secs(5), || proc::descendants(pid).is_empty()).await;
    assert!(children_gone, "its browser is gone");
    assert!(driver.try_wait().unwrap().is_none(), "the driver lives on");
    driver.kill().unwrap();
    driver.wait().unwrap();
}

/// Case 110: the end of the pipe ends even what ignores SIGTERM and left the group.
#[tokio::test(flavor = "multi_thread")]
async fn case_110_end_of_pipe_ends_the_group_and_removes_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let private = folder.path().join("session");
    std::fs::create_dir(&private).unwrap();
    let mut guard = Command::new(env!("CARGO_BIN_EXE_rehearsal"))
        .arg("__guard")
        .arg(&private)
        .args(["--", "/bin/sh", "-c"])
        .arg(r#"trap "" TERM; setsid sh -c 'trap "" TERM; sleep 601; :' & sleep 602; :"#)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let pid = guard.id() as i32;
    // Two shells and two sleeps.
    let up = proc::wait_until(LIMIT, || {
        let all = proc::descendants(pid);
        all.len() == 4 && all.iter().filter(|p| program(p.pid) == "sleep").count() == 2
    });
    assert!(up.await, "the group is up");
    let all: Vec<_> = proc::descendants(pid).iter().map(proc::Stat::id).collect();
    assert!(
        proc::descendants(pid).iter().any(|p| p.group != pid),
        "one left the group"
    );
    drop(guard.stdin.take());
    let ended = proc::wait_until(LIMIT, || {
        !private.exists() && !all.iter().any(|id| proc::is_running(*id))
    });
    assert!(ended.await, "still there: {all:?}");
    guard.wait().unwrap();
}

/// The guard does not answer to a terminal's Ctrl-C of the runner's group: it has its own.
#[test]
fn the_guard_leads_a_group_of_its_own_and_passes_on_the_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let private = folder.path().join("session");
    std::fs::create_dir(&private).unwrap();
    let mut guard = Command::new(env!("CARGO_BIN_EXE_rehearsal"))
        .arg("__guard")
        .arg(&private)
        .args(["--", "/bin/sh", "-c", "ps -o pgid= -p $$; exit 7"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let pipe = guard.stdin.take();
    let pid = guard.id();
    let output = guard.wait_with_output().unwrap();
    drop(pipe);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(said.lines().next(), Some("rehearsal guard 1"));
    assert_eq!(
        said.lines().nth(1).map(str::trim),
        Some(pid.to_string().as_str())
    );
    assert_eq!(output.status.code(), Some(7));
    assert!(!private.exists());
}

fn command_line(pid: i32) -> String {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ")
}

/// The program's own path, as it was started.
fn program(pid: i32) -> String {
    let line = command_line(pid);
    line.split(' ').next().unwrap_or_default().to_owned()
}

fn command_lines(group: i32) -> String {
    proc::group_members(group)
        .iter()
        .map(|p| command_line(p.pid))
        .collect::<Vec<_>>()
        .join("\n")
}

/// The session folder, from the guard's own command line.
fn session_folder(group: i32) -> PathBuf {
    let line = command_line(group);
    let folder = line.split(' ').nth(2).expect("the guard names its folder");
    let folder = PathBuf::from(folder);
    assert!(folder.is_dir(), "{}", folder.display());
    folder
}
