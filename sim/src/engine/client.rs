//! Clients outside of the cloud: they send the requests of a scenario, try again, read bodies that are streamed, and
//! talk on WebSockets.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use crate::engine::env::Env;
use crate::engine::ids::EndId;
use crate::engine::task::Waits;
use crate::protocol::frame::Frame;
use crate::protocol::headers::Headers;
use crate::protocol::http::{Request, Response, STREAM, WEB_SOCKET};
use crate::scenario::ClientRequest;
use crate::scenario::answers::Unfilled;
use crate::scenario::conversation::{CONNECTIONS_MOST, Conversation, Step};
use crate::values::body::Body;

/// How long a client waits before it tries again.
const BACKOFF: Duration = Duration::from_secs(1);
/// How long a client waits for a message before it takes the connection for lost.
const LISTEN_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a client reads a body that is streamed, which need not have an end.
const READS: Duration = Duration::from_secs(30);
/// How many parts of a body may be on their way or unread before its writer has to wait.
const AHEAD: u32 = 16;

impl Env {
    /// Sends a request of the scenario, with as many retries as it says.
    pub(crate) async fn send_as_client(self, to: Arc<str>, sent: ClientRequest) {
        let Some(request) = self.filled(&sent).await else { return };
        // It was checked before the run began, but not with what it takes from answers.
        let Ok(says) = Conversation::of(&request).transpose() else { return };
        let mut talk = says.map(|says| Talk { steps: says.steps, at: 0, unanswered: 0 });
        let mut endless = 0;
        for left in (0..=sent.retries).rev() {
            let response = self.fetch(&to, request.clone()).await;
            let end_in =
                |header| response.as_ref().ok().and_then(|it| self.end_in(&it.headers, header));
            let over = match (end_in(WEB_SOCKET), &mut talk, end_in(STREAM)) {
                (Some(end), Some(talk), _) => talk.on(&self, end).await,
                (_, _, Some(body)) => match (self.read_body(body).await, response) {
                    (Read::Broken, _) | (_, Err(_)) => false,
                    (Read::Left(_), Ok(response)) if !is_event_stream(&request, &response) => {
                        endless += 1;
                        endless == CONNECTIONS_MOST
                    }
                    (Read::Whole(come) | Read::Left(come), Ok(response)) => {
                        self.answered(&sent, Response { body: come, ..response })
                    }
                },
                _ => response.is_ok_and(|response| self.answered(&sent, response)),
            };
            if over {
                return;
            }
            if left > 0 {
                self.sleep(BACKOFF).await;
            }
        }
    }

