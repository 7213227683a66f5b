//! From a request to the snapshot that the copy will be, and the job that makes it.

use jiff::Timestamp;

use super::name::{self, Words};
use super::{CopyRequest, RdsCopy, RdsJobs, region_named, set};
use crate::aws::rds::Described;
use crate::aws::{Aws, Family, FaultKind};
use crate::job::{Job, PrepareError};
use crate::target::{Here, RdsSnapshot, Target};
use crate::wait::Extra;

impl RdsJobs {
    /// Makes a request complete. Everything but the creation time is read off the request and the settings.
    pub(super) async fn complete(&self, aws: &Aws, request: &CopyRequest) -> Result<(Target, Job), PrepareError> {
        let own = self.here.own_account(aws).await.map_err(|fault| {
            PrepareError::Later(format!(
                "the account that the copy will be in could not be asked: {fault}"
            ))
        })?;
        let source = self.source(request, &own).map_err(PrepareError::Bad)?;
        let tags = request.tags.as_ref().unwrap_or(&self.settings.tags).clone();
        tags.check().map_err(PrepareError::Bad)?;
        // Any day will do to see whether the copy can be: what cannot is refused before RDS is asked.
        let copy_made = |day| self.copy_of(&source, day, request, &own).map_err(PrepareError::Bad);
        copy_made(Some(Timestamp::UNIX_EPOCH))?;

        let found = self.look_at(aws, &source, &own).await?;
        let created = found.as_ref().ok().and_then(Described::first_made);
        if created.is_none() && set(request.to.as_deref()).is_none() && name::needs_date(&self.settings.name) {
            let template = &self.settings.name;
            return Err(match found {
                Ok(_) => PrepareError::Later(format!(
                    "the name {template:?} takes a {{date}}, and {source} has none yet"
                )),
                Err(why) => PrepareError::Bad(format!("the name {template:?} takes a {{date}}, and {why}")),
            });
        }

        if request.by_event
            && let Some(why) = self.copied_already(&source, found.as_ref().ok())
        {
            return Err(PrepareError::Unwanted(why));
        }
        let copy = copy_made(created)?;
        let key = set(request.kms_key.as_deref()).or_else(|| set(self.settings.kms_key.as_deref()));
        let of = |family| {
            found
                .as_ref()
                .ok()
                .filter(|_| source.family == family)
                .and_then(|found| found.of.clone())
        };
        let job = RdsCopy {
            source: source.arn(),
            source_created: created,
            source_instance: of(Family::Instance),
            source_cluster: of(Family::Cluster),
            kms_key: key.map(str::to_owned),
            tags,
            extra: Extra::new(),
        };
        Ok((Target::from(copy), Job::RdsCopy(Box::new(job))))
    }

    /// Why the source looks like a copy itself, if it does: RDS says so of some, and the name template says so of
    /// ours. A copy of a copy would be the source of the next one.
    fn copied_already(&self, source: &RdsSnapshot, found: Option<&Described>) -> Option<String> {
        if let Some(from) = found.and_then(|found| found.source.as_deref()) {
            return Some(format!("{source} is a copy of {from}"));
        }
        let template = &self.settings.name;
        name::is_made_by(template, &source.id)
            .then(|| format!("{source} has the name of a copy by the template {template:?}"))
    }

    /// The source as the request names it.
    fn source(&self, request: &CopyRequest, account: &str) -> Result<RdsSnapshot, String> {
        let text = request.source.trim();
        if text.is_empty() {
            return Err("source is missing: it takes the id or the ARN of a snapshot".to_owned());
        }
        let given = set(request.source_region.as_deref());
        if let Some(region) = given {
            region_named("source_region", region)?;
        }
        let here = Here {
            region: given.map(str::to_owned).or_else(|| self.here.region.clone()),
            account: Some(account.to_owned()),
        };
        let written = ["arn:", "rds:snapshot/", "rds:cluster-snapshot/"];
        let source = if written.iter().any(|start| text.starts_with(start)) {
            RdsSnapshot::written(text, &here)
        } else {
            RdsSnapshot::short(Family::Instance, text, &here)
        }
        .map_err(|e| format!("source: {e}"))?;
        match given {
            Some(region) if region != source.region => {
                Err(format!("source_region is {region:?}, but source is {text}"))
            }
            _ => Ok(source),
        }
    }

    /// The snapshot that the copy will be; `created` is when the source was first made.
    fn copy_of(
        &self,
        source: &RdsSnapshot,
        created: Option<Timestamp>,
        request: &CopyRequest,
        account: &str,
    ) -> Result<RdsSnapshot, String> {
        let id = match set(request.to.as_deref()) {
            Some(to) => name::check(to, source.family)
                .map(|()| to.to_owned())
                .map_err(|why| format!("to is {to:?}, and {why}"))?,
            None => {
                let date = created.map(|at| at.to_string()[..10].to_owned());
                let words = Words {
                    id: &source.id,
                    date: date.as_deref(),
                    region: &source.region,
                };
                name::expand(&self.settings.name, words, source.family)?
            }
        };
        let region = set(request.to_region.as_deref())
            .or_else(|| set(self.settings.to_region.as_deref()))
            .unwrap_or(&source.region);
        region_named("the region of the copy", region)?;
        let copy = RdsSnapshot {
            family: source.family,
            id,
            region: region.to_owned(),
            account: account.to_owned(),
            partition: source.partition.clone(),
            extra: Extra::new(),
        };
        if copy.partition() != source.partition() {
            return Err(format!(
                "{source} cannot be copied to {region}: that is in another partition"
            ));
        }
        if copy.is(&source.arn()) {
            return Err(format!(
                "{source} cannot be copied onto itself: set another name or region"
            ));
        }
        Ok(copy)
    }

    /// Looks at the source. Not found and denied are no obstacle yet: RDS itself will say so, and may know better.
    async fn look_at(
        &self,
        aws: &Aws,
        source: &RdsSnapshot,
        own: &str,
    ) -> Result<Result<Described, String>, PrepareError> {
        match source.describe(aws, Some(own)).await {
            Ok(Some(found)) => Ok(Ok(found)),
            Ok(None) => Ok(Err(format!("{source} was not found"))),
            Err(fault) if fault.may_pass() => {
                Err(PrepareError::Later(format!("{source} could not be looked at: {fault}")))
            }
            Err(fault) if fault.kind == FaultKind::Denied => {
                Ok(Err(format!("{fault} ({})", source.allow_describing())))
            }
            Err(fault) => Ok(Err(format!("{source}: {fault}"))),
        }
    }
}
