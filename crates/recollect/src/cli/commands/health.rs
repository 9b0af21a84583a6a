//! `recollect health`.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};

use crate::cli::args::{HealthArgs, ServerArgs};
use crate::cli::client::Client;
use crate::cli::failure::Failure;
use crate::cli::output::{Table, count, exact, print_json, service_names};

/// Bytes of an answer of /readyz.
const ANSWER_BYTES: u64 = 64 * 1024;

/// Asks a server or a worker whether it serves.
///
/// # Errors
/// When it does not, or does not answer.
pub async fn run(args: HealthArgs) -> Result<(), Failure> {
    let (addr, asked) = match args.ready {
        Some(addr) => (addr.to_string(), timeout(args.timeout, ready(addr)).await),
        None => (
            args.addr.clone(),
            timeout(args.timeout, services(&args)).await,
        ),
    };
    let found = asked.map_err(|_elapsed| Failure::Unreachable {
        addr,
        problem: "it did not answer in time".to_owned(),
    })??;
    if args.json {
        for (service, status) in &found {
            print_json(&json!({"service": service, "status": status}))?;
        }
    } else {
        let mut table = Table::new(&["Service!", "Status!"]);
        for (service, status) in &found {
            let service = if service.is_empty() {
                "(server)"
            } else {
                service
            };
            table.row([service.to_owned(), exact(status)]);
        }
        table.print()?;
    }
    let down = found.iter().filter(|(_, status)| !serves(status)).count();
    match down {
        0 => Ok(()),
        _ => Err(Failure::Refused {
            message: format!("{down} of {} not serving", count(found.len(), "service")),
            next_step: "`recollect doctor` checks the set-up.".to_owned(),
        }),
    }
}

/// The full name of each service, empty for the whole server, and its status.
type ServiceStatuses = Vec<(String, String)>;

fn serves(status: &str) -> bool {
    [ServingStatus::Serving.as_str_name(), "ready", "degraded"].contains(&status)
}

async fn services(args: &HealthArgs) -> Result<ServiceStatuses, Failure> {
    let server = ServerArgs {
        addr: args.addr.clone(),
        api_key: None,
    };
    let client = Client::connect(&server).await?;
    let mut health = HealthClient::new(client.transport());
    let mut found = Vec::new();
    for service in names(&args.services) {
        let request = HealthCheckRequest {
            service: service.clone(),
        };
        let answer = health.check(request).await.map_err(|status| {
            match status.code() == tonic::Code::NotFound {
                true => Failure::NotFound {
                    message: format!("the server has no service {service:?}"),
                    next_step: "`recollect health --service all` lists the services.",
                },
                false => client.failure(&status),
            }
        })?;
        let status = answer.into_inner().status().as_str_name();
        found.push((service, status.to_owned()));
    }
    Ok(found)
}

/// The services to ask for: those that are named, or the whole server.
fn names(wanted: &[String]) -> Vec<String> {
    let mut names = Vec::new();
    for name in wanted {
        match name.as_str() {
            "all" => names.extend(service_names()),
            name => names.push(name.to_owned()),
        }
    }
    if names.is_empty() {
        names.push(String::new());
    }
    names
}

/// What `/readyz` of a process says.
async fn ready(addr: SocketAddr) -> Result<ServiceStatuses, Failure> {
    let local = match addr.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    let addr = SocketAddr::new(local, addr.port());
    let answer = get(addr).await.map_err(|error| Failure::Unreachable {
        addr: addr.to_string(),
        problem: error.to_string(),
    })?;
    let body = answer.split_once("\r\n\r\n").map(|(_, body)| body);
    let body = body.and_then(|body| serde_json::from_str::<Value>(body).ok());
    let status = body.as_ref().and_then(|body| body["status"].as_str());
    let Some(status) = status else {
        return Err(Failure::Unreachable {
            addr: addr.to_string(),
            problem: "what answers there is no metrics address of Recollect".to_owned(),
        });
    };
    Ok(vec![(String::new(), status.to_owned())])
}

async fn get(addr: SocketAddr) -> io::Result<String> {
    let mut stream = TcpStream::connect(addr).await?;
    let request = format!("GET /readyz HTTP/1.0\r\nHost: {addr}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(ANSWER_BYTES).read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
