//! Which process of this machine listens at an address.

use std::{collections::BTreeSet, fs, net::IpAddr, path::Path};

/// The state of a listening socket in `/proc/net/tcp`.
const LISTEN: &str = "0A";

/// The processes with a name that begins so that listen at one of these URLs, which are separated
/// by commas. None for an address of another machine, and where `/proc` does not tell.
pub fn listening(urls: &str, name: &str) -> Vec<u32> {
    let ports: BTreeSet<u16> = urls.split(',').filter_map(local_port).collect();
    let sockets: BTreeSet<String> = ["tcp", "tcp6"]
        .iter()
        .filter_map(|file| fs::read_to_string(format!("/proc/net/{file}")).ok())
        .flat_map(|table| sockets(&table, &ports))
        .collect();
    if sockets.is_empty() {
        return Vec::new();
    }
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid: &u32| {
            let process = Path::new("/proc").join(pid.to_string());
            let comm = fs::read_to_string(process.join("comm")).unwrap_or_default();
            let files = fs::read_dir(process.join("fd")).into_iter().flatten();
            comm.starts_with(name)
                && files.flatten().any(|file| {
                    let target = fs::read_link(file.path()).unwrap_or_default();
                    target.to_str().is_some_and(|one| sockets.contains(one))
                })
        })
        .collect()
}

/// The port of a URL on this machine.
fn local_port(url: &str) -> Option<u16> {
    let (_, rest) = url.trim().split_once("://")?;
    let (host, port) = rest.split('/').next()?.rsplit_once(':')?;
    let host = host.trim_matches(['[', ']']);
    let local = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    local.then(|| port.parse().ok())?
}

/// The sockets in a table of `/proc/net` that listen on one of the ports, as links of
/// `/proc/PID/fd` name them.
fn sockets(table: &str, ports: &BTreeSet<u16>) -> Vec<String> {
    let socket = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (_, port) = fields.get(1)?.rsplit_once(':')?;
        let port = u16::from_str_radix(port, 16).ok()?;
        let listens = *fields.get(3)? == LISTEN && ports.contains(&port);
        listens.then(|| Some(format!("socket:[{}]", fields.get(9)?)))?
    };
    table.lines().filter_map(socket).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_process_is_found_by_its_port() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let comm = fs::read_to_string("/proc/self/comm").unwrap_or_default();
        if comm.is_empty() {
            return eprintln!("skipped: no /proc");
        }
        let found = listening(&format!("http://127.0.0.1:{port}"), comm.trim());
        assert_eq!(found, [std::process::id()]);
        assert!(listening(&format!("http://127.0.0.1:{port}"), "other").is_empty());
        assert!(listening(&format!("http://192.0.2.1:{port}"), comm.trim()).is_empty());
    }

    #[test]
    fn only_addresses_of_this_machine_have_a_local_port() {
        for url in [
            "http://localhost:6334",
            "http://[::1]:6334/",
            " https://127.0.0.2:6334",
        ] {
            assert_eq!(local_port(url), Some(6334), "{url}");
        }
        for url in ["http://qdrant:6334", "http://127.0.0.1", "127.0.0.1:6334"] {
            assert_eq!(local_port(url), None, "{url}");
        }
    }
}
