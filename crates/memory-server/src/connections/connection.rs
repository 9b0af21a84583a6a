//! Closes connections on which no request begins, and those whose client stops reading.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};
use tokio_util::sync::WaitForCancellationFutureOwned;
use tonic::transport::server::Connected;

use super::admission::Place;

/// How long a new connection may be without a whole head of a request over HTTP/1, or the preface of
/// HTTP/2. Afterwards the keepalive of HTTP/2 and the read timeout of HTTP/1 hold.
const FIRST_REQUEST: Duration = Duration::from_secs(10);
/// The bytes that a connection of HTTP/2 begins with (RFC 9113, section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A connection that fails if no request comes in time or its place is needed before, or if its
/// client reads nothing for too long of what is sent.
pub struct Connection<C> {
    connection: C,
    place: Arc<Place>,
    /// `None` once it has begun.
    beginning: Option<Beginning>,
    /// How long nothing may be read of what is sent.
    unread_limit: Duration,
    /// `None` while what is sent can be written.
    unread: Option<Pin<Box<Sleep>>>,
}

/// A connection that has no request yet.
struct Beginning {
    /// `None` without such a limit, as for a connection of HTTP/2, whose keepalive holds.
    too_late: Option<Pin<Box<Sleep>>>,
    close: Pin<Box<WaitForCancellationFutureOwned>>,
    /// How much of [`PREFACE`] has come; `None` if something else has.
    preface: Option<usize>,
}

impl<C> Connection<C> {
    pub(super) fn new(connection: C, place: Place, unread_limit: Duration) -> Self {
        Self::within(FIRST_REQUEST, connection, place, unread_limit)
    }

    /// A connection without limits of time. It fails when its place is needed.
    pub(super) fn unhurried(connection: C, place: Place) -> Self {
        Self::begin(None, connection, place, Duration::MAX)
    }

    fn within(limit: Duration, connection: C, place: Place, unread_limit: Duration) -> Self {
        let too_late = Box::pin(sleep(limit));
        Self::begin(Some(too_late), connection, place, unread_limit)
    }

    fn begin(
        too_late: Option<Pin<Box<Sleep>>>,
        connection: C,
        place: Place,
        unread_limit: Duration,
    ) -> Self {
        let beginning = Beginning {
            too_late,
            close: Box::pin(place.close().clone().cancelled_owned()),
            preface: Some(0),
        };
        Self {
            connection,
            place: Arc::new(place),
            beginning: Some(beginning),
            unread_limit,
            unread: None,
        }
    }

    /// Fails if the connection has not begun and may not wait any longer.
    fn check_beginning(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        let Some(beginning) = &mut self.beginning else {
            return Ok(());
        };
        if self.place.has_request() {
            self.beginning = None;
            return Ok(());
        }
        if beginning.close.as_mut().poll(cx).is_ready() {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        if let Some(too_late) = &mut beginning.too_late
            && too_late.as_mut().poll(cx).is_ready()
        {
            self.place.count_timeout();
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(())
    }

    /// Notes bytes that were read.
    fn read(&mut self, bytes: &[u8]) {
        let Some(beginning) = &mut self.beginning else {
            return;
        };
        beginning.preface = beginning.preface.and_then(|known| {
            let rest = &PREFACE[known..];
            let length = rest.len().min(bytes.len());
            (rest[..length] == bytes[..length]).then_some(known + length)
        });
        if beginning.preface == Some(PREFACE.len()) && beginning.too_late.take().is_some() {
            self.place.note_greeting();
        }
    }

    /// The result of an attempt to write, or an error if none has succeeded for too long.
    fn written<T>(
        &mut self,
        cx: &mut Context<'_>,
        polled: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.unread = None;
            return polled;
        }
        let limit = self.unread_limit;
        let unread = self.unread.get_or_insert_with(|| Box::pin(sleep(limit)));
        if unread.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        polled
    }
}

impl<C> Connected for Connection<C> {
    /// Requests have it in their extensions.
    type ConnectInfo = Arc<Place>;

    fn connect_info(&self) -> Arc<Place> {
        Arc::clone(&self.place)
    }
}

impl<C: AsyncRead + Unpin> AsyncRead for Connection<C> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check_beginning(cx)?;
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.connection).poll_read(cx, buffer);
        if polled.is_ready() {
            self.read(&buffer.filled()[before..]);
        }
        polled
    }
}

impl<C: AsyncWrite + Unpin> AsyncWrite for Connection<C> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check_beginning(cx)?;
        let polled = Pin::new(&mut self.connection).poll_write(cx, data);
        self.written(cx, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check_beginning(cx)?;
        let polled = Pin::new(&mut self.connection).poll_write_vectored(cx, data);
        self.written(cx, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.connection.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check_beginning(cx)?;
        let polled = Pin::new(&mut self.connection).poll_flush(cx);
        self.written(cx, polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.connection).poll_shutdown(cx);
        self.written(cx, polled)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};

    use super::super::admission::{Admission, Bounds};
    use super::*;

    const TIME: Duration = Duration::from_millis(50);

    fn connection(limit: Duration, unread: Duration) -> (DuplexStream, Connection<DuplexStream>) {
        let bounds = Bounds {
            all: 9,
            of_address: 9,
            idle: 9,
        };
        let place = Admission::new("test", bounds).admit([127, 0, 0, 1].into());
        let (client, server) = duplex(64);
        let server = Connection::within(limit, server, place.unwrap(), unread);
        (client, server)
    }

    #[tokio::test]
    async fn a_connection_without_a_whole_request_fails_whatever_it_sends() {
        for sent in [
            &b""[..],
            b"P",
            b"PRI * HTTP/2.0",
            b"POST / HTTP/1.1\r\nhost: a\r\n",
        ] {
            let (mut client, mut server) = connection(TIME, TIME);
            client.write_all(sent).await.unwrap();
            let error = server.read_to_end(&mut Vec::new()).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        }
    }

    #[tokio::test]
    async fn a_connection_of_http_2_and_one_with_a_request_go_on() {
        let (mut client, mut http_2) = connection(TIME, TIME);
        let mut read = vec![0; PREFACE.len()];
        // In two pieces.
        for piece in PREFACE.chunks(9) {
            client.write_all(piece).await.unwrap();
            http_2.read_exact(&mut read[..piece.len()]).await.unwrap();
        }
        let (mut caller, mut http_1) = connection(TIME, TIME);
        caller.write_u8(b'G').await.unwrap();
        http_1.read_u8().await.unwrap();
        http_1.connect_info().note_request();
        for mut server in [http_1, http_2] {
            let waiting = tokio::time::timeout(TIME * 4, server.read_u8());
            assert!(waiting.await.is_err(), "it goes on waiting");
        }
    }

    #[tokio::test]
    async fn a_connection_fails_whose_client_stops_reading() {
        let (mut client, mut server) = connection(TIME * 1_000, TIME * 10);
        // A client that reads slowly may take longer.
        let slow = async {
            let mut read = [0; 64];
            for _ in 0..4 {
                tokio::time::sleep(TIME * 4).await;
                client.read_exact(&mut read).await.unwrap();
            }
        };
        let (written, ()) = tokio::join!(server.write_all(&[0; 320]), slow);
        written.unwrap();
        let error = server.write_all(&[0; 320]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(client);
    }
}
