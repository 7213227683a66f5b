//! AWS clients: one configuration, one HTTP stack, a client for each region that is asked for.

mod fault;
pub(crate) mod rds;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aws_config::environment::EnvironmentVariableRegionProvider;
use aws_config::meta::region::RegionProviderChain;
use aws_config::profile::ProfileFileRegionProvider;
use aws_config::retry::RetryConfig;
use aws_config::{BehaviorVersion, ConfigLoader, Region, SdkConfig};
use aws_sdk_s3::config::{Credentials, ProvideCredentials};
use aws_smithy_types::timeout::TimeoutConfig;
use tokio::sync::OnceCell;

use fault::causes;
pub use fault::{Fault, FaultKind, HttpStatus};
pub use rds::Family;

/// What people may say about their account, beside the environment and files that the SDK reads by itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// The profile of the shared configuration files.
    pub profile: Option<String>,
    /// The region.
    pub region: Option<String>,
    /// The endpoint of every service.
    pub endpoint_url: Option<String>,
    /// Whether a region is looked for in environment and files alone. Otherwise this machine's metadata service is asked,
    /// too, which takes seconds where there is none.
    pub region_from_files: bool,
}

/// The clients. Clones share them.
#[derive(Debug, Clone)]
pub struct Aws {
    config: SdkConfig,
    /// The region that somebody has named.
    region: Option<Region>,
    s3: PerRegion<aws_sdk_s3::Client>,
    rds: PerRegion<aws_sdk_rds::Client>,
    account: Arc<OnceCell<String>>,
}

/// One client for each region that was asked for; none: our own.
type PerRegion<C> = Arc<Mutex<HashMap<Option<String>, C>>>;

/// The client of a region, made on first need.
fn client<C: Clone>(clients: &PerRegion<C>, region: Option<&str>, make: impl FnOnce() -> C) -> C {
    // What the lock guards is whole at any moment, also after a panic elsewhere.
    let mut clients = clients.lock().unwrap_or_else(PoisonError::into_inner);
    clients.entry(region.map(str::to_owned)).or_insert_with(make).clone()
}

/// What all configurations have in common: one HTTP stack, and limits that fit a pass.
fn loader() -> ConfigLoader {
    let http = aws_smithy_http_client::Builder::new()
        .tls_provider(aws_smithy_http_client::tls::Provider::Rustls(
            aws_smithy_http_client::tls::rustls_provider::CryptoMode::Ring,
        ))
        .build_https();
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(Duration::from_secs(2))
        .operation_attempt_timeout(Duration::from_secs(4))
        .operation_timeout(Duration::from_secs(9))
        .build();
    aws_config::defaults(BehaviorVersion::latest())
        .http_client(http)
        .timeout_config(timeouts)
        .retry_config(RetryConfig::standard().with_max_attempts(3))
}

/// Where requests go that need any region where nobody has named one: it never becomes a target's.
pub(crate) const ANY_REGION: &str = "us-east-1";

/// The region that environment and files name.
async fn region_of_files(profile: Option<&str>) -> Option<Region> {
    let mut files = ProfileFileRegionProvider::builder();
    if let Some(profile) = profile {
        files = files.profile_name(profile);
    }
    let environment = EnvironmentVariableRegionProvider::new();
    RegionProviderChain::first_try(environment)
        .or_else(files.build())
        .region()
        .await
}

/// The shared configuration files of somebody who has none.
#[expect(
    deprecated,
    reason = "the loader takes them by these names; the new ones are in a crate of its own"
)]
fn no_files() -> aws_config::profile::profile_file::ProfileFiles {
    use aws_config::profile::profile_file::{ProfileFileKind, ProfileFiles};
    ProfileFiles::builder()
        .with_contents(ProfileFileKind::Config, "")
        .build()
}

impl Aws {
    /// Reads the configuration (environment, files, role) without any request.
    pub async fn load(options: &Options) -> Self {
        let mut loader = loader();
        if let Some(profile) = &options.profile {
            loader = loader.profile_name(profile);
        }
        let named = match &options.region {
            Some(region) => Some(Region::new(region.clone())),
            None if options.region_from_files => region_of_files(options.profile.as_deref()).await,
            None => None,
        };
        if named.is_some() || options.region_from_files {
            // Left without a region, the source of credentials would ask the metadata service for one.
            loader = loader.region(named.clone().unwrap_or(Region::from_static(ANY_REGION)));
        }
        if let Some(url) = &options.endpoint_url {
            loader = loader.endpoint_url(url);
        }
        let aws = Self::new(loader.load().await);
        if options.region_from_files {
            Self { region: named, ..aws }
        } else {
            aws
        }
    }

