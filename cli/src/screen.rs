//! Progress on standard error: a live line on a terminal; otherwise a line for each change, and one a minute.

use std::io;
use std::time::Duration;

use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle, TermLike};
use matsu_wait::wait::Status;

use crate::progress::{self, View};
use crate::say;

/// Where progress is shown.
#[derive(Debug)]
pub(crate) enum Screen {
    /// One line that is drawn again and again.
    Live(ProgressBar),
    /// Lines that stay.
    Lines(Lines),
}

/// What a log of lines has said so far.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    /// The status that was said last, and when something was said.
    said: Option<(Option<Status>, Duration)>,
}

const HEARTBEAT: Duration = Duration::from_secs(60);

/// The spinner and the space after it.
const SPINNER: usize = 2;

/// Room for the `^C` that a terminal writes at the end of the line: wrapped, it would leave the line behind.
const ROOM: u16 = 3;

/// Standard error, as a terminal that is a little narrower than it is.
#[derive(Debug)]
struct Narrowed(Term);

impl TermLike for Narrowed {
    fn width(&self) -> u16 {
        self.0.size().1.saturating_sub(ROOM)
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_up(n)
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_down(n)
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_right(n)
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_left(n)
    }

    fn write_line(&self, s: &str) -> io::Result<()> {
        self.0.write_line(s)
    }

    fn write_str(&self, s: &str) -> io::Result<()> {
        self.0.write_str(s)
    }

    fn clear_line(&self) -> io::Result<()> {
        self.0.clear_line()
    }

    fn flush(&self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Screen {
    /// As standard error is.
    pub(crate) fn new() -> Self {
        if !Term::stderr().is_term() {
            return Self::Lines(Lines::default());
        }
        let style =
            ProgressStyle::with_template("{spinner} {msg}").unwrap_or_else(|_| ProgressStyle::default_spinner());
        let bar = ProgressBar::with_draw_target(
            None,
            ProgressDrawTarget::term_like(Box::new(Narrowed(Term::buffered_stderr()))),
        )
        .with_style(style);
        bar.enable_steady_tick(Duration::from_millis(120));
        Self::Live(bar)
    }

    /// Shows the wait at a moment (`at`: any clock that only goes forward).
    pub(crate) fn show(&mut self, view: &View, at: Duration) {
        match self {
            Self::Live(bar) => {
                let width = usize::from(Narrowed(Term::stderr()).width());
                bar.set_message(progress::live(view, width.saturating_sub(SPINNER)));
            }
            Self::Lines(lines) => {
                if let Some(line) = lines.next(view, at) {
                    say::note(line);
                }
            }
        }
    }

    /// A line that stays.
    pub(crate) fn note(&self, text: &str) {
        match self {
            Self::Live(bar) => bar.suspend(|| say::note(text)),
            Self::Lines(_) => say::note(text),
        }
    }

    /// Nothing more comes; what is live disappears.
    pub(crate) fn close(&self) {
        if let Self::Live(bar) = self {
            bar.finish_and_clear();
        }
    }
}

impl Lines {
    /// The line that is due, if one is.
    fn next(&mut self, view: &View, at: Duration) -> Option<String> {
        let line = match &self.said {
            Some((status, _)) if *status != view.status => progress::change(view),
            Some((_, when)) if at.saturating_sub(*when) >= HEARTBEAT => progress::heartbeat(view),
            None if view.status.is_some() => progress::change(view),
            _ => return None,
        };
        self.said = Some((view.status.clone(), at));
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(text: &str, pass: u32) -> View {
        View {
            target: "file:/x".to_owned(),
            status: Some(Status::new(text)),
            pass,
            next: Some(Duration::from_secs(5)),
            elapsed: Duration::from_secs(u64::from(pass) * 5),
            left: Duration::from_secs(600),
        }
    }

    #[test]
    fn a_log_gets_one_line_for_a_change_and_one_a_minute() {
        let mut lines = Lines::default();
        let mut said = Vec::new();
        for pass in 1..=30 {
            let text = if pass < 26 { "absent" } else { "exists" };
            said.extend(lines.next(&view(text, pass), Duration::from_secs(u64::from(pass) * 5)));
        }
        assert_eq!(said.len(), 4, "{said:#?}");
        assert!(said[0].starts_with("file:/x: absent (pass 1,"));
        assert!(said[1].starts_with("file:/x: still absent after 1m5s (pass 13,"));
        assert!(said[2].starts_with("file:/x: still absent after 2m5s (pass 25,"));
        assert!(said[3].starts_with("file:/x: exists (pass 26,"));
    }

    #[test]
    fn before_the_first_look_a_log_gets_no_line() {
        let nothing = View {
            status: None,
            ..view("", 0)
        };
        assert_eq!(Lines::default().next(&nothing, Duration::from_secs(500)), None);
    }
}
