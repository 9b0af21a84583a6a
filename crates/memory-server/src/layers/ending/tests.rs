use std::convert::Infallible;
use std::future::poll_fn;

use memory_index::Background;
use tonic::Code;
use tower::{Layer as _, Service as _, service_fn};

use super::*;
use crate::config::ServerConfig;
use crate::layers::{Concurrency, Deadlines, Methods, Wrap};

const TIMEOUT: Duration = Duration::from_millis(50);

/// An answer that never says anything.
struct Silent;

impl http_body::Body for Silent {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        Poll::Pending
    }
}

/// An answer that sends something at intervals.
struct Slow(Pin<Box<tokio::time::Sleep>>);

impl http_body::Body for Slow {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if self.0.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        self.0.as_mut().reset(Instant::now() + TIMEOUT);
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"more")))))
    }
}

#[tokio::test]
async fn a_silent_answer_ends_with_deadline_exceeded() {
    let long = TIMEOUT * 1_000;
    for (deadline, idle) in [
        (TIMEOUT, None),
        (TIMEOUT, Some(long)),
        (long, Some(TIMEOUT)),
    ] {
        let ends = Ends {
            deadline: Instant::now() + deadline,
            idle,
        };
        let mut body = at(ends, Body::new(Silent));
        let mut next = async || poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await;
        let trailers = next().await.unwrap().unwrap().into_trailers().unwrap();
        let status = Status::from_header_map(&trailers).unwrap();
        assert_eq!(status.code(), Code::DeadlineExceeded);
        assert!(next().await.is_none());
        assert!(body.is_end_stream());
    }
}

#[tokio::test]
async fn an_answer_that_makes_progress_goes_on_to_its_deadline() {
    let deadline = Instant::now() + TIMEOUT * 30;
    let idle = Some(TIMEOUT * 10);
    let body = Body::new(Slow(Box::pin(tokio::time::sleep(TIMEOUT))));
    let mut body = at(Ends { deadline, idle }, body);
    loop {
        let frame = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await;
        if frame.unwrap().unwrap().is_trailers() {
            break;
        }
    }
    assert!(Instant::now() >= deadline);
}

#[tokio::test]
async fn an_unread_answer_releases_its_permit() {
    let methods = Methods::new();
    let config = ServerConfig {
        call_timeout: TIMEOUT,
        stream_timeout: TIMEOUT,
        max_calls: 1,
        max_streams: 1,
        max_watches: 1,
        ..ServerConfig::default()
    };
    let layers = Wrap(Deadlines::new(methods.clone(), &config));
    let mut server = layers.layer(
        Wrap(Concurrency::new(methods, &config, Background::default())).layer(service_fn(
            async |_: http::Request<Body>| {
                Ok::<_, Infallible>(http::Response::new(Body::new(Silent)))
            },
        )),
    );
    for path in [
        "/recollect.v1.ThreadService/GetThread",
        "/recollect.v1.TransferService/ExportRecords",
        "/recollect.v1.ThreadService/WatchThread",
    ] {
        let mut call = || {
            let request = http::Request::builder().uri(path);
            server.call(request.body(Body::empty()).unwrap())
        };
        let refused = |response: &http::Response<Body>| {
            Status::from_header_map(response.headers())
                .is_some_and(|status| status.code() == Code::ResourceExhausted)
        };
        let unread = call().await.unwrap();
        assert!(!refused(&unread));
        assert!(refused(&call().await.unwrap()));
        tokio::time::sleep(TIMEOUT * 4).await;
        assert!(!refused(&call().await.unwrap()));
        drop(unread);
    }
}
