//! What stands below each command's help: the commands people type first, ready to copy.

pub const INIT: &str = "\
Examples:
  rehearsal init http://localhost:3000
  rehearsal init https://app.example --dir checks";

pub const RUN: &str = "\
Examples:
  rehearsal run                               everything in this suite
  rehearsal run orders/refund                 one scenario, by its id
  rehearsal run --tag smoke --tag '!slow'     by tags
  rehearsal run --jobs 2 --retries 1 --junit junit.xml
  rehearsal run orders/refund --confirm orders/refund
  rehearsal run --dry --var repo=demo         what would be done, without a browser
  rehearsal run --shard 1/3                   a third of the selection, for one of three machines
  rehearsal run --repeat 20 --min-rate 0.9    how often does it pass?
  rehearsal --broker http://127.0.0.1:8771 run --tag smoke
                                              in a running `rehearsal serve`

Exit codes: 0 passed, 1 failed, 2 scenario or usage error, 3 environment, 4 refused,
            5 leak found, 6 snapshot pending, 129/130/143 stopped by a signal.
            With several, the gravest: 5, 130, 143, 129, 2, 3, 4, 1, 6.";

pub const CHECK: &str = "\
Examples:
  rehearsal check                     every file, and what waits for review
  rehearsal check orders/refund       one scenario
  rehearsal check --var repo=demo     with a variable replaced

Exit codes: 0 no errors, 2 errors, 6 something waits for review.";

pub const ACCEPT: &str = "\
Examples:
  rehearsal accept                    everything the last runs proposed
  rehearsal accept orders/refund      of one scenario";

pub const REVIEW: &str = "\
Examples:
  rehearsal review                    one after the other: a to accept, r to reject, s to skip
  rehearsal review orders/refund
  rehearsal review --web              the same on a local page, pictures side by side
  rehearsal review --prune            remove the snapshots no scenario owns";

pub const LOOK: &str = "\
Examples:
  rehearsal look http://localhost:3000
  rehearsal look orders/refund --after 3       the page as it is after step 3
  rehearsal look https://app.example --headed";

pub const REPLAY: &str = "\
Examples:
  rehearsal replay runs/latest
  rehearsal replay runs/latest/events.jsonl --out again";

pub const CREDENTIALS: &str = "\
Examples:
  rehearsal credentials add shop-user --origin https://shop.example
  rehearsal credentials list
  rehearsal credentials test shop-user

Values are asked for without echo. In CI set SHOP_USER_USERNAME, SHOP_USER_PASSWORD and
SHOP_USER_ORIGIN instead.";

pub const CREDENTIALS_ADD: &str = "\
Example:
  rehearsal credentials add shop-user --origin https://shop.example --totp";

pub const CREDENTIALS_LIST: &str = "\
Example:
  rehearsal credentials list";

pub const CREDENTIALS_REMOVE: &str = "\
Example:
  rehearsal credentials remove shop-user";

pub const CREDENTIALS_ROTATE: &str = "\
Example:
  rehearsal credentials rotate shop-user";

pub const CREDENTIALS_TEST: &str = "\
Examples:
  rehearsal credentials test shop-user
  rehearsal credentials test shop-user --reset    end the cool-down after rejected sign-ins";

pub const SCAN: &str = "\
Examples:
  rehearsal scan runs/latest          is a credential's value in what a run left?
  rehearsal scan . --suite checks

Exit codes: 0 nothing found, 5 something found.";

pub const SCHEMA: &str = "\
Examples:
  rehearsal schema > scenario.schema.json
  rehearsal schema report

With the line `# yaml-language-server: $schema=../scenario.schema.json` editors complete and check
scenarios while you write.";

pub const DOCTOR: &str = "\
Examples:
  rehearsal doctor                    parts, versions, settings and where each comes from
  rehearsal doctor --browser firefox
  rehearsal doctor --model            also ask the model for an answer";

pub const COMPLETIONS: &str = "\
Examples:
  rehearsal completions bash > ~/.local/share/bash-completion/completions/rehearsal
  rehearsal completions fish > ~/.config/fish/completions/rehearsal.fish";

pub const SERVE: &str = "\
Examples:
  rehearsal serve token add my-agent     prints the token of an owner, once
  rehearsal serve token approver         prints the approver's token, once
  rehearsal serve                        on 127.0.0.1:8771; approvals at /approvals
  rehearsal serve --port 0               on a free port, which it prints";

pub const MCP: &str = "\
Examples:
  REHEARSAL_TOKEN=… rehearsal mcp        speaks MCP on standard input and output
  REHEARSAL_TOKEN=… rehearsal mcp --broker http://127.0.0.1:9000

The token is an owner's, made by `rehearsal serve token add`; approving needs another one.";

pub const DRAFT: &str = "\
Examples:
  rehearsal draft < wish.txt
  rehearsal draft --out scenarios/orders.yaml < wish.txt

Standard input is the way in, since arguments show in process lists.";
