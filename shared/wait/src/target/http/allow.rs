//! Which hosts and addresses may be asked: pure.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// Hosts and networks that may be asked although they are private, also by plain `http` (`MATSU_HTTP_ALLOW`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Allow {
    hosts: Vec<String>,
    nets: Vec<IpNet>,
}

impl Allow {
    /// Reads hosts and networks, comma separated: `build.internal, 10.1.0.0/16, fd12::/16, 127.0.0.1`.
    ///
    /// # Errors
    /// What is wrong, to be put behind the name of the value.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut allow = Self::default();
        for item in text.split(',').map(str::trim).filter(|item| !item.is_empty()) {
            let bare = item.strip_prefix('[').and_then(|item| item.strip_suffix(']'));
            if let Ok(address) = bare.unwrap_or(item).parse::<IpAddr>() {
                allow.nets.push(IpNet::from(address.to_canonical()));
            } else if let Ok(net) = item.parse::<IpNet>() {
                allow.nets.push(net.trunc());
            } else if let Some(host) = host_name(item) {
                allow.hosts.push(host);
            } else {
                return Err(format!(
                    "has {item:?}: it takes hosts such as build.internal and networks such as 10.0.0.0/8, comma separated"
                ));
            }
        }
        Ok(allow)
    }

    /// Whether a host of this name may be asked wherever it is.
    #[must_use]
    pub(super) fn host(&self, host: &str) -> bool {
        self.hosts.iter().any(|allowed| allowed == host.trim_end_matches('.'))
    }

    /// Whether this address may be asked under whatever name.
    #[must_use]
    pub(super) fn address(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.nets.iter().any(|net| net.contains(&address))
    }

    /// Whether a name that is not listed may turn out to be allowed by its address.
    #[must_use]
    pub(super) fn has_networks(&self) -> bool {
        !self.nets.is_empty()
    }
}

/// A host's name in lower case, if it is one: the URL parser's own idea of it, nothing else beside it.
fn host_name(text: &str) -> Option<String> {
    let url = reqwest::Url::parse(&format!("https://{text}/")).ok()?;
    let host = url.host_str()?.to_owned();
    let plain = url.as_str() == format!("https://{host}/");
    let letters = host
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'));
    let is_address = host.parse::<IpAddr>().is_ok();
    (plain && letters && !is_address).then(|| host.trim_end_matches('.').to_owned())
}

/// What an address is that must not be asked unless it is allowed; none: it is out on the internet.
#[must_use]
pub(super) fn forbidden(address: IpAddr) -> Option<&'static str> {
    match address.to_canonical() {
        IpAddr::V4(v4) => forbidden_v4(v4),
        IpAddr::V6(v6) => forbidden_v6(v6),
    }
}

/// Networks of special use, and what they are. The first that fits counts.
const V4: [(&str, &str); 20] = [
    ("0.0.0.0/8", "unspecified"),
    ("127.0.0.0/8", "this machine"),
    ("169.254.169.254/32", "the cloud's metadata service"),
    ("169.254.170.2/32", "the credentials of a container"),
    ("169.254.0.0/16", "link-local"),
    ("10.0.0.0/8", "private"),
    ("172.16.0.0/12", "private"),
    ("192.168.0.0/16", "private"),
    ("100.100.100.200/32", "the cloud's metadata service"),
    ("100.64.0.0/10", "a carrier's private network"),
    ("168.63.129.16/32", "the cloud's metadata service"),
    ("192.0.0.0/24", "of special use"),
    ("192.0.2.0/24", "for documentation"),
    ("198.51.100.0/24", "for documentation"),
    ("203.0.113.0/24", "for documentation"),
    ("192.88.99.0/24", "a relay"),
    ("198.18.0.0/15", "for benchmarks"),
    ("224.0.0.0/4", "multicast"),
    ("255.255.255.255/32", "broadcast"),
    ("240.0.0.0/4", "reserved"),
];

const V6: [(&str, &str); 15] = [
    ("::/128", "unspecified"),
    ("::1/128", "this machine"),
    ("fd00:ec2::254/128", "the cloud's metadata service"),
    ("fd20:ce::254/128", "the cloud's metadata service"),
    ("fc00::/7", "private"),
    ("fe80::/10", "link-local"),
    ("fec0::/10", "private"),
    ("ff00::/8", "multicast"),
    ("64:ff9b:1::/48", "a private translation"),
    ("2001:db8::/32", "for documentation"),
    ("3fff::/20", "for documentation"),
    // Among them tunnels (Teredo) and benchmarks.
    ("2001::/23", "of special use"),
    ("100::/64", "discarded"),
    ("5f00::/16", "of special use"),
    ("2620:4f:8000::/48", "of special use"),
];

