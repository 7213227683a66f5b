//! `matsu list`: every wait of the store.

use std::process::ExitCode;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use console::Term;
use futures::StreamExt;
use futures::stream;
use jiff::Timestamp;
use matsu_lock::{Listed, Store};
use matsu_wait::delay;
use matsu_wait::record::{PREFIX, Record, State};

use crate::args::{Common, ListArgs, ListState, Output};
use crate::failure::Failure;
use crate::progress::{middle_cut, short};
use crate::report::Document;
use crate::say;
use crate::session::Session;

/// How many records are read side by side.
const SIDE_BY_SIDE: usize = 16;

/// So much of a wait's id is shown: enough to name it.
pub(crate) const SHORT_ID: usize = 8;

/// A target longer than this is cut in its middle.
const LONGEST_TARGET: usize = 72;

/// One line of the list.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) listed: Listed,
    pub(crate) record: Result<Record, String>,
}

/// Runs the command.
pub(crate) async fn run(common: &Common, args: ListArgs) -> Result<ExitCode, Failure> {
    let session = Session::open_store(common).await?;
    let engine = session.engine().await?;
    let lines = read(&*engine.store, args.state).await?;
    let now = engine.clock.now();
    match session.output {
        Output::Json => say::json(&lines.iter().map(|line| line.document(now)).collect::<Vec<_>>())?,
        Output::Text if lines.is_empty() => say::note("there are no such waits in this store"),
        Output::Text => {
            let width = Term::stdout().size_checked().map(|(_, columns)| columns);
            say::result(table(&lines, now, width).trim_fmt())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Lists the pages and reads each record that may be wanted. What is closed is done, so nobody has to read that.
pub(crate) async fn read(store: &dyn Store, state: Option<ListState>) -> Result<Vec<Line>, Failure> {
    let mut lines = Vec::new();
    let mut after = None;
    loop {
        let page = store.list(PREFIX, after.as_deref()).await?;
        let wanted = page
            .entries
            .into_iter()
            .filter(|listed| listed.open || state != Some(ListState::Waiting));
        let mut reads = stream::iter(wanted.map(|listed| read_one(store, listed))).buffered(SIDE_BY_SIDE);
        while let Some(line) = reads.next().await {
            lines.extend(line?.filter(|line| line.is(state)));
        }
        after = page.next;
        if after.is_none() {
            return Ok(lines);
        }
    }
}

/// None: it is gone since it was listed.
async fn read_one(store: &dyn Store, listed: Listed) -> Result<Option<Line>, Failure> {
    let Some(stored) = store.get(&listed.key).await? else {
        return Ok(None);
    };
    let record = Record::from_body(&listed.key, &stored.body).map_err(|bad| bad.to_string());
    Ok(Some(Line { listed, record }))
}

impl Line {
    /// Whether it is among what was asked for; what cannot be read always is.
    fn is(&self, state: Option<ListState>) -> bool {
        match (&self.record, state) {
            (Err(_), _) | (_, None) => true,
            (Ok(record), Some(ListState::Waiting)) => record.state == State::Waiting,
            (Ok(record), Some(ListState::Done)) => record.state == State::Done,
        }
    }

    fn document(&self, now: Timestamp) -> Document {
        match &self.record {
            Ok(record) => Document::of(record, now),
            Err(why) => Document::unreadable(why.clone()),
        }
    }

    /// Id, state, target, outcome, passes, status, started, last written.
    fn cells(&self, now: Timestamp) -> [String; 8] {
        let ago = |at: Timestamp| format!("{} ago", short(delay::until(now, at)));
        let written = ago(self.listed.written);
        match &self.record {
            Ok(record) => {
                let wait = &record.wait;
                let state = match record.state {
                    State::Waiting => "waiting",
                    State::Done => "done",
                };
                let outcome = record.outcome.as_ref().map(|outcome| outcome.kind.word().to_owned());
                let status = wait.status.as_ref().map(ToString::to_string);
                [
                    wait.id.chars().take(SHORT_ID).collect(),
                    state.to_owned(),
                    middle_cut(&wait.target.to_string(), LONGEST_TARGET),
                    outcome.unwrap_or_default(),
                    record.passes().to_string(),
                    status.unwrap_or_default(),
                    ago(wait.started_at),
                    written,
                ]
            }
            Err(why) => [
                String::new(),
                "unreadable".to_owned(),
                middle_cut(&self.listed.key, LONGEST_TARGET),
                String::new(),
                String::new(),
                why.clone(),
                String::new(),
                written,
            ],
        }
    }
}

/// The list for people, folded to `width` where one is known.
fn table(lines: &[Line], now: Timestamp, width: Option<u16>) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([
        "WAIT", "STATE", "TARGET", "OUTCOME", "PASSES", "STATUS", "STARTED", "CHANGED",
    ]);
    if let Some(width) = width {
        table
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(width);
    }
    for line in lines {
        table.add_row(line.cells(now));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    if let Some(passes) = table.column_mut(4) {
        passes.set_cell_alignment(CellAlignment::Right);
    }
    table
}

#[cfg(test)]
mod tests {
    use matsu_wait::target::Seen;
    use matsu_wait::testing::{Bench, SECOND, request, target};
    use matsu_wait::wait::Status;

    use super::*;

    async fn bench() -> Bench {
        let bench = Bench::new();
        bench.look.will_see([
            Seen::Satisfied(Status::new("exists")),
            Seen::Pending(Status::new("absent")),
        ]);
        bench.start(&request("s3://my-bucket/done", "o1")).await;
        bench.turn().await;
        bench.start(&request("s3://my-bucket/open", "o2")).await;
        bench.turn().await;
        bench.clock.advance(15 * SECOND);
        bench.turn().await;
        bench
            .store
            .create(&format!("{PREFIX}nonsense.json"), b"{".to_vec())
            .await
            .unwrap();
        bench
    }

    fn targets(lines: &[Line]) -> Vec<String> {
        lines
            .iter()
            .map(|line| {
                line.record
                    .as_ref()
                    .map_or_else(Clone::clone, |r| r.wait.target.to_string())
            })
            .collect()
    }

    #[tokio::test]
    async fn all_waits_are_listed_and_what_cannot_be_read_is_shown_as_such() {
        let bench = bench().await;
        let lines = read(&*bench.store, None).await.unwrap();
        assert_eq!(lines.len(), 3);
        let now = matsu_lock::Clock::now(&*bench.clock);
        let text = table(&lines, now, None).to_string();
        for words in [
            "done",
            "completed",
            "waiting",
            "s3://my-bucket/open",
            "absent",
            "15s ago",
            "unreadable",
        ] {
            assert!(text.contains(words), "{words} is missing:\n{text}");
        }
        let documents = serde_json::to_value(lines.iter().map(|l| l.document(now)).collect::<Vec<_>>()).unwrap();
        let outcomes: Vec<_> = documents
            .as_array()
            .unwrap()
            .iter()
            .map(|d| d["outcome"].as_str())
            .collect();
        assert_eq!(outcomes.iter().flatten().collect::<Vec<_>>(), [&"completed"]);
        assert!(documents.to_string().contains("cannot be read"));
    }

    #[tokio::test]
    async fn one_state_can_be_asked_for() {
        let bench = bench().await;
        bench.store.create("waits/zz.json", b"{}".to_vec()).await.unwrap();
        let waiting = targets(&read(&*bench.store, Some(ListState::Waiting)).await.unwrap());
        assert!(
            waiting.contains(&target("s3://my-bucket/open").to_string()),
            "{waiting:?}"
        );
        assert!(
            !waiting.contains(&target("s3://my-bucket/done").to_string()),
            "{waiting:?}"
        );
        let done = targets(&read(&*bench.store, Some(ListState::Done)).await.unwrap());
        assert!(done.contains(&target("s3://my-bucket/done").to_string()), "{done:?}");
        assert!(!done.contains(&target("s3://my-bucket/open").to_string()), "{done:?}");
    }

    #[tokio::test]
    async fn a_table_is_no_wider_than_the_terminal() {
        let bench = bench().await;
        let lines = read(&*bench.store, None).await.unwrap();
        let text = table(&lines, matsu_lock::Clock::now(&*bench.clock), Some(60)).to_string();
        assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
    }
}
