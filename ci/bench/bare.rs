//! The form with nothing but WebDriver commands: no read, no check, no wait. The least any runner that types
//! keys and takes pictures over WebDriver needs, and so the floor of the `form` measurement.

use std::time::{Duration, Instant};

use rehearsal::driver::{
    Actions, Browser, Button, CallOptions, ContextSettings, DriverError, LaunchSettings, Origin,
    Tab, Wait,
};
use serde_json::Value;

const LIMIT: Duration = Duration::from_secs(30);
const CONTROLS: usize = 21;

/// Prints the milliseconds from a fresh context to the last picture.
pub async fn run(words: &[String]) {
    let site = words.first().expect("`bare SITE`");
    let settings = LaunchSettings {
        guard: Some(env!("CARGO_BIN_EXE_rehearsal").into()),
        ..LaunchSettings::default()
    };
    let browser = Browser::launch(&settings).await.expect("a browser");
    let began = Instant::now();
    let proxy = site.trim_start_matches("http://");
    let context = browser
        .new_context(ContextSettings::new(proxy.to_owned()))
        .await
        .expect("a context");
    let tab = context.new_tab().await.expect("a tab");
    let end = fill(&tab, site).await.expect("the form");
    println!("{}", began.elapsed().as_millis());
    assert_eq!(end, "Received 10 fields and 10 boxes");
    context.close().await.expect("closed");
    browser.close().await.expect("closed");
}

async fn fill(tab: &Tab, site: &str) -> Result<String, DriverError> {
    tab.navigate(&format!("{site}/form"), Wait::Complete, LIMIT)
        .await?;
    tab.screenshot(None).await?;
    for i in 0..CONTROLS {
        if i < CONTROLS / 2 {
            call(tab, &format!("document.forms[0].elements[{i}].focus()")).await?;
            let keys = Actions::text(&format!("value {}", i + 1))?;
            tab.perform(keys, LIMIT).await?;
        } else {
            let middle = call(tab, &middle_of(i)).await?;
            let [x, y]: [f64; 2] = serde_json::from_str(&middle).expect("a point");
            let click = Actions::click(&Origin::Viewport, x, y, Button::Left, 1);
            tab.perform(click, LIMIT).await?;
        }
        tab.screenshot(None).await?;
    }
    let end = call(tab, "return document.getElementById('result').textContent").await?;
    tab.screenshot(None).await?;
    Ok(end)
}

fn middle_of(control: usize) -> String {
    format!(
        "const r = document.forms[0].elements[{control}].getBoundingClientRect(); \
         return JSON.stringify([r.x + r.width / 2, r.y + r.height / 2])"
    )
}

async fn call(tab: &Tab, body: &str) -> Result<String, DriverError> {
    let options = CallOptions {
        deadline: LIMIT,
        ..CallOptions::default()
    };
    let declaration = format!("() => {{ {body} }}");
    let connection = tab.connection();
    let answer: Value = connection
        .call_function(tab.id(), Some("bare"), &declaration, Vec::new(), &options)
        .await?;
    Ok(answer["value"].as_str().unwrap_or_default().to_owned())
}
