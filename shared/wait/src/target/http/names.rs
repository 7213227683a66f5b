//! Names to addresses: only those that may be asked come through, and the connection is made to no others.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::pin::Pin;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::allow::{Allow, forbidden};

/// The seam to whoever knows the addresses of names.
pub(super) trait Names: Send + Sync + std::fmt::Debug {
    /// The addresses of a host.
    fn addresses(&self, host: String) -> Found;
}

/// Addresses, in a while.
pub(super) type Found = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// This machine's own resolver.
#[derive(Debug)]
pub(super) struct System;

impl Names for System {
    fn addresses(&self, host: String) -> Found {
        Box::pin(async move {
            let look_up = move || (host.as_str(), 0).to_socket_addrs();
            let found = tokio::task::spawn_blocking(look_up).await.map_err(io::Error::other)??;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// The resolver of a client. A name is looked up once for a connection, so no second answer can lead elsewhere.
#[derive(Debug, Clone)]
pub(super) struct Checked {
    pub(super) names: Arc<dyn Names>,
    pub(super) allow: Allow,
    /// Whether only what is allowed by name may be asked, also on the internet: plain `http`.
    pub(super) only_allowed: bool,
}

/// None of a host's addresses may be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{host} is at {address}, which is {what}: MATSU_HTTP_ALLOW would have to name the host or its network")]
pub(super) struct Refused {
    host: String,
    address: IpAddr,
    what: &'static str,
}

impl Checked {
    /// Those of a host's addresses that may be asked.
    fn check(&self, host: &str, found: Vec<IpAddr>) -> Result<Vec<IpAddr>, Refused> {
        if self.allow.host(host) {
            return Ok(found);
        }
        let refusal = |address: IpAddr| match forbidden(address) {
            _ if self.allow.address(address) => None,
            None if self.only_allowed => Some("asked by plain http"),
            what => what,
        };
        let first = found.iter().find_map(|address| Some((*address, refusal(*address)?)));
        let usable: Vec<_> = found
            .into_iter()
            .filter(|address| refusal(*address).is_none())
            .collect();
        match first {
            Some((address, what)) if usable.is_empty() => Err(Refused {
                host: host.to_owned(),
                address,
                what,
            }),
            _ => Ok(usable),
        }
    }
}

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let checked = self.clone();
        Box::pin(async move {
            let host = name.as_str();
            let found = checked.names.addresses(host.to_owned()).await?;
            let usable = checked.check(host, found)?;
            // Port 0 is the URL's own.
            let addresses: Addrs = Box::new(usable.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(addresses)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(allow: &str, only_allowed: bool, found: &[&str]) -> Result<Vec<String>, String> {
        let checked = Checked {
            names: Arc::new(System),
            allow: Allow::parse(allow).unwrap(),
            only_allowed,
        };
        let found = found.iter().map(|address| address.parse().unwrap()).collect();
        let usable = checked.check("status.example.test", found);
        usable
            .map(|usable| usable.iter().map(ToString::to_string).collect())
            .map_err(|refused| refused.to_string())
    }

    #[test]
    fn only_addresses_that_may_be_asked_come_through() {
        for (allow, only_allowed, found, usable) in [
            ("", false, &["1.1.1.1", "10.0.0.1"][..], &["1.1.1.1"][..]),
            ("", false, &["::1", "2606:4700::1111"], &["2606:4700::1111"]),
            ("10.0.0.0/8", false, &["10.0.0.1", "1.1.1.1"], &["10.0.0.1", "1.1.1.1"]),
            ("10.0.0.0/8", true, &["10.0.0.1", "1.1.1.1"], &["10.0.0.1"]),
            (
                "status.example.test",
                true,
                &["127.0.0.1", "1.1.1.1"],
                &["127.0.0.1", "1.1.1.1"],
            ),
            ("", false, &[], &[]),
        ] {
            let usable = usable.iter().map(ToString::to_string).collect::<Vec<_>>();
            assert_eq!(check(allow, only_allowed, found), Ok(usable), "{found:?}");
        }
    }

    #[test]
    fn a_host_with_no_other_address_is_refused_with_what_it_is() {
        for (allow, only_allowed, found, says) in [
            (
                "",
                false,
                &["169.254.169.254"][..],
                "is at 169.254.169.254, which is the cloud's metadata service",
            ),
            (
                "",
                false,
                &["10.0.0.1", "127.0.0.1"],
                "is at 10.0.0.1, which is private",
            ),
            ("10.0.0.0/8", false, &["::1"], "which is this machine"),
            ("10.0.0.0/8", true, &["1.1.1.1"], "which is asked by plain http"),
            ("other.test", false, &["::ffff:127.0.0.1"], "which is this machine"),
        ] {
            let refused = check(allow, only_allowed, found).unwrap_err();
            assert!(
                refused.contains(says) && refused.contains("MATSU_HTTP_ALLOW"),
                "{refused}"
            );
        }
    }
}
