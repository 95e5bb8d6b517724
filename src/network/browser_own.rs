//! Calls the browsers make for themselves, told apart so that they aren't blamed on the page.
//!
//! Measured with Chromium 156 and Firefox 153 behind a proxy that denies everything: even with
//! background switches off they ask for updates, settings and autofill. They stay denied.

const HOSTS: [&str; 26] = [
    "accounts.google.com",
    "android.clients.google.com",
    "clients2.google.com",
    "clients2.googleusercontent.com",
    "clients4.google.com",
    "clientservices.googleapis.com",
    "content-autofill.googleapis.com",
    "edgedl.me.gvt1.com",
    "mtalk.google.com",
    "optimizationguide-pa.googleapis.com",
    "passwordsleakcheck-pa.googleapis.com",
    "redirector.gvt1.com",
    "safebrowsing.googleapis.com",
    "safebrowsingohttpgateway.googleapis.com",
    "sb-ssl.google.com",
    "t0.gstatic.com",
    "translate.googleapis.com",
    "update.googleapis.com",
    "aus5.mozilla.org",
    "detectportal.firefox.com",
    "firefox.settings.services.mozilla.com",
    "incoming.telemetry.mozilla.org",
    "location.services.mozilla.com",
    "push.services.mozilla.com",
    "shavar.services.mozilla.com",
    "tracking-protection.cdn.mozilla.net",
];

const SERVICES: [&str; 6] = [
    ".gvt1.com",
    ".services.mozilla.com",
    ".cdn.mozilla.net",
    ".telemetry.mozilla.org",
    ".firefox.com",
    ".safebrowsing.apple",
];

/// For denied requests only: a page may well name such a host itself, so this is a label for
/// the report and never lets anything through.
pub fn browser_own(host: &str) -> bool {
    HOSTS.contains(&host) || SERVICES.iter().any(|service| host.ends_with(service))
}
