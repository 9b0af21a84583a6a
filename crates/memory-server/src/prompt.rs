//! Closes connections on which no request begins, and those whose client stops reading.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};
use tonic::transport::server::Connected;

/// How long a new connection may stay silent. The protocol is chosen by its first bytes,
/// and no other timeout runs before.
const FIRST_BYTES: Duration = Duration::from_secs(10);

/// A connection that fails if its first bytes do not come in time, or if its client reads
/// nothing for too long of what is sent.
pub(crate) struct Prompt<C> {
    connection: C,
    /// `None` once the first bytes are there.
    silence: Option<Pin<Box<Sleep>>>,
    /// How long nothing may be read of what is sent.
    unread_limit: Duration,
    /// `None` while what is sent can be written.
    unread: Option<Pin<Box<Sleep>>>,
}

/// Gives a new connection its time.
pub(crate) fn prompt<C>(
    connection: io::Result<C>,
    unread_limit: Duration,
) -> io::Result<Prompt<C>> {
    connection.map(|connection| Prompt::within(FIRST_BYTES, unread_limit, connection))
}

impl<C> Prompt<C> {
    fn within(first_bytes: Duration, unread_limit: Duration, connection: C) -> Self {
        Self {
            connection,
            silence: Some(Box::pin(sleep(first_bytes))),
            unread_limit,
            unread: None,
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

impl<C: Connected> Connected for Prompt<C> {
    type ConnectInfo = C::ConnectInfo;

    fn connect_info(&self) -> C::ConnectInfo {
        self.connection.connect_info()
    }
}

impl<C: AsyncRead + Unpin> AsyncRead for Prompt<C> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.connection).poll_read(cx, buffer);
        if polled.is_ready() {
            self.silence = None;
        } else if let Some(silence) = &mut self.silence
            && silence.as_mut().poll(cx).is_ready()
        {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        polled
    }
}

impl<C: AsyncWrite + Unpin> AsyncWrite for Prompt<C> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.connection).poll_write(cx, data);
        self.written(cx, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.connection).poll_write_vectored(cx, data);
        self.written(cx, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.connection.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
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
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    const TIME: Duration = Duration::from_millis(50);

    #[tokio::test]
    async fn a_silent_connection_fails_and_one_that_spoke_does_not() {
        let (_client, server) = duplex(8);
        let error = Prompt::within(TIME, TIME, server)
            .read_u8()
            .await
            .unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);

        let (mut client, server) = duplex(8);
        let mut spoke = Prompt::within(TIME, TIME, server);
        client.write_u8(1).await.unwrap();
        assert_eq!(spoke.read_u8().await.unwrap(), 1);
        let waiting = tokio::time::timeout(TIME * 4, spoke.read_u8());
        assert!(waiting.await.is_err(), "it goes on waiting");
    }

    #[tokio::test]
    async fn a_connection_fails_whose_client_stops_reading() {
        let (mut client, server) = duplex(8);
        let mut server = Prompt::within(TIME * 1_000, TIME * 10, server);
        // A client that reads slowly may take longer.
        let slow = async {
            let mut read = [0; 8];
            for _ in 0..4 {
                tokio::time::sleep(TIME * 4).await;
                client.read_exact(&mut read).await.unwrap();
            }
        };
        let (written, ()) = tokio::join!(server.write_all(&[0; 40]), slow);
        written.unwrap();
        let error = server.write_all(&[0; 40]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(client);
    }
}