    /// Clients of a server of this machine: region and credentials are made up, nothing of the user's environment and
    /// files is heeded, and nobody else is asked.
    pub async fn loopback(endpoint_url: &str) -> Self {
        let nobody = Credentials::new("loopback", "loopback", None, None, "loopback");
        let loader = loader()
            .profile_files(no_files())
            .region(Region::from_static(ANY_REGION))
            .credentials_provider(nobody)
            .endpoint_url(endpoint_url)
            .use_fips(false)
            .use_dual_stack(false);
        Self::new(loader.load().await)
    }

    /// The clients of a configuration that is complete.
    #[must_use]
    pub fn new(config: SdkConfig) -> Self {
        Self {
            region: config.region().cloned(),
            config,
            s3: PerRegion::default(),
            rds: PerRegion::default(),
            account: Arc::default(),
        }
    }

    /// What all clients share.
    pub(crate) fn config(&self) -> &SdkConfig {
        &self.config
    }

    /// The region that everything happens in unless said otherwise.
    #[must_use]
    pub fn region(&self) -> Option<&str> {
        self.region.as_ref().map(Region::as_ref)
    }

    /// S3 in `region`, or in our own. A custom endpoint is addressed by path: it seldom answers to `bucket.host`.
    #[must_use]
    pub fn s3(&self, region: Option<&str>) -> aws_sdk_s3::Client {
        client(&self.s3, region, || {
            let mut config = aws_sdk_s3::config::Builder::from(&self.config);
            if let Some(region) = region {
                config = config.region(aws_sdk_s3::config::Region::new(region.to_owned()));
            }
            if self.config.endpoint_url().is_some() {
                config = config.force_path_style(true);
            }
            aws_sdk_s3::Client::from_conf(config.build())
        })
    }

    /// RDS in `region`.
    #[must_use]
    pub fn rds(&self, region: &str) -> aws_sdk_rds::Client {
        client(&self.rds, Some(region), || {
            let config = aws_sdk_rds::config::Builder::from(&self.config)
                .region(aws_sdk_rds::config::Region::new(region.to_owned()));
            aws_sdk_rds::Client::from_conf(config.build())
        })
    }

    /// SQS.
    #[must_use]
    pub fn sqs(&self) -> aws_sdk_sqs::Client {
        aws_sdk_sqs::Client::new(&self.config)
    }

    /// KMS.
    #[must_use]
    pub fn kms(&self) -> aws_sdk_kms::Client {
        aws_sdk_kms::Client::new(&self.config)
    }

    /// The parameters of SSM in `region`, or in our own.
    #[must_use]
    pub fn ssm(&self, region: Option<&str>) -> aws_sdk_ssm::Client {
        let mut config = aws_sdk_ssm::config::Builder::from(&self.config);
        if let Some(region) = region {
            config = config.region(aws_sdk_ssm::config::Region::new(region.to_owned()));
        }
        aws_sdk_ssm::Client::from_conf(config.build())
    }

    /// Secrets Manager in `region`, or in our own.
    #[must_use]
    pub fn secretsmanager(&self, region: Option<&str>) -> aws_sdk_secretsmanager::Client {
        let mut config = aws_sdk_secretsmanager::config::Builder::from(&self.config);
        if let Some(region) = region {
            config = config.region(aws_sdk_secretsmanager::config::Region::new(region.to_owned()));
        }
        aws_sdk_secretsmanager::Client::from_conf(config.build())
    }

    /// Whether there are credentials at all, as far as can be told without asking a service for anything with them.
    ///
    /// # Errors
    /// The fault, of [`FaultKind::Credentials`].
    pub async fn credentials(&self) -> Result<(), Fault> {
        let none = |message: String| Fault {
            kind: FaultKind::Credentials,
            code: None,
            status: None,
            message,
        };
        let provider = self.config.credentials_provider();
        let provider = provider.ok_or_else(|| none("no source of credentials is set up".to_owned()))?;
        let credentials = provider.provide_credentials().await;
        credentials.map(|_| ()).map_err(|error| {
            let words = causes(&error);
            // The SDK lists every place where it has looked, with all that it met there.
            let nowhere = words.contains("no credentials found in chain");
            none(if nowhere {
                "none in the environment, in a profile or on this machine".to_owned()
            } else {
                words
            })
        })
    }

    /// The account that the credentials belong to; STS is asked once.
    ///
    /// # Errors
    /// The fault of the request.
    pub async fn account(&self) -> Result<String, Fault> {
        self.account.get_or_try_init(|| self.ask_account()).await.cloned()
    }

    async fn ask_account(&self) -> Result<String, Fault> {
        let answer = aws_sdk_sts::Client::new(&self.config)
            .get_caller_identity()
            .send()
            .await
            .map_err(|e| Fault::of(&e))?;
        answer.account.ok_or_else(|| Fault {
            kind: FaultKind::Other,
            code: None,
            status: None,
            message: "STS named no account".to_owned(),
        })
    }
}
