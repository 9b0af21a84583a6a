//! Which sites may use the proxy.
//!
//! A page of any site can send requests to a loopback address: with its own `Origin`, or with its
//! own name as the `Host` if that name leads to the address (DNS rebinding).

use http::header::{HOST, ORIGIN};
use http::uri::Authority;
use http::{HeaderMap, Uri};
use memory_http::is_local_host;

/// Whether the host that a request names, and the origin of a page that sends it, are
/// `localhost`, an IP address or one of `hosts`.
pub(crate) fn is_permitted(uri: &Uri, headers: &HeaderMap, hosts: &[String]) -> bool {
    let is_known =
        |host: &str| is_local_host(host) || hosts.iter().any(|own| own.eq_ignore_ascii_case(host));
    let named = match headers.get(HOST) {
        Some(value) => value.to_str().ok().and_then(|text| text.parse().ok()),
        None => uri.authority().cloned(),
    };
    let named = named.is_some_and(|authority: Authority| is_known(authority.host()));
    // The origin `null` is a host without an address.
    named
        && headers.get_all(ORIGIN).iter().all(|origin| {
            let origin = origin.to_str().ok().and_then(|text| text.parse().ok());
            origin.is_some_and(|origin: Uri| origin.host().is_some_and(is_known))
        })
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn check(host: &str, origin: Option<&'static str>, expected: bool) {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_str(host).unwrap());
        if let Some(origin) = origin {
            headers.insert(ORIGIN, HeaderValue::from_static(origin));
        }
        let hosts = ["memory.example".to_owned()];
        let uri = Uri::from_static("/v1/models");
        let permitted = is_permitted(&uri, &headers, &hosts);
        assert_eq!(permitted, expected, "{host} {origin:?}");
    }

    #[test]
    fn only_names_that_lead_here_are_permitted() {
        for host in [
            "localhost",
            "LOCALHOST:50061",
            "app.localhost:1",
            "127.0.0.1:50061",
            "[::1]:50061",
            "memory.example",
            "Memory.Example:50061",
        ] {
            check(host, None, true);
        }
        for host in [
            "",
            "example.com",
            "localhost.example.com:50061",
            "127.0.0.1.example.com",
            "notlocalhost",
            "other.memory.example",
        ] {
            check(host, None, false);
        }
        let uri = Uri::from_static("http://[::1]:1/v1/models");
        assert!(is_permitted(&uri, &HeaderMap::new(), &[]));
        let uri = Uri::from_static("/v1/models");
        assert!(!is_permitted(&uri, &HeaderMap::new(), &[]));
    }

    #[test]
    fn pages_of_other_sites_are_not_permitted() {
        for origin in [
            "http://localhost:3000",
            "http://127.0.0.1:8080",
            "http://[::1]:8080",
            "https://memory.example",
        ] {
            check("127.0.0.1:50061", Some(origin), true);
        }
        for origin in ["null", "https://example.com", "file://", ""] {
            check("127.0.0.1:50061", Some(origin), false);
        }
    }
}
