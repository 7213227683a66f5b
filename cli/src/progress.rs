//! What people see of a wait while it goes on: pure.

use std::time::Duration;

use matsu_wait::duration;
use matsu_wait::wait::Status;

/// A wait at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct View {
    /// The target as people type it.
    pub(crate) target: String,
    /// What the last look saw.
    pub(crate) status: Option<Status>,
    /// The number of the last look.
    pub(crate) pass: u32,
    /// When the next look is due.
    pub(crate) next: Option<Duration>,
    /// Since the wait has started.
    pub(crate) elapsed: Duration,
    /// Until it gives up.
    pub(crate) left: Duration,
}

/// How wide the bar is.
const BAR: usize = 20;

/// A target is never cut shorter than this: rather is it left out.
const LEAST_TARGET: usize = 12;

/// The live line, at most `width` characters: status first, then as much of the rest as there is room for. The target
/// takes `column` characters, so that lines below one another are in columns, or less where there is no room.
pub(crate) fn live(view: &View, width: usize, column: usize) -> String {
    let percent = view.status.as_ref().and_then(|status| status.progress);
    let status = view
        .status
        .as_ref()
        .map_or("not looked at yet", |status| status.text.as_str());
    let (pass, next, left) = (
        format!("pass {}", view.pass),
        next_look(view),
        format!("gives up in {}", short(view.left)),
    );
    let head = |width: usize| match percent {
        Some(percent) if width > 0 => Some(format!("{} {percent:>3} %", bar(percent, width))),
        percent => percent.map(|percent| format!("{percent} %")),
    };
    let rest = |parts: &[&str]| parts.join(" · ");
    let candidates = [
        (head(BAR), rest(&[status, &pass, &next, &left])),
        (head(BAR / 2), rest(&[status, &pass, &next, &left])),
        (head(BAR / 2), rest(&[status, &next, &left])),
        (head(0), rest(&[status, &next, &left])),
        (head(0), rest(&[status, &pass, &next])),
        (head(0), rest(&[status, &next])),
        (head(0), status.to_owned()),
    ];
    let lines = candidates
        .into_iter()
        .map(|(head, tail)| head.map_or_else(|| tail.clone(), |head| format!("{head}  {tail}")));
    let mut shortest = String::new();
    for line in lines {
        let room = width.saturating_sub(length(&line));
        if room >= LEAST_TARGET + 2 {
            return format!("{}  {line}", in_column(&view.target, room - 2, column));
        }
        shortest = line;
    }
    shortest.chars().take(width).collect()
}

/// The live line of a wait that has ended while others go on.
pub(crate) fn ended(target: &str, how: &str, width: usize, column: usize) -> String {
    let room = width.saturating_sub(length(how) + 2);
    if room < LEAST_TARGET {
        return how.chars().take(width).collect();
    }
    format!("{}  {how}", in_column(target, room, column))
}

/// A target in a column of `column` characters, or of `room` where that is less.
fn in_column(target: &str, room: usize, column: usize) -> String {
    let column = column.min(room);
    format!("{:column$}", middle_cut(target, room))
}

/// One line for a change, where there is no terminal.
pub(crate) fn change(view: &View) -> String {
    format!(
        "{}: {} (pass {}, {})",
        view.target,
        seen(view),
        view.pass,
        next_look(view)
    )
}

/// The line of every minute in which nothing changed, where there is no terminal.
pub(crate) fn heartbeat(view: &View) -> String {
    format!(
        "{}: still {} after {} (pass {}, {}, gives up in {})",
        view.target,
        seen(view),
        short(view.elapsed),
        view.pass,
        next_look(view),
        short(view.left)
    )
}

fn seen(view: &View) -> String {
    view.status
        .as_ref()
        .map_or_else(|| "not looked at yet".to_owned(), ToString::to_string)
}

fn next_look(view: &View) -> String {
    match view.next {
        Some(next) if !next.is_zero() => format!("next look in {}", short(next)),
        _ => "looking".to_owned(),
    }
}

fn bar(percent: u8, width: usize) -> String {
    let full = usize::from(percent.min(100)) * width / 100;
    format!("{}{}", "█".repeat(full), "░".repeat(width - full))
}

/// A duration in one or two units, rounded up to seconds so that nothing is due in `0s`.
pub(crate) fn short(d: Duration) -> String {
    let seconds = d.as_secs() + u64::from(d.subsec_nanos() > 0);
    let unit = match seconds {
        0..3_600 => 1,
        3_600..86_400 => 60,
        _ => 3_600,
    };
    duration::format(Duration::from_secs(seconds / unit * unit))
}

