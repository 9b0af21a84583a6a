//! Stands between a server and Postgres as a pooler does that knows nothing of the options with which
//! a connection is opened.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;

/// The code of a request for encryption, in place of a protocol version.
const SSL_REQUEST: u32 = 80_877_103;
/// The code of a request to cancel a query.
const CANCEL_REQUEST: u32 = 80_877_102;

/// Listens on a free port until the test process ends, and passes connections on without their
/// options; the address.
pub fn drop_options(postgres: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            // A connection that breaks is the server's to notice.
            thread::spawn(move || pass_on(client, postgres).ok());
        }
    });
    addr
}

fn pass_on(mut client: TcpStream, postgres: SocketAddr) -> io::Result<()> {
    let mut server = TcpStream::connect(postgres)?;
    loop {
        let (code, body) = first_message(&mut client)?;
        match code {
            SSL_REQUEST => client.write_all(b"N")?,
            CANCEL_REQUEST => break send(&mut server, code, &body)?,
            _ => break send(&mut server, code, &without_options(&body))?,
        }
    }
    let (mut from_client, mut to_server) = (client.try_clone()?, server.try_clone()?);
    thread::spawn(move || {
        let _ = io::copy(&mut from_client, &mut to_server);
        let _ = to_server.shutdown(Shutdown::Both);
    });
    io::copy(&mut server, &mut client)?;
    client.shutdown(Shutdown::Both)
}

/// A message of a connection's start: its length with itself, a code, the rest.
fn first_message(client: &mut TcpStream) -> io::Result<(u32, Vec<u8>)> {
    let mut head = [0; 8];
    client.read_exact(&mut head)?;
    let [length, code] =
        [&head[..4], &head[4..]].map(|bytes| u32::from_be_bytes(bytes.try_into().unwrap()));
    let mut body = vec![0; length as usize - 8];
    client.read_exact(&mut body)?;
    Ok((code, body))
}

fn send(server: &mut TcpStream, code: u32, body: &[u8]) -> io::Result<()> {
    let length = u32::try_from(body.len() + 8).unwrap();
    server.write_all(&length.to_be_bytes())?;
    server.write_all(&code.to_be_bytes())?;
    server.write_all(body)
}

/// Names and values, each ended by a zero, and a last zero.
fn without_options(body: &[u8]) -> Vec<u8> {
    let words: Vec<&[u8]> = body.split(|byte| *byte == 0).collect();
    let mut kept = Vec::new();
    for pair in words.chunks(2).filter(|pair| pair.len() == 2) {
        if !pair[0].is_empty() && pair[0] != b"options" {
            kept.extend([pair[0], &[0], pair[1], &[0]].concat());
        }
    }
    kept.push(0);
    kept
}
