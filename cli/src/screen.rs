//! Progress on standard error: on a terminal a live line for each wait; otherwise a line for each
//! change, and one a minute.

use std::io;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use console::Term;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle, TermLike};
use matsu_wait::wait::Status;

use crate::progress::{self, View};
use crate::say;

/// Where progress is shown.
#[derive(Debug, Clone)]
pub(crate) enum Screen {
    /// A terminal: a line for each wait, drawn again and again.
    Live(MultiProgress),
    /// Lines that stay.
    Log,
}

/// The line of one wait.
#[derive(Debug)]
pub(crate) struct Line {
    screen: Screen,
    live: ProgressBar,
    said: Lines,
    /// How wide the targets of all lines are together, in characters.
    column: usize,
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

/// Standard error, as a terminal that is a little narrower than it is: what is written up to its edge goes on in the next
/// line, as lines of full width would do by themselves.
#[derive(Debug)]
struct Narrowed {
    term: Term,
    /// Where the next character stands in its line.
    column: AtomicUsize,
}

impl Narrowed {
    fn new(term: Term) -> Self {
        Self {
            term,
            column: AtomicUsize::new(0),
        }
    }
}

impl TermLike for Narrowed {
    fn width(&self) -> u16 {
        self.term.size().1.saturating_sub(ROOM)
    }

    fn height(&self) -> u16 {
        self.term.size().0
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.term.move_cursor_up(n)
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.term.move_cursor_down(n)
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.term.move_cursor_right(n)
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.term.move_cursor_left(n)
    }

    fn write_line(&self, s: &str) -> io::Result<()> {
        self.column.store(0, Relaxed);
        self.term.write_line(s)
    }

    fn write_str(&self, s: &str) -> io::Result<()> {
        let mut column = self.column.load(Relaxed);
        if s == "\r" {
            column = 0;
        } else if !s.is_empty() && column >= usize::from(self.width()) {
            self.term.write_line("")?;
            column = 0;
        }
        self.column.store(column + console::measure_text_width(s), Relaxed);
        self.term.write_str(s)
    }

    fn clear_line(&self) -> io::Result<()> {
        self.column.store(0, Relaxed);
        self.term.clear_line()
    }

    fn flush(&self) -> io::Result<()> {
        self.term.flush()
    }
}

impl Screen {
    /// As standard error is.
    pub(crate) fn new() -> Self {
        if !Term::stderr().is_term() {
            return Self::Log;
        }
        let terminal = Box::new(Narrowed::new(Term::buffered_stderr()));
        Self::Live(MultiProgress::with_draw_target(ProgressDrawTarget::term_like(terminal)))
    }

    /// The line of another wait; `column`: how wide the targets of all lines are, in characters.
    pub(crate) fn line(&self, column: usize) -> Line {
        let live = match self {
            Self::Live(all) => {
                let style = ProgressStyle::with_template("{spinner} {msg}")
                    .unwrap_or_else(|_| ProgressStyle::default_spinner());
                let bar = all.add(ProgressBar::no_length().with_style(style));
                bar.enable_steady_tick(Duration::from_millis(120));
                bar
            }
            Self::Log => ProgressBar::hidden(),
        };
        Line {
            screen: self.clone(),
            live,
            said: Lines::default(),
            column,
        }
    }

    /// A line that stays.
    pub(crate) fn note(&self, text: &str) {
        match self {
            Self::Live(all) => all.suspend(|| say::note(text)),
            Self::Log => say::note(text),
        }
    }
}

impl Line {
    /// Shows the wait at a moment (`at`: any clock that only goes forward).
    pub(crate) fn show(&mut self, view: &View, at: Duration) {
        match self.screen {
            Screen::Live(_) => self.live.set_message(progress::live(view, room(), self.column)),
            Screen::Log => {
                if let Some(line) = self.said.next(view, at) {
                    say::note(line);
                }
            }
        }
    }

    /// A line that stays.
    pub(crate) fn note(&self, text: &str) {
        self.screen.note(text);
    }

    /// The wait has ended while others go on: how is shown until they have, too.
    pub(crate) fn ended(&self, target: &str, how: &str) {
        match self.screen {
            Screen::Live(_) => self
                .live
                .finish_with_message(progress::ended(target, how, room(), self.column)),
            Screen::Log => say::note(format!("{target}: {how}")),
        }
    }

    /// Nothing more comes; what is live disappears.
    pub(crate) fn close(&self) {
        self.live.finish_and_clear();
    }
}

/// How many characters there are for a live line.
fn room() -> usize {
    usize::from(Narrowed::new(Term::stderr()).width()).saturating_sub(SPINNER)
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
