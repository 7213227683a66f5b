//! RDS's Query API in miniature: snapshots, copies that take several looks, and the faults that a test asks for.
//!
//! What is answered follows the API reference: a filter that matches nothing is an empty list while an id that matches
//! nothing is an error; a copy keeps the time at which its original was made, and tells its source's ARN.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use matsu_lock::{Clock as _, SystemClock};

use crate::http::{Answer, Call, Server, StatusCode, answer};
use crate::servers::ACCOUNT;

/// What kind of snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Instance,
    Cluster,
}

impl Kind {
    /// What the API's names of this kind begin with.
    fn noun(self) -> &'static str {
        match self {
            Self::Instance => "DBSnapshot",
            Self::Cluster => "DBClusterSnapshot",
        }
    }

    fn arn(self, region: &str, id: &str) -> String {
        let word = match self {
            Self::Instance => "snapshot",
            Self::Cluster => "cluster-snapshot",
        };
        format!("arn:aws:rds:{region}:{ACCOUNT}:{word}:{id}")
    }

    fn longest(self) -> usize {
        match self {
            Self::Instance => 255,
            Self::Cluster => 63,
        }
    }

    fn filter(self) -> &'static str {
        match self {
            Self::Instance => "db-snapshot-id",
            Self::Cluster => "db-cluster-snapshot-id",
        }
    }
}

#[derive(Debug, Clone)]
struct Snapshot {
    kind: Kind,
    region: String,
    id: String,
    created: Timestamp,
    original_created: Timestamp,
    source: Option<String>,
    kms_key: Option<String>,
    tags: BTreeMap<String, String>,
    /// Status and percent at the coming looks; the last one stays.
    looks: VecDeque<(String, u8)>,
}

/// A request that came.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) action: String,
    pub(crate) region: String,
    pub(crate) parameters: BTreeMap<String, String>,
}

impl Asked {
    fn get(&self, name: &str) -> Option<&str> {
        self.parameters.get(name).map(String::as_str)
    }

    /// The values of a list parameter such as `Filters.Filter.1.Values.Value.N`.
    fn list(&self, prefix: &str) -> Vec<&str> {
        (1..).map_while(|n| self.get(&format!("{prefix}.{n}"))).collect()
    }
}

#[derive(Debug, Default)]
struct State {
    snapshots: Vec<Snapshot>,
    scripts: HashMap<String, Vec<(String, u8)>>,
    /// Action, code and how often.
    faults: Vec<(String, String, usize)>,
    asked: Vec<Asked>,
}

/// The stub.
#[derive(Debug)]
pub(crate) struct Rds {
    server: Server,
    state: Arc<Mutex<State>>,
}

/// Code and message of a refusal.
type Refusal = (&'static str, String);

impl Rds {
    pub(crate) async fn start() -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let handler = Arc::clone(&state);
        let server = Server::start(move |call: Call| {
            let asked = read(&call);
            let answer = handler.lock().expect("no test panicked here").take(asked);
            std::future::ready(Some(answer))
        })
        .await;
        Self { server, state }
    }

    /// Its address.
    pub(crate) fn url(&self) -> String {
        self.server.url()
    }

    /// Adds a snapshot that nothing was copied to make, available unless there is a script for it; answers its ARN.
    pub(crate) fn holds(&self, kind: Kind, region: &str, id: &str) -> String {
        let created = SystemClock.now();
        self.change(|state| {
            let looks = state.looks(id);
            state.snapshots.push(Snapshot {
                kind,
                region: region.to_owned(),
                id: id.to_owned(),
                created,
                original_created: created,
                source: None,
                kms_key: None,
                tags: BTreeMap::new(),
                looks,
            });
        });
        kind.arn(region, id)
    }

    /// What the coming looks at a snapshot of this name see; the last one stays.
    pub(crate) fn script(&self, id: &str, looks: &[(&str, u8)]) {
        let looks = looks
            .iter()
            .map(|(status, percent)| ((*status).to_owned(), *percent))
            .collect();
        self.change(|state| state.scripts.insert(id.to_owned(), looks));
    }

    /// Answers the next `times` requests of this action with this code.
    pub(crate) fn refuse(&self, action: &str, code: &str, times: usize) {
        self.change(|state| state.faults.push((action.to_owned(), code.to_owned(), times)));
    }

    /// The requests of this action, in order.
    pub(crate) fn asked(&self, action: &str) -> Vec<Asked> {
        self.change(|state| state.asked.iter().filter(|a| a.action == action).cloned().collect())
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock().expect("no test panicked here"))
    }
}

