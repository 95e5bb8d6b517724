//! `rehearsal init`: a suite with a first scenario for an address.

use crate::policy;
use crate::scenario::Suite;
use crate::store;
use crate::text::Problem;

use super::args::InitArgs;
use super::exit;
use super::say::Say;

pub fn init(args: &InitArgs, say: &Say) -> i32 {
    let url = match policy::navigable(&args.address) {
        Ok(url) => url,
        Err(denial) => return say.fail(exit::USAGE, &denial.to_string()),
    };
    let root = &args.dir;
    let scenario = root.join("scenarios/first.yaml");
    if scenario.exists() {
        let scenario = scenario.display();
        let why = format!("{scenario} is there already; nothing was changed");
        return say.fail(exit::USAGE, &why);
    }
    let ids = Suite::load(root).ids;
    if let Some(one) = ids.first() {
        let problem = Problem::error(format!(
            "{} is a suite already, with {one} and whatever else it holds; nothing was changed",
            root.join("scenarios").display()
        ));
        say.problem(&problem.help("make another one elsewhere with `--dir FOLDER`"));
        return exit::USAGE;
    }
    let files = [
        (root.join("rehearsal.toml"), SETTINGS.to_owned()),
        (scenario, SCENARIO.replace("{address}", url.as_str())),
    ];
    for folder in ["scenarios", "fixtures", "snapshots"] {
        if let Err(error) = std::fs::create_dir_all(root.join(folder)) {
            return say.fail(
                exit::ENVIRONMENT,
                &format!("{}: {error}", root.join(folder).display()),
            );
        }
    }
    for (path, text) in files {
        if path.exists() {
            say.line(&format!("kept     {}", path.display()));
            continue;
        }
        if let Err(error) = store::write(&path, text.as_bytes()) {
            return say.fail(exit::ENVIRONMENT, &error.to_string());
        }
        say.line(&format!("wrote    {}", path.display()));
    }
    if let Err(error) = crate::snapshot::ignore_pending(root) {
        return say.fail(exit::ENVIRONMENT, &error.to_string());
    }
    say.line(&format!("\nnext:    rehearsal look {url}     shows the page's controls, to paste as steps\n         rehearsal run                 runs the scenario"));
    exit::PASSED
}

const SETTINGS: &str = "\
# Settings of this suite. Every key is optional; `rehearsal doctor` shows what is in force.
[run]
jobs = 1

[browser]
viewport = \"1280x800\"

# A model is asked only for what rules can't resolve.
# [model]
# base_url = \"http://localhost:8090/v1\"
# name = \"qwen\"

# Values of credentials come from the environment, the vault or a command; never from here.
# [credentials.test-user]
# origin = \"https://app.example\"
";

const SCENARIO: &str = "\
# rehearsal run first
name: The start page opens
start: {address}
steps:
  # - click: button \"Sign in\"
  # - login: test-user
  - expect: { url: \"**\" }
expect:
  - element: { role: heading }
tutorial: true
";
