//! A connection that is given up when its client takes nothing of what it is sent for a while.

use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// How long a client may take nothing.
const IDLE_MOST: Duration = Duration::from_secs(60);

/// A stream that breaks when what is written to it goes nowhere for as long as that.
pub struct IdleTimeout<S> {
    stream: S,
    /// Runs while a write waits.
    waited: Option<Pin<Box<Sleep>>>,
}

impl<S> IdleTimeout<S> {
    pub fn new(stream: S) -> IdleTimeout<S> {
        IdleTimeout { stream, waited: None }
    }

    /// The outcome of a write, or an error when it has waited for too long.
    fn judge<T>(
        &mut self,
        wrote: Poll<io::Result<T>>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if wrote.is_ready() {
            self.waited = None;
            return wrote;
        }
        let waited = self.waited.get_or_insert_with(|| Box::pin(sleep(IDLE_MOST)));
        waited.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for IdleTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for IdleTimeout<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.judge(wrote, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write_vectored(cx, bytes);
        self.judge(wrote, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.judge(flushed, cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.judge(shut, cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    /// A runtime whose clock jumps when everybody waits.
    fn run(test: impl Future<Output = ()>) {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_time().start_paused(true).build().unwrap().block_on(test);
    }

    #[test]
    fn a_client_that_takes_nothing_is_given_up() {
        run(async {
            let (mut client, server) = tokio::io::duplex(8);
            let mut server = IdleTimeout::new(server);
            let broken = server.write_all(&[0; 9]).await.unwrap_err();
            assert_eq!(broken.kind(), io::ErrorKind::TimedOut);
            client.read_exact(&mut [0; 8]).await.unwrap();
        });
    }

    #[test]
    fn a_client_may_be_slow_and_silent_as_long_as_it_takes_something() {
        run(async {
            let (mut client, server) = tokio::io::duplex(8);
            let mut server = IdleTimeout::new(server);
            let reads = async {
                for _ in 0..20 {
                    sleep(IDLE_MOST - Duration::from_secs(1)).await;
                    client.read_exact(&mut [0; 4]).await.unwrap();
                }
                // Nothing is written meanwhile, so nothing waits.
                sleep(IDLE_MOST * 3).await;
                client.write_all(b"more").await.unwrap();
            };
            let writes = async {
                server.write_all(&[0; 80]).await.unwrap();
                server.read_exact(&mut [0; 4]).await.unwrap();
            };
            tokio::join!(reads, writes);
        });
    }
}