/// Reads action and parameters from the form, and the region from the credential scope.
fn read(call: &Call) -> Asked {
    let parameters: BTreeMap<String, String> = form_urlencoded::parse(call.body()).into_owned().collect();
    let region = call
        .headers()
        .get("authorization")
        .and_then(|v| v.to_str().ok())
        .and_then(|v| v.split("Credential=").nth(1)?.split('/').nth(2))
        .unwrap_or("unsigned");
    Asked {
        action: parameters.get("Action").cloned().unwrap_or_default(),
        region: region.to_owned(),
        parameters,
    }
}

impl State {
    /// What the looks at a new snapshot of this name see.
    fn looks(&self, id: &str) -> VecDeque<(String, u8)> {
        let script = self.scripts.get(id).cloned();
        script.unwrap_or_else(|| vec![("available".to_owned(), 100)]).into()
    }

    fn take(&mut self, asked: Asked) -> Answer {
        self.asked.push(asked.clone());
        let fault = self
            .faults
            .iter_mut()
            .find(|(action, _, left)| *action == asked.action && *left > 0);
        if let Some((_, code, left)) = fault {
            *left -= 1;
            return refusal(&code.clone(), "Refused by the test.");
        }
        let done = match asked.action.as_str() {
            "DescribeDBSnapshots" => self.describe(Kind::Instance, &asked),
            "DescribeDBClusterSnapshots" => self.describe(Kind::Cluster, &asked),
            "CopyDBSnapshot" => self.copy(Kind::Instance, &asked),
            "CopyDBClusterSnapshot" => self.copy(Kind::Cluster, &asked),
            "ListTagsForResource" => self.tags(&asked),
            other => Err(("InvalidAction", format!("no action {other}"))),
        };
        match done {
            Ok(result) => {
                let action = &asked.action;
                let body = format!(
                    "<{action}Response xmlns=\"http://rds.amazonaws.com/doc/2014-10-31/\"><{action}Result>{result}</{action}Result>\
                     <ResponseMetadata><RequestId>00000000-0000-4000-8000-000000000000</RequestId></ResponseMetadata></{action}Response>"
                );
                answer(StatusCode::OK, "text/xml", body)
            }
            Err((code, message)) => refusal(code, &message),
        }
    }

    fn describe(&mut self, kind: Kind, asked: &Asked) -> Result<String, Refusal> {
        let noun = kind.noun();
        let wanted: Option<Vec<&str>> = match asked.get(&format!("{noun}Identifier")) {
            Some(id) => Some(vec![id]),
            None if asked.get("Filters.Filter.1.Name") == Some(kind.filter()) => {
                Some(asked.list("Filters.Filter.1.Values.Value"))
            }
            None if asked.get("Filters.Filter.1.Name").is_some() => {
                return Err(("InvalidParameterValue", "Unrecognized filter name".to_owned()));
            }
            None => None,
        };
        let mut list = String::new();
        for snapshot in &mut self.snapshots {
            let is_wanted = wanted
                .as_ref()
                .is_none_or(|w| w.iter().any(|id| *id == snapshot.id || *id == snapshot.arn()));
            if snapshot.kind == kind && snapshot.region == asked.region && is_wanted {
                list += &snapshot.look();
            }
        }
        match asked.get(&format!("{noun}Identifier")) {
            Some(id) if list.is_empty() => Err((kind.not_found(), format!("{noun} {id} not found."))),
            _ => Ok(format!("<{noun}s>{list}</{noun}s>")),
        }
    }

    fn copy(&mut self, kind: Kind, asked: &Asked) -> Result<String, Refusal> {
        let noun = kind.noun();
        let missing = |name: &str| {
            (
                "MissingParameter",
                format!("The request must contain the parameter {name}"),
            )
        };
        let source_name = format!("Source{noun}Identifier");
        let target_name = format!("Target{noun}Identifier");
        let source = asked.get(&source_name).ok_or_else(|| missing(&source_name))?;
        let id = asked.get(&target_name).ok_or_else(|| missing(&target_name))?;
        if !is_legal(id) || id.len() > kind.longest() {
            return Err((
                "InvalidParameterValue",
                format!("The parameter {target_name} is not a valid identifier."),
            ));
        }
        if self
            .snapshots
            .iter()
            .any(|s| s.kind == kind && s.region == asked.region && s.id == id)
        {
            return Err((
                kind.exists(),
                format!("Cannot create the snapshot because one with the identifier {id} already exists."),
            ));
        }
        let original = self
            .snapshots
            .iter()
            .find(|s| s.kind == kind && (s.arn() == source || (s.region == asked.region && s.id == source)))
            .ok_or_else(|| (kind.not_found(), format!("{noun} {source} not found.")))?;
        let mut tags = BTreeMap::new();
        if asked.get("CopyTags") == Some("true") {
            tags.clone_from(&original.tags);
        }
        for n in 1.. {
            let Some(key) = asked.get(&format!("Tags.Tag.{n}.Key")) else {
                break;
            };
            let value = asked.get(&format!("Tags.Tag.{n}.Value")).unwrap_or_default();
            tags.insert(key.to_owned(), value.to_owned());
        }
        let copy = Snapshot {
            kind,
            region: asked.region.clone(),
            id: id.to_owned(),
            created: SystemClock.now(),
            original_created: original.original_created,
            source: Some(original.arn()),
            kms_key: asked.get("KmsKeyId").map(str::to_owned),
            tags,
            looks: self.looks(id),
        };
        let shown = copy.xml("pending", 0);
        self.snapshots.push(copy);
        Ok(shown)
    }

