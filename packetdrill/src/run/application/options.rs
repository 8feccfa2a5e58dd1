//! setsockopt(2) and getsockopt(2).

use super::{Outcome, Role, Run, send_memory_bytes};
use crate::endpoint::Endpoint;
use crate::plan::operations::SocketOption;

impl Run<'_> {
    pub(super) fn set(&mut self, fd: i64, option: &SocketOption) -> Outcome {
        let now = self.now;
        let role = self.application.socket(fd).map(|socket| socket.role);
        match option {
            SocketOption::FastOpenConnect(_) if !self.host.fast_open.allow_client() => {
                return Outcome::Fails("EOPNOTSUPP");
            }
            SocketOption::FastOpenConnect(_) if role != Some(Role::Fresh) => {
                return Outcome::Fails("EINVAL");
            }
            SocketOption::FastOpenKey(None) => return Outcome::Fails("EINVAL"),
            _ => {}
        }
        let outcome = self.with_socket(fd, |socket| match option {
            SocketOption::SendBuffer(bytes) => {
                socket.send_memory_bytes = Some(send_memory_bytes(*bytes));
            }
            SocketOption::MostUnsent(bytes) => socket.most_unsent_bytes = *bytes,
            SocketOption::NoDelay(on) => socket.nodelay = *on,
            SocketOption::Cork(on) => socket.corks = *on,
            SocketOption::LargestSegment(bytes) => socket.mss_bytes = *bytes,
            SocketOption::CongestionControl(algorithm) => {
                socket.congestion_control = Some(*algorithm);
            }
            SocketOption::FastOpenQueue(length) => socket.has_fast_open_queue = *length > 0,
            SocketOption::FastOpenConnect(on) => socket.defers_connect = *on,
            SocketOption::FastOpenKey(key) => socket.fast_open_key = *key,
            SocketOption::SynRetries(times) => socket.syn_retries = Some(*times),
            SocketOption::ZeroCopy(on) => socket.is_zero_copy = *on,
            SocketOption::TellsReadable(on) => socket.tells_readable = *on,
            SocketOption::UserTimeout(limit_ms) => socket.user_timeout_ms = *limit_ms,
            SocketOption::Neutral | SocketOption::Error(_) | SocketOption::Stamping(_) => {}
        });
        if let Some(connection) = self.connection_of(fd) {
            match option {
                SocketOption::NoDelay(on) => connection.set_nodelay(*on, now),
                SocketOption::SendBuffer(bytes) => {
                    connection.fix_send_buffer(send_memory_bytes(*bytes));
                }
                SocketOption::MostUnsent(bytes) => connection.limit_unsent(*bytes),
                SocketOption::Cork(on) => connection.set_cork(*on, now),
                SocketOption::SynRetries(times) => connection.set_syn_retries(*times),
                SocketOption::UserTimeout(limit_ms) => connection.set_user_timeout(*limit_ms),
                SocketOption::Stamping(stamping) => connection.set_stamping(*stamping),
                _ => {}
            }
        }
        outcome
    }

    pub(super) fn get(&mut self, fd: i64, option: &SocketOption) -> Outcome {
        let connection = self.connection_of(fd).map(|one| &*one);
        let mss_bytes = connection.map(Endpoint::mss_bytes);
        let has_failed = connection.is_some_and(|one| one.state().error().is_some());
        let Some(socket) = self.application.socket(fd) else {
            return Outcome::Fails("EBADF");
        };
        let found = match option {
            SocketOption::SendBuffer(bytes) => (socket.send_memory_bytes.unwrap_or(*bytes), *bytes),
            SocketOption::MostUnsent(bytes) => {
                (u64::from(socket.most_unsent_bytes), u64::from(*bytes))
            }
            SocketOption::NoDelay(on) => (u64::from(socket.nodelay), u64::from(*on)),
            SocketOption::Cork(on) => (u64::from(socket.corks), u64::from(*on)),
            SocketOption::LargestSegment(bytes) => {
                let found = mss_bytes.unwrap_or(socket.mss_bytes);
                (u64::from(found), u64::from(*bytes))
            }
            SocketOption::Error(wanted) => (u64::from(has_failed), u64::from(*wanted != 0)),
            SocketOption::FastOpenConnect(on) => (u64::from(socket.defers_connect), u64::from(*on)),
            SocketOption::ZeroCopy(on) => (u64::from(socket.is_zero_copy), u64::from(*on)),
            SocketOption::TellsReadable(on) => (u64::from(socket.tells_readable), u64::from(*on)),
            SocketOption::SynRetries(times) => (
                u64::from(socket.syn_retries.unwrap_or(*times)),
                u64::from(*times),
            ),
            SocketOption::UserTimeout(limit_ms) => {
                (u64::from(socket.user_timeout_ms), u64::from(*limit_ms))
            }
            SocketOption::Neutral
            | SocketOption::Stamping(_)
            | SocketOption::CongestionControl(_)
            | SocketOption::FastOpenQueue(_)
            | SocketOption::FastOpenKey(_) => (0, 0),
        };
        Outcome::Finds(found.0, found.1)
    }
}
