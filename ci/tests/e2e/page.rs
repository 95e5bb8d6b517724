//! The reader and its acts on the failure pages, in a real browser. One session for all: each part loads
//! its own page.

use rehearsal::page::acts::{self, Obstacle, Point, Purpose};
use rehearsal::page::{NodeId, Nothing, Observation, UnreadKind, Wave, observe, pictures};

use crate::browser::Browser;

struct Page<'a> {
    browser: &'a Browser,
    generation: u32,
    seen: Observation,
}

impl<'a> Page<'a> {
    async fn open(browser: &'a Browser, path: &str) -> Self {
        browser.go(path).await;
        let mut page = Self {
            browser,
            generation: 0,
            seen: Observation::default(),
        };
        page.look().await;
        page
    }

    async fn look(&mut self) {
        self.generation += 1;
        let wave = Wave {
            generation: self.generation,
            scrub: &Nothing,
            allowed: &|_| true,
            sought: &[],
        };
        self.seen = observe(self.browser, &self.browser.top, &wave)
            .await
            .expect("a read")
            .observation;
    }

    fn all(&self, role: &str, name: &str) -> Vec<NodeId> {
        self.seen
            .nodes()
            .filter(|(_, node)| node.role == role && node.name == name && node.reachable)
            .map(|(id, _)| id)
            .collect()
    }

    fn one(&self, role: &str, name: &str) -> NodeId {
        let found = self.all(role, name);
        assert_eq!(found.len(), 1, "{role} {name:?} in {:#?}", self.seen);
        found[0]
    }

    async fn prepare(&self, role: &str, name: &str) -> Result<Point, Obstacle> {
        let id = self.one(role, name);
        let context = &self.seen.documents[id.document as usize].context;
        acts::prepare(self.browser, context, id, Purpose::Click)
            .await
            .expect("an answer")
    }

    /// Clicks and gives back what the page's result field says.
    async fn click(&self, role: &str, name: &str) -> String {
        let point = self.prepare(role, name).await.expect("nothing in the way");
        self.browser.click(point.x, point.y).await;
        self.result().await
    }