    /// The request with what it takes from the answers to others, which it waits for; none if that is not in them.
    async fn filled(&self, sent: &ClientRequest) -> Option<Request> {
        poll_fn(|cx| {
            let mut state = self.world().state();
            match state.answers.known.filled(&sent.request) {
                Ok(request) => Poll::Ready(Some(request.into_owned())),
                Err(Unfilled::Missing(_)) => Poll::Ready(None),
                Err(Unfilled::Awaited(_)) => {
                    let task = state.tasks.waiting(cx);
                    state.answers.awaited_by.push(task);
                    state.tasks[task].waits = Waits::Elsewhere;
                    // The answer need not come.
                    state.tasks[task].listens = true;
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// An answer has come to a request. Returns whether its client does not try again.
    fn answered(&self, sent: &ClientRequest, response: Response) -> bool {
        if response.status >= 500 {
            return false;
        }
        let mut state = self.world().state();
        if state.answers.known.came(sent, &response) {
            let waiting = std::mem::take(&mut state.answers.awaited_by);
            waiting.into_iter().for_each(|task| state.wake(task));
        }
        true
    }

    /// The end of a WebSocket or of a body that a message brings in that header; it is with this host from now on.
    pub(crate) fn end_in(&self, headers: &Headers, header: &str) -> Option<EndId> {
        let number: u32 = headers.get(header)?.parse().ok()?;
        let number = if header == STREAM { number.checked_mul(2)? } else { number };
        let mut state = self.world().state();
        let end = state.connections.find(number)?;
        state.claim(end, self.host());
        Some(end)
    }

    /// Reads a body that is streamed, for as long as a client does that.
    async fn read_body(&self, end: EndId) -> Read {
        let mut come = Vec::new();
        let reading = async {
            while let Some(frame) = self.next_frame(end).await {
                match frame {
                    Frame::Broken => return false,
                    Frame::Part(part) => come.extend_from_slice(part.bytes()),
                    _ => {}
                }
            }
            true
        };
        match self.timeout(READS, reading).await {
            Some(true) => Read::Whole(come.into()),
            Some(false) => Read::Broken,
            None => {
                let mut state = self.world().state();
                // Nobody is there to hear that the client goes away, so it learns what it has not been told yet.
                if state.connections[end].cut {
                    return Read::Broken;
                }
                state.send_frame(end, Frame::Cancel { reason: "".into() });
                Read::Left(come.into())
            }
        }
    }

    /// Waits until the reader of a body is not far behind, or wants no more. Returns whether it wants more.
    pub(crate) async fn room_for_more(&self, end: EndId) -> bool {
        poll_fn(|cx| {
            let mut state = self.world().state();
            let task = state.tasks.waiting(cx);
            // That the connection is cut is known when the news has come.
            let (told, ahead) = (state.connections[end].told, state.connections[end.peer()].ahead);
            if told || ahead < AHEAD {
                return Poll::Ready(!told);
            }
            state.connections[end.peer()].writer = Some(task);
            state.tasks[task].waits = Waits::Elsewhere;
            // A reader need not go on.
            state.tasks[task].listens = true;
            Poll::Pending
        })
        .await
    }

    /// The next frame that comes to an end; none when a close has been read.
    pub(crate) async fn next_frame(&self, end: EndId) -> Option<Frame> {
        poll_fn(|cx| {
            let mut state = self.world().state();
            let task = state.tasks.waiting(cx);
            let reading = &mut state.connections[end];
            if let Some(frame) = reading.inbox.pop_front() {
                reading.ahead = reading.ahead.saturating_sub(1);
                let writer = reading.writer.take();
                writer.into_iter().for_each(|task| state.wake(task));
                return Poll::Ready(Some(frame));
            }
            if reading.told {
                return Poll::Ready(None);
            }
            reading.reader = Some(task);
            state.tasks[task].waits = Waits::Elsewhere;
            // Who listens is not stuck: another frame need not come.
            state.tasks[task].listens = true;
            Poll::Pending
        })
        .await
    }
}

/// How the reading of a body that is streamed came to its end.
enum Read {
    Whole(Body),
    Broken,
    /// The client wanted no more of it. Silence is no end: the rest may still come, or the news that none will.
    Left(Body),
}

/// Whether an answer has no end, and who has read of it for a while has what it came for. Everything else that has not
/// ended is not whole, and is asked for again: a client that gave up by its clock cannot know that all was done. A
/// `POST` may be answered with events too, but those have an end, because browsers listen to endless ones with `GET`.
fn is_event_stream(request: &Request, response: &Response) -> bool {
    let kind = response.headers.get("content-type").unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    request.method == "GET" && kind.eq_ignore_ascii_case("text/event-stream")
}

/// How far a client has come with what it has to say.
struct Talk {
    steps: Vec<Step>,
    /// The first step that is to be done on the next connection.
    at: usize,
    /// On how many connections it waited for this step's answer in vain.
    unanswered: usize,
}

impl Talk {
    /// Goes on with it on a new connection. Returns whether all is said, or the server wants no more.
    async fn on(&mut self, env: &Env, end: EndId) -> bool {
        let mut heard = 0;
        for at in self.at..self.steps.len() {
            let going_on = match &self.steps[at] {
                Step::Send(frame) => {
                    heard = env.world().state().connections[end].messages;
                    env.world().state().send_frame(end, frame.clone());
                    // A message whose answer is waited for is sent again if that does not come.
                    let awaited = self.steps.get(at + 1) == Some(&Step::Hear);
                    self.at = if awaited { at } else { at + 1 };
                    Ok(())
                }
                Step::Hear => {
                    let answered = listen(env, end, LISTEN_TIMEOUT, Some(heard)).await;
                    if answered == Ok(false) {
                        env.world().state().drop_end(end);
                        self.unanswered += 1;
                        return self.unanswered == CONNECTIONS_MOST;
                    }
                    self.unanswered = 0;
                    answered.map(|_| self.at = at + 1)
                }
                Step::Wait(time) => listen(env, end, *time, None).await.map(|_| self.at = at + 1),
                Step::Stay => return true,
            };
            if let Err(code) = going_on {
                // Who says goodbye in an orderly way wants nothing more.
                return code != Frame::LOST || at + 2 >= self.steps.len();
            }
        }
        true
    }
}

/// Listens for some time, or until there were more than `heard` messages, which it then says. The error is the code
/// with which the server has closed, or that of a connection that was lost.
async fn listen(env: &Env, end: EndId, time: Duration, heard: Option<u32>) -> Result<bool, u16> {
    let more = |env: &Env| {
        let messages = env.world().state().connections[end].messages;
        heard.is_some_and(|heard| messages > heard)
    };
    let reading = async {
        while !more(env) {
            match env.next_frame(end).await {
                Some(Frame::Close { code, reason }) => {
                    env.world().state().send_frame(end, Frame::Close { code, reason });
                    return Err(code);
                }
                Some(_) => {}
                None => return Err(Frame::LOST),
            }
        }
        Ok(true)
    };
    env.timeout(time, reading).await.unwrap_or(Ok(false))
}
