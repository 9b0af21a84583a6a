//! Calls gRPC without a gRPC library, whose client would enforce the deadline before the
//! server does.

use http::{HeaderMap, Request};
use prost::bytes::Bytes;
use tokio::net::TcpStream;
use tonic::{Code, Status};

use crate::Failure;

/// Sends one encoded request and returns how the call ended.
pub async fn raw_call(addr: &str, path: &str, headers: &[(&str, &str)], message: &[u8]) -> Failure {
    let stream = TcpStream::connect(addr).await.unwrap();
    let (client, connection) = h2::client::handshake(stream).await.unwrap();
    let connection = tokio::spawn(connection);
    let mut request = Request::post(format!("http://{addr}{path}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut client = client.ready().await.unwrap();
    let (answer, mut body) = client
        .send_request(request.body(()).unwrap(), false)
        .unwrap();
    let mut frame = vec![0];
    frame.extend(u32::try_from(message.len()).unwrap().to_be_bytes());
    frame.extend(message);
    body.send_data(Bytes::from(frame), true).unwrap();

    let answer = answer.await.unwrap();
    let headers = answer.headers().clone();
    let mut body = answer.into_body();
    while let Some(data) = body.data().await {
        let data = data.unwrap();
        body.flow_control().release_capacity(data.len()).unwrap();
    }
    let trailers = body.trailers().await.unwrap();
    connection.abort();
    status(&trailers.unwrap_or(headers)).into()
}

fn status(headers: &HeaderMap) -> Status {
    Status::from_header_map(headers)
        .unwrap_or_else(|| Status::new(Code::Unknown, format!("no status in {headers:?}")))
}
