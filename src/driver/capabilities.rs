//! New Session's capabilities: one function per browser, nothing elsewhere.
//!
//! These are security settings as much as comfort. With the contexts' own proxies they left no
//! page-driven channel around the proxy over about sixty tried (Chromium and Firefox); each
//! network switch here closes one that was seen open without it.

use std::net::IpAddr;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::find::{BrowserKind, Found, small_shared_memory};
use super::launch::LaunchSettings;

/// Where the browser's own calls go when no denying proxy is given: a port nobody serves.
const NOWHERE: &str = "127.0.0.1:9";

/// Features that call home, put their own windows over a page, or keep a renderer busy for the address
/// bar's pop-ups, which nobody sees here (measured: one process of three).
const FEATURES_OFF: &[&str] = &[
    "AiModeOmniboxEntryPoint",
    "AutofillServerCommunication",
    "CertificateTransparencyComponentUpdater",
    "InterestFeedContentSuggestions",
    "LensOverlay",
    "MediaRouter",
    "OptimizationHints",
    "Translate",
    // Joins a multicast group at a page's word; no local address is ever gathered that it would hide.
    "WebRtcHideLocalIpsWithMdns",
    "WebUIOmniboxAimPopup",
    "WebUIOmniboxFullPopup",
    "WebUIOmniboxPopup",
];

pub(super) fn capabilities(
    found: &Found,
    settings: &LaunchSettings,
    profile: &Path,
) -> Map<String, Value> {
    let mut capabilities = common(found.kind, settings);
    match found.kind {
        BrowserKind::Chromium => {
            capabilities.insert("browserName".into(), json!("chrome"));
            capabilities.insert(
                "goog:chromeOptions".into(),
                json!({
                    "binary": found.browser,
                    "args": chromium_arguments(settings, profile),
                    "prefs": chromium_preferences(),
                }),
            );
        }
        BrowserKind::Firefox => {
            capabilities.insert("browserName".into(), json!("firefox"));
            capabilities.insert(
                "moz:firefoxOptions".into(),
                json!({
                    "binary": found.browser,
                    "args": firefox_arguments(settings),
                    "prefs": firefox_preferences(),
                }),
            );
        }
    }
    capabilities
}

/// For a session on somebody else's driver: no paths of this machine.
pub(super) fn attached(kind: BrowserKind, settings: &LaunchSettings) -> Map<String, Value> {
    let mut capabilities = common(kind, settings);
    match kind {
        BrowserKind::Chromium => {
            let mut arguments = chromium_switches(settings);
            if settings.sandbox == super::find::Sandbox::Off {
                arguments.push("--no-sandbox".into());
            }
            capabilities.insert("browserName".into(), json!("chrome"));
            capabilities.insert(
                "goog:chromeOptions".into(),
                json!({"args": arguments, "prefs": chromium_preferences()}),
            );
        }
        BrowserKind::Firefox => {
            capabilities.insert("browserName".into(), json!("firefox"));
            capabilities.insert(
                "moz:firefoxOptions".into(),
                json!({"args": firefox_arguments(settings), "prefs": firefox_preferences()}),
            );
        }
    }
    capabilities
}

fn common(kind: BrowserKind, settings: &LaunchSettings) -> Map<String, Value> {
    let proxy = settings.proxy.as_deref().unwrap_or(NOWHERE);
    let mut map = Map::new();
    map.insert("webSocketUrl".into(), json!(true));
    map.insert("unhandledPromptBehavior".into(), dialogs_are_ours(kind));
    map.insert("acceptInsecureCerts".into(), json!(false));
    map.insert("proxy".into(), manual_proxy(kind, proxy));
    map
}

/// Every dialog waits for our answer. The one word leaves a question whether to leave a page to
/// Firefox, which says yes, and Firefox knows no rule of a user context's own (measured).
fn dialogs_are_ours(kind: BrowserKind) -> Value {
    match kind {
        BrowserKind::Chromium => json!("ignore"),
        BrowserKind::Firefox => json!({"default": "ignore"}),
    }
}