fn forbidden_v4(address: Ipv4Addr) -> Option<&'static str> {
    let within = |net: &str| net.parse::<Ipv4Net>().is_ok_and(|net| net.contains(&address));
    V4.iter().find(|(net, _)| within(net)).map(|(_, what)| *what)
}

fn forbidden_v6(address: Ipv6Addr) -> Option<&'static str> {
    let within = |net: &str| net.parse::<Ipv6Net>().is_ok_and(|net| net.contains(&address));
    if let Some((_, what)) = V6.iter().find(|(net, _)| within(net)) {
        return Some(what);
    }
    match embedded_v4(address) {
        Some(v4) => forbidden_v4(v4),
        // What is not given out for the internet, the old IPv4-compatible form among it.
        None => (!within("2000::/3")).then_some("of no known use"),
    }
}

/// The IPv4 address that packets to a translated (NAT64) or tunnelled (6to4) address end at.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let octets = address.octets();
    let at = |from: usize| Ipv4Addr::new(octets[from], octets[from + 1], octets[from + 2], octets[from + 3]);
    match address.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, _, _] => Some(at(12)),
        [0x2002, ..] => Some(at(2)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allow(text: &str) -> Allow {
        Allow::parse(text).unwrap()
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn hosts_and_networks_are_told_apart() {
        let allow = allow("build.internal, 10.1.2.3/8 ,, [::1],127.0.0.1,fd12::/16,localhost,EXAMPLE.test.");
        for host in ["build.internal", "build.internal.", "localhost", "example.test"] {
            assert!(allow.host(host), "{host}");
        }
        for host in ["internal", "x.build.internal", "build.internal.evil.test", "10.1.2.3"] {
            assert!(!allow.host(host), "{host}");
        }
        for address in [
            "10.0.0.1",
            "10.255.255.255",
            "::1",
            "127.0.0.1",
            "fd12::5",
            "::ffff:10.0.0.1",
        ] {
            assert!(allow.address(ip(address)), "{address}");
        }
        for address in ["11.0.0.1", "::2", "127.0.0.2", "fd13::5", "::ffff:11.0.0.1"] {
            assert!(!allow.address(ip(address)), "{address}");
        }
    }

    #[test]
    fn what_is_neither_a_host_nor_a_network_is_refused_with_what_it_takes() {
        for text in [
            "http://build.internal",
            "build.internal:8080",
            "build.internal/x",
            "*.internal",
            "*",
            "10.0.0.0/33",
            "user@host",
            "a b",
            "0x7f.1",
            "[::1",
            "?",
            "ok.test,#",
        ] {
            let error = Allow::parse(text).unwrap_err();
            assert!(error.contains("it takes hosts such as"), "{text}: {error}");
        }
        assert_eq!(allow(" "), Allow::default());
    }

    #[test]
    fn every_network_of_special_use_can_be_read() {
        assert!(V4.iter().all(|(net, _)| net.parse::<Ipv4Net>().is_ok()));
        assert!(V6.iter().all(|(net, _)| net.parse::<Ipv6Net>().is_ok()));
    }

    #[test]
    fn nothing_but_the_internet_may_be_asked() {
        for address in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "100.100.100.200",
            "127.0.0.1",
            "127.255.255.254",
            "168.63.129.16",
            "169.254.169.254",
            "169.254.170.2",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.192",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::7f00:1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::ffff:10.0.0.1",
            "64:ff9b::a00:1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:2::1",
            "2001:10::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "2002:a9fe:a9fe::1",
            "2002:c0a8:1::1",
            "3fff::1",
            "4000::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fd20:ce::254",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "ff02::1",
            "::5efe:10.0.0.1",
        ] {
            assert!(forbidden(ip(address)).is_some(), "{address}");
        }
    }

    #[test]
    fn the_internet_may_be_asked_also_through_a_translation() {
        for address in [
            "1.1.1.1",
            "8.8.8.8",
            "100.63.255.255",
            "100.128.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.1",
            "198.17.255.255",
            "223.255.255.255",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2002:808:808::1",
            "2606:4700::1111",
            "2a00:1450:4001::1",
            "2400:cb00::1",
        ] {
            assert_eq!(forbidden(ip(address)), None, "{address}");
        }
    }
}
