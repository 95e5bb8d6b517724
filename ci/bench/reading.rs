//! Reading pages of 100 to 50,000 controls: our reader through the product's own driver and page rooms,
//! Playwright's aria snapshot, and the floor, interleaved so that each round meets the same load.
//!
//! The floor is the least anyone could do: tag, text, rectangle and visibility of every element, one
//! sandboxed call, one JSON string.

use std::time::{Duration, Instant};

use rehearsal::driver::{
    Browser, CallOptions, ContextSettings, DriverError, LaunchSettings, Tab, UserContext, Wait,
};
use rehearsal::page::{self, CallFault, Realm, Scrub, Wave};
use rehearsal::secrets::{Kind, Scrubber, Secret};
use serde_json::Value;

use crate::figures::{load, median, ratio};
use crate::pages;
use crate::peer::Peer;

const LIMIT: Duration = Duration::from_secs(120);
/// Goals of the project: at most this share of Playwright's time, and at most this much of the floor's.
const OF_PLAYWRIGHT: f64 = 0.15;
const OF_FLOOR: f64 = 2.5;

const FLOOR: &str = "() => JSON.stringify([...document.body.querySelectorAll('*')].map((element) => {
  const { x, y, width, height } = element.getBoundingClientRect();
  return { tag: element.localName, text: element.textContent, x, y, width, height, visible: element.checkVisibility() };
}))";

/// The product's own scrubber with one account registered: every string of a read passes it.
struct Book(Scrubber);

impl Book {
    fn with_an_account() -> Self {
        let scrubber = Scrubber::new();
        for (field, value, kind) in [
            ("username", "ada-tester", Kind::Username),
            ("password", "correct-horse-77-battery", Kind::Password),
        ] {
            let value = Secret::new(value.to_owned()).expect("a value");
            scrubber.register("bench-user", field, &value, kind);
        }
        Self(scrubber)
    }
}

impl Scrub for Book {
    fn find(&self, text: &str) -> Vec<(std::ops::Range<usize>, String)> {
        let hits = self.0.find(text).into_iter();
        hits.map(|hit| (hit.range, hit.placeholder)).collect()
    }
}

struct Through<'a>(&'a Tab);

impl Realm for Through<'_> {
    async fn call_function(
        &self,
        context: &str,
        sandbox: &str,
        declaration: &str,
        arguments: Vec<Value>,
        serialization: Option<Value>,
    ) -> Result<Value, CallFault> {
        let options = CallOptions {
            serialization,
            deadline: LIMIT,
            ..CallOptions::default()
        };
        let connection = self.0.connection();
        connection
            .call_function(context, Some(sandbox), declaration, arguments, &options)
            .await
            .map_err(|error| CallFault::Refused(error.to_string()))
    }
}

/// `reading [kinds] [sizes]`, lists with commas.
pub async fn run(words: &[String]) {
    let list = |at: usize, usual: &str| -> Vec<String> {
        let text = words.get(at).map_or(usual, String::as_str);
        text.split(',').map(str::to_owned).collect()
    };
    let port = pages::serve(0).expect("a port");
    let settings = LaunchSettings {
        guard: Some(env!("CARGO_BIN_EXE_rehearsal").into()),
        ..LaunchSettings::default()
    };
    let browser = Browser::launch(&settings).await.expect("a browser");
    let (context, tab) = open(&browser, port).await.expect("a tab");
    let mut peer = Peer::start();
    println!(
        "{} {}, {}; medians in ms; `of` are medians of the ratios of each round",
        browser.version().name,
        browser.version().version,
        load()
    );
    println!(
        "{:8} {:>8} {:>6} {:>9} {:>9} {:>11} {:>13} {:>9}  goals",
        "page", "controls", "rounds", "ours", "floor", "playwright", "of playwright", "of floor"
    );
    for kind in list(0, "mixed,buttons") {
        for size in list(1, "100,1000,10000,50000") {
            let size: usize = size.parse().expect("a number of controls");
            measure(&tab, &mut peer, port, &kind, size).await;
        }
    }
    drop(peer);
    context.close().await.expect("closed");
    browser.close().await.expect("closed");
}

