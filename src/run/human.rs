//! Waiting for a person: a second factor, a CAPTCHA (R50). Never in CI, never without a terminal.

use std::io::{IsTerminal, Write};

use tokio::io::{AsyncBufReadExt, BufReader};

/// Whether somebody is there who can see the browser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Human {
    There,
    Absent(&'static str),
}

impl Human {
    /// Somebody is there when the window is shown, a terminal answers and no CI is about.
    pub fn find(headed: bool, ci: bool) -> Self {
        if ci {
            Self::Absent("CI is set, so nobody is there to do it")
        } else if !headed {
            Self::Absent("the browser has no window; run with `--headed`")
        } else if !std::io::stdin().is_terminal() {
            Self::Absent("there is no terminal to say when it is done")
        } else {
            Self::There
        }
    }

    /// Blocks until the person says it is done.
    pub async fn wait(self, reason: &str) -> Result<(), String> {
        match self {
            Self::Absent(why) => Err(format!("a person is needed ({reason}), and {why}")),
            Self::There => {
                eprint!(
                    "\n  A person is needed: {}\n  Do it in the browser, then press Enter here. ",
                    crate::text::visible(reason)
                );
                let _ = std::io::stderr().flush();
                let mut line = String::new();
                match BufReader::new(tokio::io::stdin())
                    .read_line(&mut line)
                    .await
                {
                    Ok(n) if n > 0 => Ok(()),
                    _ => Err(format!(
                        "a person was needed ({reason}), and the terminal was closed"
                    )),
                }
            }
        }
    }
}