/// Without `<-loopback>` addresses of this machine go around Chromium's proxy (measured). Firefox
/// knows no such word: a preference of ours sends them there.
pub(super) fn manual_proxy(kind: BrowserKind, address: &str) -> Value {
    let around: &[&str] = match kind {
        BrowserKind::Chromium => &["<-loopback>"],
        BrowserKind::Firefox => &[],
    };
    json!({
        "proxyType": "manual",
        "httpProxy": address,
        "sslProxy": address,
        "noProxy": around,
    })
}

fn chromium_arguments(settings: &LaunchSettings, profile: &Path) -> Vec<String> {
    let mut arguments = chromium_switches(settings);
    arguments.push(format!("--user-data-dir={}", profile.display()));
    // No DevTools port for pages or neighbours to knock on.
    arguments.push("--remote-debugging-pipe".into());
    if settings.sandbox.is_off() {
        arguments.push("--no-sandbox".into());
    }
    if small_shared_memory() {
        arguments.push("--disable-dev-shm-usage".into());
    }
    #[cfg(feature = "leak-injector")]
    arguments.push(crate::secrets::inject::plant::onto(
        "command line",
        "--leaked=".into(),
    ));
    arguments
}

fn chromium_switches(settings: &LaunchSettings) -> Vec<String> {
    let (width, height) = settings.viewport;
    let mut arguments: Vec<String> = [
        "--disable-background-networking",
        "--disable-background-timer-throttling",
        "--disable-backgrounding-occluded-windows",
        "--disable-renderer-backgrounding",
        "--disable-breakpad",
        "--disable-component-update",
        "--disable-default-apps",
        "--disable-domain-reliability",
        "--disable-extensions",
        "--disable-gpu",
        "--disable-quic",
        "--disable-search-engine-choice-screen",
        "--disable-sync",
        "--force-color-profile=srgb",
        "--metrics-recording-only",
        "--mute-audio",
        "--no-default-browser-check",
        "--no-first-run",
        "--password-store=basic",
        // The better-known --force-webrtc-… switch has no effect any more (measured).
        "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    ]
    .map(String::from)
    .to_vec();
    // With a proxy the browser needs no names at all; the second lock.
    let proxies = match settings.proxies_at {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    };
    arguments.push(format!(
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE {proxies}"
    ));
    arguments.push(format!("--disable-features={}", FEATURES_OFF.join(",")));
    arguments.push(format!("--window-size={width},{height}"));
    if !settings.headed {
        arguments.push("--headless=new".into());
    }
    arguments
}

fn chromium_preferences() -> Value {
    // 2 means "block" for content settings: no permission prompt ever opens.
    json!({
        "credentials_enable_service": false,
        "profile.password_manager_enabled": false,
        "profile.password_manager_leak_detection": false,
        "profile.default_content_setting_values.notifications": 2,
        "profile.default_content_setting_values.geolocation": 2,
        "profile.default_content_setting_values.media_stream_camera": 2,
        "profile.default_content_setting_values.media_stream_mic": 2,
        "autofill.profile_enabled": false,
        "autofill.credit_card_enabled": false,
        "download.prompt_for_download": false,
        "history.saving_disabled": true,
        "safebrowsing.enabled": false,
        "search.suggest_enabled": false,
        "signin.allowed": false,
        "translate.enabled": false,
        "webrtc.ip_handling_policy": "disable_non_proxied_udp",
    })
}

fn firefox_arguments(settings: &LaunchSettings) -> Vec<String> {
    let (width, height) = settings.viewport;
    let mut arguments = vec![format!("--width={width}"), format!("--height={height}")];
    if !settings.headed {
        arguments.push("-headless".into());
    }
    arguments
}

fn firefox_preferences() -> Value {
    json!({
        "network.proxy.allow_hijacking_localhost": true,
        "network.proxy.failover_direct": false,
        // The browser's own calls would go around a proxy that refuses them.
        "network.proxy.allow_bypass": false,
        "media.peerconnection.enabled": false,
        "network.dns.disablePrefetch": true,
        "network.trr.mode": 5,
        "network.http.http3.enable": false,
        "dom.serviceWorkers.enabled": false,
        "network.predictor.enabled": false,
        "network.http.speculative-parallel-limit": 0,
        "network.prefetch-next": false,
        "network.captive-portal-service.enabled": false,
        "network.connectivity-service.enabled": false,
        "browser.formfill.enable": false,
        "places.history.enabled": false,
        "signon.rememberSignons": false,
        "signon.autofillForms": false,
        "extensions.formautofill.addresses.enabled": false,
        "extensions.formautofill.creditCards.enabled": false,
        "permissions.default.desktop-notification": 2,
        "permissions.default.geo": 2,
        "permissions.default.camera": 2,
        "permissions.default.microphone": 2,
        "browser.safebrowsing.malware.enabled": false,
        "browser.safebrowsing.phishing.enabled": false,
        "datareporting.policy.dataSubmissionEnabled": false,
        "app.update.disabledForTesting": true,
    })
}

#[cfg(test)]
mod tests {
    use super::super::find::Sandbox;
    use super::*;

    fn made(kind: BrowserKind, settings: &LaunchSettings) -> Value {
        let found = Found {
            kind,
            driver: "/d".into(),
            browser: "/b".into(),
        };
        Value::Object(capabilities(&found, settings, Path::new("/profile")))
    }

    fn arguments(caps: &Value) -> Vec<&str> {
        caps["goog:chromeOptions"]["args"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(Value::as_str)
            .collect()
    }

    #[test]
    fn chromium_s_network_settings_are_the_measured_ones() {
        let caps = made(BrowserKind::Chromium, &LaunchSettings::default());
        let args = arguments(&caps);
        for needed in [
            "--headless=new",
            "--disable-quic",
            "--webrtc-ip-handling-policy=disable_non_proxied_udp",
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            "--user-data-dir=/profile",
            "--remote-debugging-pipe",
        ] {
            assert!(args.contains(&needed), "{needed} is missing");
        }
        assert!(
            args.iter()
                .any(|a| a.starts_with("--disable-features=") && a.contains("AutofillServer"))
        );
        assert_eq!(caps["proxy"]["noProxy"], json!(["<-loopback>"]));
        assert_eq!(caps["proxy"]["httpProxy"], json!("127.0.0.1:9"));
        assert_eq!(caps["unhandledPromptBehavior"], json!("ignore"));
        assert_eq!(caps["webSocketUrl"], json!(true));
        let prefs = &caps["goog:chromeOptions"]["prefs"];
        assert_eq!(prefs["credentials_enable_service"], json!(false));
        assert_eq!(prefs["history.saving_disabled"], json!(true));
    }

    #[test]
    fn case_112_no_sandbox_only_when_asked_or_root() {
        let with = |sandbox| LaunchSettings {
            sandbox,
            ..LaunchSettings::default()
        };
        let has = |settings: &LaunchSettings| {
            arguments(&made(BrowserKind::Chromium, settings)).contains(&"--no-sandbox")
        };
        assert!(has(&with(Sandbox::Off)));
        assert!(!has(&with(Sandbox::On)));
        assert_eq!(
            has(&with(Sandbox::Auto)),
            crate::system::hardening::is_root()
        );
    }

    #[test]
    fn firefox_takes_loopback_through_the_proxy_and_no_other_way() {
        let caps = made(BrowserKind::Firefox, &LaunchSettings::default());
        let prefs = &caps["moz:firefoxOptions"]["prefs"];
        assert_eq!(
            prefs["network.proxy.allow_hijacking_localhost"],
            json!(true)
        );
        assert_eq!(prefs["network.proxy.failover_direct"], json!(false));
        assert_eq!(prefs["media.peerconnection.enabled"], json!(false));
        assert_eq!(prefs["network.trr.mode"], json!(5));
        assert_eq!(caps["proxy"]["httpProxy"], json!("127.0.0.1:9"));
        assert_eq!(caps["proxy"]["noProxy"], json!([]));
        assert_eq!(
            caps["unhandledPromptBehavior"],
            json!({"default": "ignore"})
        );
    }

    #[test]
    fn an_attached_session_names_no_path_of_this_machine() {
        let caps = Value::Object(attached(BrowserKind::Chromium, &LaunchSettings::default()));
        let text = caps.to_string();
        assert!(
            !text.contains("binary") && !text.contains("user-data-dir"),
            "{text}"
        );
        assert!(!arguments(&caps).contains(&"--no-sandbox"));
    }
}