/// A text cut in its middle to at most `most` characters.
pub(crate) fn middle_cut(text: &str, most: usize) -> String {
    let count = length(text);
    if count <= most {
        return text.to_owned();
    }
    let kept = most.saturating_sub(1);
    let (front, back) = (kept / 2, kept - kept / 2);
    let head: String = text.chars().take(front).collect();
    let tail: String = text.chars().skip(count - back).collect();
    format!("{head}…{tail}")
}

pub(crate) fn length(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view() -> View {
        View {
            target: "s3://my-bucket/reports/2026/summary.csv".to_owned(),
            status: Some(Status::new("absent")),
            pass: 4,
            next: Some(Duration::from_millis(11_200)),
            elapsed: Duration::from_secs(61),
            left: Duration::from_secs(10_739),
        }
    }

    #[test]
    fn a_wide_live_line_tells_everything() {
        let line = live(&view(), 120, 0);
        assert_eq!(
            line,
            "s3://my-bucket/reports/2026/summary.csv  absent · pass 4 · next look in 12s · gives up in 2h58m"
        );
    }

    #[test]
    fn where_the_service_tells_percent_there_is_a_bar() {
        let copying = View {
            status: Some(Status::new("copying").at(Some(45))),
            ..view()
        };
        let line = live(&copying, 140, 0);
        assert!(line.contains("█████████░░░░░░░░░░░  45 %  copying · pass 4"), "{line}");
        assert!(bar(0, BAR).chars().all(|c| c == '░'));
        assert!(bar(255, BAR).chars().all(|c| c == '█'));
    }

    #[test]
    fn a_live_line_never_is_wider_than_the_terminal_and_keeps_the_status_longest() {
        for status in [Status::new("absent"), Status::new("copying").at(Some(45))] {
            let view = View {
                status: Some(status.clone()),
                ..view()
            };
            for width in 0..200 {
                let line = live(&view, width, width / 2);
                assert!(length(&line) <= width, "{width}: {line}");
                assert!(width < 16 || line.contains(&status.text), "{width}: {line}");
            }
        }
    }

    #[test]
    fn a_narrow_live_line_cuts_the_target_in_its_middle() {
        assert_eq!(
            live(&view(), 60, 0),
            "s3://m…ry.csv  absent · next look in 12s · gives up in 2h58m"
        );
    }

    #[test]
    fn lines_below_one_another_are_in_columns() {
        let short = View {
            target: "file:/x".to_owned(),
            ..view()
        };
        let column = length(&view().target);
        let lines = [
            live(&short, 120, column),
            live(&view(), 120, column),
            ended("file:/y", "completed after 1 pass", 120, column),
        ];
        for line in &lines {
            let text = line.chars().skip(column).collect::<String>();
            assert!(
                text.starts_with("  absent") || text.starts_with("  completed"),
                "{lines:#?}"
            );
        }
        for width in 0..100 {
            assert!(length(&ended("file:/a/long/path", "gave up (deadline)", width, 40)) <= width);
        }
    }

    #[test]
    fn the_deadline_stays_longer_than_half_of_the_bar() {
        let copying = View {
            status: Some(Status::new("copying").at(Some(45))),
            ..view()
        };
        let line = live(&copying, 95, 0);
        assert!(line.contains("████░░░░░░  45 %  copying"), "{line}");
        assert!(line.ends_with("next look in 12s · gives up in 2h58m"), "{line}");
    }

    #[test]
    fn lines_for_a_log_tell_the_change_and_the_heartbeat() {
        assert_eq!(
            change(&view()),
            "s3://my-bucket/reports/2026/summary.csv: absent (pass 4, next look in 12s)"
        );
        assert_eq!(
            heartbeat(&view()),
            "s3://my-bucket/reports/2026/summary.csv: still absent after 1m1s (pass 4, next look in 12s, gives up in 2h58m)"
        );
        let first = View {
            status: None,
            next: None,
            ..view()
        };
        assert!(change(&first).ends_with("not looked at yet (pass 4, looking)"));
    }

    #[test]
    fn short_durations_have_at_most_two_units() {
        for (seconds, text) in [
            (0, "0s"),
            (59, "59s"),
            (61, "1m1s"),
            (3_661, "1h1m"),
            (86_399, "23h59m"),
            (90_061, "1d1h"),
        ] {
            assert_eq!(short(Duration::from_secs(seconds)), text);
        }
        assert_eq!(short(Duration::from_millis(1)), "1s");
    }
}