async fn open(browser: &Browser, port: u16) -> Result<(UserContext, Tab), DriverError> {
    let context = browser
        .new_context(ContextSettings::new(format!("127.0.0.1:{port}")))
        .await?;
    context
        .add_preload(page::script::INSTALL, Some(page::script::SANDBOX))
        .await?;
    let tab = context.new_tab().await?;
    Ok((context, tab))
}

async fn measure(tab: &Tab, peer: &mut Option<Peer>, port: u16, kind: &str, size: usize) {
    let url = format!("http://127.0.0.1:{port}/{kind}/{size}");
    tab.navigate(&url, Wait::Complete, LIMIT)
        .await
        .expect("the page");
    if let Some(peer) = peer {
        peer.open(&url).expect("Playwright's page");
    }
    let rounds = match size {
        n if n <= 1000 => 15,
        n if n <= 10000 => 7,
        _ => 3,
    };
    let (mut ours, mut floor, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    let book = Book::with_an_account();
    let mut asked = peer.as_mut();
    // The first round warms all three up and is left out.
    for round in 0..=rounds {
        let (a, seen) = read(tab, &book, round + 1).await;
        assert!(seen >= size, "{seen} of {size} controls were read");
        let b = least(tab).await;
        if round > 0 {
            ours.push(a);
            floor.push(b);
        }
        let snapshot = asked.as_mut().map(|peer| peer.snapshot());
        match snapshot {
            Some(Ok((c, length))) => {
                assert!(length > size, "Playwright's snapshot is short");
                if round > 0 {
                    theirs.push(c);
                }
            }
            // It gave up on a page of this size, and would again.
            Some(Err(why)) => {
                println!("{kind:8} {size:>8}  Playwright: {why}");
                asked = None;
            }
            None => {}
        }
    }
    let (of_theirs, of_floor) = (ratio(&ours, &theirs), ratio(&ours, &floor));
    let met = |holds: bool| if holds { "met" } else { "MISSED" };
    println!(
        "{kind:8} {size:>8} {rounds:>6} {:>9.1} {:>9.1} {:>11.1} {of_theirs:>13.3} {of_floor:>9.2}  {} {}",
        median(&ours),
        median(&floor),
        median(&theirs),
        if theirs.is_empty() {
            "-"
        } else {
            met(of_theirs <= OF_PLAYWRIGHT)
        },
        met(of_floor <= OF_FLOOR),
    );
}

/// One whole observation: milliseconds, and how many controls it holds.
async fn read(tab: &Tab, scrub: &Book, generation: u32) -> (f64, usize) {
    let wave = Wave {
        generation,
        scrub,
        allowed: &|_| true,
        sought: &[],
    };
    let began = Instant::now();
    let reading = page::observe(&Through(tab), tab.id(), &wave)
        .await
        .expect("a read");
    let took = began.elapsed();
    let controls = reading.observation.nodes().filter(|(_, n)| n.interactive);
    (ms(took), controls.count())
}

async fn least(tab: &Tab) -> f64 {
    let options = CallOptions {
        deadline: LIMIT,
        ..CallOptions::default()
    };
    let began = Instant::now();
    let answer = tab
        .connection()
        .call_function(tab.id(), Some("floor"), FLOOR, Vec::new(), &options)
        .await
        .expect("the floor");
    let rows: Vec<Value> =
        serde_json::from_str(answer["value"].as_str().unwrap_or_default()).expect("rows");
    let took = began.elapsed();
    assert!(!rows.is_empty(), "the floor read nothing");
    ms(took)
}

fn ms(took: Duration) -> f64 {
    took.as_secs_f64() * 1000.0
}
