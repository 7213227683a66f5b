//! How the demo looks: numbered steps, what happens in each, and the message in a frame.

use anstyle::{AnsiColor, Color, Style};

use crate::failure::Failure;
use crate::say;

/// The steps so far.
#[derive(Debug, Default)]
pub(super) struct Stage {
    steps: u32,
}

const NUMBER: Style = Style::new().bold().fg_color(Some(Color::Ansi(AnsiColor::Cyan)));
const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const GOOD: Style = Style::new().fg_color(Some(Color::Ansi(AnsiColor::Green)));

impl Stage {
    pub(super) fn title(&self, text: &str) -> Result<(), Failure> {
        say::result(format!("{BOLD}{text}{BOLD:#}\n"))
    }

    /// The next step, with its number.
    pub(super) fn step(&mut self, text: &str) -> Result<(), Failure> {
        self.steps += 1;
        say::result(format!("{NUMBER}{}{NUMBER:#}  {text}", self.steps))
    }

    /// Something about the step.
    pub(super) fn detail(&self, text: &str) -> Result<(), Failure> {
        say::result(format!("     {DIM}{text}{DIM:#}"))
    }

    /// One pass of the wait.
    pub(super) fn pass(&self, count: u32, status: &str, next: &str) -> Result<(), Failure> {
        let style = if next == "completed" { GOOD } else { DIM };
        say::result(format!("     pass {count}  {status:<8} {style}{next}{style:#}"))
    }

    /// The message as people see it.
    pub(super) fn message(&self, lines: &[String]) -> Result<(), Failure> {
        lines
            .iter()
            .try_for_each(|line| say::result(format!("     {GOOD}▌{GOOD:#} {line}")))
    }

    /// The end, and what to try next.
    pub(super) fn end(&self, text: &str) -> Result<(), Failure> {
        say::result(format!("\n{GOOD}✔{GOOD:#} {text}\n\n{BOLD}Try next{BOLD:#}"))?;
        let next = [
            (
                "matsu wait file:/tmp/hello --interval 2s",
                "and then, elsewhere: touch /tmp/hello",
            ),
            ("matsu wait s3://BUCKET/KEY --until deleted", "an object of yours"),
            ("matsu list", "the waits of this machine"),
        ];
        next.iter()
            .try_for_each(|(command, what)| say::result(format!("  {command:<44} {DIM}{what}{DIM:#}")))
    }
}
