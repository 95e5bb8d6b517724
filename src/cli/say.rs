//! What commands print beside reports: problems with their excerpts, errors, plain lines.

use std::io::{IsTerminal, Write};

use crate::text::{Level, Problem, render};

use super::args::Colour;

/// Where and how to print.
#[derive(Debug, Clone, Copy)]
pub struct Say {
    colour_out: bool,
    colour_err: bool,
}

impl Say {
    pub fn new(colour: Colour) -> Self {
        let wanted = |terminal: bool| match colour {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => {
                terminal
                    && std::env::var_os("NO_COLOR").is_none()
                    && std::env::var_os("TERM").is_none_or(|t| t != "dumb")
            }
        };
        Self {
            colour_out: wanted(std::io::stdout().is_terminal()),
            colour_err: wanted(std::io::stderr().is_terminal()),
        }
    }

    pub fn colour(&self) -> bool {
        self.colour_out
    }

    /// A line on standard output; a closed pipe is no error (F32).
    pub fn line(&self, text: &str) {
        let _ = writeln!(std::io::stdout(), "{text}");
    }

    /// One error; gives the exit code back.
    pub fn fail(&self, code: i32, message: &str) -> i32 {
        self.problem(&Problem::error(message));
        code
    }

    pub fn problem(&self, problem: &Problem) {
        let style = if self.colour_err {
            render::Style::Colour
        } else {
            render::Style::Plain
        };
        let _ = writeln!(
            std::io::stderr(),
            "{}",
            render::problem(problem, style).trim_end()
        );
    }

    /// All problems and a closing count; whether any is an error.
    pub fn problems(&self, problems: &[Problem]) -> bool {
        for problem in problems {
            self.problem(problem);
            let _ = writeln!(std::io::stderr());
        }
        let errors = problems.iter().filter(|p| p.level == Level::Error).count();
        let warnings = problems.len() - errors;
        if errors + warnings > 0 {
            let of = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
            let counts: Vec<String> = [(errors, "error"), (warnings, "warning")]
                .into_iter()
                .filter(|(n, _)| *n > 0)
                .map(|(n, w)| of(n, w))
                .collect();
            let _ = writeln!(std::io::stderr(), "{}", counts.join(", "));
        }
        errors > 0
    }
}