    fn tags(&self, asked: &Asked) -> Result<String, Refusal> {
        let arn = asked.get("ResourceName").unwrap_or_default();
        let snapshot = self
            .snapshots
            .iter()
            .find(|s| s.arn() == arn)
            .ok_or_else(|| ("DBSnapshotNotFound", format!("{arn} not found.")))?;
        Ok(snapshot.tag_list())
    }
}

impl Kind {
    /// What names the source in a description of a copy.
    fn source(self) -> &'static str {
        match self {
            Self::Instance => "SourceDBSnapshotIdentifier",
            Self::Cluster => "SourceDBClusterSnapshotArn",
        }
    }

    fn not_found(self) -> &'static str {
        match self {
            Self::Instance => "DBSnapshotNotFound",
            Self::Cluster => "DBClusterSnapshotNotFoundFault",
        }
    }

    fn exists(self) -> &'static str {
        match self {
            Self::Instance => "DBSnapshotAlreadyExists",
            Self::Cluster => "DBClusterSnapshotAlreadyExistsFault",
        }
    }
}

impl Snapshot {
    fn arn(&self) -> String {
        self.kind.arn(&self.region, &self.id)
    }

    /// What this look sees; the next one sees the next.
    fn look(&mut self) -> String {
        let (status, percent) = match self.looks.len() {
            0 | 1 => self.looks.front().cloned().expect("a script has a last look"),
            _ => self.looks.pop_front().expect("it has two"),
        };
        self.xml(&status, percent)
    }

    fn xml(&self, status: &str, percent: u8) -> String {
        let noun = self.kind.noun();
        let kind = if self.source.is_none() && self.id.contains(':') {
            "automated"
        } else {
            "manual"
        };
        let mut xml = format!(
            "<{noun}><{noun}Identifier>{}</{noun}Identifier><{noun}Arn>{}</{noun}Arn><Status>{status}</Status>\
             <PercentProgress>{percent}</PercentProgress><SnapshotType>{kind}</SnapshotType>\
             <SnapshotCreateTime>{}</SnapshotCreateTime>",
            self.id,
            self.arn(),
            self.created,
        );
        if self.kind == Kind::Instance {
            let _ = write!(
                xml,
                "<OriginalSnapshotCreateTime>{}</OriginalSnapshotCreateTime>",
                self.original_created
            );
        }
        if let Some(source) = &self.source {
            let name = self.kind.source();
            let _ = write!(xml, "<{name}>{source}</{name}>");
        }
        if let Some(key) = &self.kms_key {
            let _ = write!(xml, "<KmsKeyId>{key}</KmsKeyId>");
        }
        xml + &self.tag_list() + &format!("</{noun}>")
    }

    fn tag_list(&self) -> String {
        let tags: String = self
            .tags
            .iter()
            .map(|(key, value)| format!("<Tag><Key>{key}</Key><Value>{value}</Value></Tag>"))
            .collect();
        format!("<TagList>{tags}</TagList>")
    }
}

/// Whether a copy may be called so: a letter first, letters, digits and single hyphens, none at the end.
fn is_legal(id: &str) -> bool {
    id.starts_with(|c: char| c.is_ascii_alphabetic())
        && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
        && !id.contains("--")
        && !id.ends_with('-')
}

fn refusal(code: &str, message: &str) -> Answer {
    let status = if code.contains("NotFound") {
        StatusCode::NOT_FOUND
    } else {
        StatusCode::BAD_REQUEST
    };
    let body = format!(
        "<ErrorResponse xmlns=\"http://rds.amazonaws.com/doc/2014-10-31/\"><Error><Type>Sender</Type><Code>{code}</Code>\
         <Message>{message}</Message></Error><RequestId>00000000-0000-4000-8000-000000000000</RequestId></ErrorResponse>"
    );
    answer(status, "text/xml", body)
}
