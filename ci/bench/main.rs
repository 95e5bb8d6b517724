//! Speed, measured side by side with what others do on the same machine in the same run.
//!
//! `ci/bench/run` is the way in. `cargo bench --bench speed -- reading` and `-- proxy` are its parts;
//! without a part (as `cargo test --all-targets` calls it) nothing is measured.

mod bare;
mod figures;
mod pages;
mod peer;
mod proxy;
mod reading;

fn main() {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|w| w != "--bench")
        .collect();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    match words.first().map(String::as_str) {
        Some("reading") => runtime.block_on(reading::run(&words[1..])),
        Some("bare") => runtime.block_on(bare::run(&words[1..])),
        Some("proxy") => runtime.block_on(proxy::run(&words[1..])),
        Some("serve") => pages::serve_for_ever(),
        _ => println!("nothing measured; say `reading` or `proxy`"),
    }
}
