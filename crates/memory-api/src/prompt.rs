//! Closes connections on which no request begins.

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

/// A connection that fails if its first bytes do not come in time.
pub(crate) struct Prompt<C> {
    connection: C,
    /// `None` once the first bytes are there.
    silence: Option<Pin<Box<Sleep>>>,
}

/// Gives a new connection its time.
pub(crate) fn prompt<C>(connection: io::Result<C>) -> io::Result<Prompt<C>> {
    connection.map(|connection| Prompt::within(FIRST_BYTES, connection))
}

impl<C> Prompt<C> {
    fn within(time: Duration, connection: C) -> Self {
        Self {
            connection,
            silence: Some(Box::pin(sleep(time))),
        }
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
        Pin::new(&mut self.connection).poll_write(cx, data)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.connection).poll_write_vectored(cx, data)
    }

    fn is_write_vectored(&self) -> bool {
        self.connection.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_shutdown(cx)
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
        let error = Prompt::within(TIME, server).read_u8().await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);

        let (mut client, server) = duplex(8);
        let mut spoke = Prompt::within(TIME, server);
        client.write_u8(1).await.unwrap();
        assert_eq!(spoke.read_u8().await.unwrap(), 1);
        let waiting = tokio::time::timeout(TIME * 4, spoke.read_u8());
        assert!(waiting.await.is_err(), "it goes on waiting");
    }
}
