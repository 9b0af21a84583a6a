//! Which receivers events may be sent to. A tenant chooses the URL, so it must not reach what only
//! this machine or its network reaches.

use std::error::Error;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use memory_outbound::is_loopback;
use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::net::lookup_host;

/// The receiver has no address that events may be sent to.
#[derive(Debug, thiserror::Error)]
#[error("the receiver's address is not public")]
pub(crate) struct NotPublic;

/// Resolves names to addresses that events may be sent to. Checked here, because a name may stand
/// for another address with each lookup, and these are connected to.
pub(crate) struct Resolver {
    pub(crate) allow_private: bool,
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(allowed(name, self.allow_private))
    }
}

async fn allowed(name: Name, allow_private: bool) -> Result<Addrs, Box<dyn Error + Send + Sync>> {
    let found = lookup_host((name.as_str(), 0)).await?;
    let allowed = found.filter(|address| allow_private || is_public(address.ip()));
    let allowed: Vec<SocketAddr> = allowed.collect();
    match allowed.is_empty() {
        true => Err(NotPublic.into()),
        false => Ok(Box::new(allowed.into_iter())),
    }
}

/// Reads the URL of a receiver: https, or http to this machine itself, without a password.
///
/// # Errors
/// What is wrong with it.
pub fn receiver_url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|_| "must be a URL".to_owned())?;
    let is_sent_safely = match url.scheme() {
        "https" => true,
        "http" => is_loopback(&url),
        _ => false,
    };
    if !is_sent_safely || url.host_str().is_none_or(str::is_empty) {
        return Err("must begin with https://, or with http:// and name this machine".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("must not contain a password: signatures prove who sends".to_owned());
    }
    if url.fragment().is_some() {
        return Err("must not contain #".to_owned());
    }
    Ok(url)
}

/// Checks the address in a URL, which no resolver sees. A name is checked when it is resolved.
pub(crate) fn check_literal(url: &Url, allow_private: bool) -> Result<(), NotPublic> {
    let host = url.host_str().unwrap_or_default();
    match host.trim_matches(['[', ']']).parse::<IpAddr>() {
        Ok(address) if !allow_private && !is_public(address) => Err(NotPublic),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Whether the internet routes an address (the special-purpose registries of IANA, RFC 6890).
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !matches!(
        (a, b, c),
        // This network, private, loopback.
        (0 | 10 | 127, ..)
            // Shared by providers.
            | (100, 64..=127, _)
            // Link-local, with the metadata of cloud providers.
            | (169, 254, _)
            | (172, 16..=31, _)
            | (192, 168, _)
            // Protocols, documentation, 6to4 relays, benchmarks.
            | (192, 0, 0 | 2)
            | (192, 88, 99)
            | (198, 18 | 19, _)
            | (198, 51, 100)
            | (203, 0, 113)
            // Multicast and reserved.
            | (224.., ..)
    )
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(mapped) = address.to_ipv4_mapped() {
        return is_public_v4(mapped);
    }
    let [a, b, c, d, e, f, g, h] = address.segments();
    let embedded = |high: u16, low: u16| {
        is_public_v4(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)))
    };
    match (a, b) {
        // NAT64: the address behind it.
        (0x64, 0xff9b) => [c, d, e, f] == [0; 4] && embedded(g, h),
        // Protocols, documentation.
        (0x2001, 0..=0x01ff | 0x0db8) | (0x3fff, 0..=0x0fff) => false,
        // 6to4: the router's address.
        (0x2002, _) => embedded(b, c),
        // All else that is public; unique local, link-local and multicast are not in it.
        (0x2000..=0x3fff, _) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_addresses_are_public() {
        for public in [
            "1.1.1.1",
            "100.63.0.1",
            "172.32.0.1",
            "198.20.0.1",
            "223.255.255.255",
            "2606:4700:4700::1111",
            "::ffff:1.1.1.1",
            "64:ff9b::101:101",
            "2002:101:101::1",
        ] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
        for other in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "127.9.9.9",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.2.1",
            "192.168.1.1",
            "198.18.0.1",
            "203.0.113.5",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::7f00:1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::a00:1",
            "64:ff9b:1::101:101",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!is_public(other.parse().unwrap()), "{other}");
        }
    }

    #[test]
    fn a_literal_address_is_checked_in_each_of_its_forms() {
        for url in [
            "https://127.0.0.1/x",
            "https://0x7f.1/x",
            "https://2130706433/x",
            "https://[::1]/x",
            "https://[::ffff:10.0.0.1]/x",
            "https://169.254.169.254/latest/meta-data",
            "http://127.0.0.1:8000/x",
        ] {
            let url = receiver_url(url).unwrap();
            assert!(check_literal(&url, false).is_err(), "{url}");
            assert!(check_literal(&url, true).is_ok(), "{url}");
        }
        let url = receiver_url("https://example.com/x?y=z").unwrap();
        assert!(check_literal(&url, false).is_ok());
    }

    #[test]
    fn a_receiver_has_https_and_no_password() {
        for wrong in [
            "",
            "example.com",
            "ftp://example.com",
            "http://example.com",
            "http://10.0.0.1",
            "https://me@example.com",
            "https://me:hunter2@example.com",
            "https://example.com/#x",
            "file:///etc/passwd",
        ] {
            let problem = receiver_url(wrong).unwrap_err();
            assert!(!problem.contains("hunter2"), "{problem}");
        }
        for right in [
            "https://example.com/x",
            "http://localhost:8000",
            "http://[::1]:1/",
        ] {
            assert!(receiver_url(right).is_ok(), "{right}");
        }
    }

    #[tokio::test]
    async fn a_name_of_this_machine_is_refused() {
        let resolve = async |allow_private| {
            let resolver = Resolver { allow_private };
            resolver.resolve("localhost".parse().unwrap()).await
        };
        let error = resolve(false).await.err().unwrap();
        assert!(error.is::<NotPublic>(), "{error}");
        assert!(resolve(true).await.unwrap().next().is_some());
    }
}