    async fn result(&self) -> String {
        let said = self
            .browser
            .script("document.getElementById('result').textContent")
            .await;
        said.as_str().unwrap_or_default().to_owned()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cases_of_reading_and_acting() {
    let browser = Browser::start().await;
    let b = &browser;

    let page = Page::open(b, "pages/013-disabled-by-ancestor.html").await;
    let by = |words: &str| Err(Obstacle::Disabled(Some(words.into())));
    assert_eq!(
        page.prepare("button", "Dispatch").await,
        by("aria-disabled on div #g")
    );
    assert_eq!(
        page.prepare("button", "Recall").await,
        by("fieldset \"Unlock\"")
    );
    assert_eq!(page.click("button", "Unlock").await, "unlocked");
    assert_eq!(page.click("button", "Dispatch").await, "dispatched");

    let page = Page::open(b, "pages/015-hidden-twin.html").await;
    assert_eq!(page.click("link", "Tariffs").await, "visible");

    let page = Page::open(b, "pages/016-styled-checkbox.html").await;
    assert_eq!(
        page.click("checkbox", "Insure the parcel").await,
        "insured=true"
    );

    let page = Page::open(b, "pages/018-labelledby-inside-shadow.html").await;
    page.one("textbox", "Hull number");

    let page = Page::open(b, "pages/019-closed-shadow.html").await;
    assert_eq!(page.click("button", "Cast off").await, "cast off");

    let mut page = Page::open(b, "pages/020-cross-origin-iframe.html").await;
    for _ in 0..100 {
        if !page.all("button", "Pay").is_empty() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        page.look().await;
    }
    let holder = page.one("textbox", "Card holder");
    assert_eq!(page.seen.node(holder).unwrap().frames, ["Payment"]);

    let page = Page::open(b, "pages/022-nested-iframes.html").await;
    let inner = page.one("button", "Innermost");
    assert_eq!(page.seen.node(inner).unwrap().frames, ["outer", "middle"]);
    assert_eq!(page.click("button", "Innermost").await, "deep");

    let page = Page::open(b, "pages/025-candidate-cap-hides-target.html").await;
    assert_eq!(
        page.click("button", "Approve line 2900").await,
        "approved 2900"
    );

    let page = Page::open(b, "pages/026-bare-label-as-control.html").await;
    let controls: Vec<_> = page
        .seen
        .nodes()
        .filter(|(_, n)| n.interactive)
        .map(|(_, n)| n.role.as_str())
        .collect();
    assert_eq!(controls, ["textbox", "button"]);

    let mut page = Page::open(b, "pages/031-stale-on-rerender.html").await;
    let old = page.one("button", "Accept load");
    page.look().await;
    let refused = acts::prepare(b, &b.top, old, Purpose::Click)
        .await
        .expect("an answer");
    assert_eq!(refused, Err(Obstacle::Stale));
    // Of another document's fields nothing is said, least of all that there are none.
    let probe = acts::probe(b, &b.top, page.generation).await;
    assert!(probe.expect("an answer").is_some());
    let probe = acts::probe(b, &b.top, page.generation - 1).await;
    assert_eq!(probe.expect("an answer"), None);

    let page = Page::open(b, "pages/032-overlay-intercepts.html").await;
    let covered = Obstacle::Covered("dialog \"Cookie choices\"".into());
    assert_eq!(page.prepare("button", "Track parcel").await, Err(covered));

    let page = Page::open(b, "pages/033-sticky-header-covers.html").await;
    assert_eq!(page.click("link", "Section 30").await, "section 30");

    for (path, name, result) in [
        ("040-trusted-types", "Seal manifest", "sealed"),
        ("042-overridden-array-and-map", "Rig sail", "rigged"),
        ("043-overridden-eval-and-query", "Hoist flag", "hoisted"),
        ("047-offscreen-click-noop", "Sound horn", "horn"),
    ] {
        let page = Page::open(b, &format!("pages/{path}.html")).await;
        assert_eq!(page.click("button", name).await, result, "{path}");
    }
    let page = Page::open(b, "pages/047-offscreen-click-noop.html").await;
    let ghost = page.prepare("button", "Ghost").await;
    assert_eq!(ghost, Err(Obstacle::PassesThrough));

    let page = Page::open(b, "pages/029-date-field.html").await;
    let day = page.one("textbox", "Sailing day");
    let set = acts::set_value(b, &b.top, day, "2031-04-09")
        .await
        .expect("an answer");
    assert_eq!(set.value.as_deref(), Some("2031-04-09"));
    assert_eq!(page.result().await, "day=2031-04-09");

    let page = Page::open(b, "pages/041-csp-blocks-inline-style.html").await;
    let code = page.one("textbox", "Seal code");
    acts::protect(b, &b.top, page.generation, &[code.node], true)
        .await
        .expect("a mark");
    for moment in [pictures::Moment::Before, pictures::Moment::After] {
        let boxes = pictures::measure(b, &b.top, page.generation, &[], &[], moment)
            .await
            .expect("boxes");
        assert_eq!(boxes.expect("this generation").boxes.len(), 1);
    }
    let mut page = page;
    page.look().await;
    let code = page.one("textbox", "Seal code");
    assert_eq!(page.seen.node(code).unwrap().states.value, None);

    // A picture is only one of the page that was read where nothing changed under it, in a shadow root neither.
    let page = Page::open(b, "pages/017-open-shadow-controls.html").await;
    for (change, changed) in [
        ("1", false),
        ("document.body.setAttribute('data-x', 1)", true),
        (
            "[...document.querySelectorAll('*')].find(e => e.shadowRoot).shadowRoot.append('x')",
            true,
        ),
    ] {
        let measure = async |moment| {
            let measured = pictures::measure(b, &b.top, page.generation, &[], &[], moment);
            measured.await.expect("boxes").expect("this generation")
        };
        measure(pictures::Moment::Before).await;
        b.script(change).await;
        acts::settled(b, &b.top, std::time::Duration::ZERO)
            .await
            .expect("two frames");
        let after = measure(pictures::Moment::After).await;
        assert_eq!(after.still == 0, changed, "{change}");
    }

    let page = Page::open(b, "oracle/clobbered.html").await;
    let clobber = page.one("button", "Clobber");
    let facts = acts::form_facts(b, &b.top, clobber)
        .await
        .expect("facts")
        .expect("a form");
    assert_eq!(facts.action, None);
    assert_eq!(facts.fields.len(), 7);
    assert!(
        page.seen
            .unread
            .iter()
            .all(|u| u.kind != UnreadKind::NodesCut)
    );

    browser.quit().await;
}
