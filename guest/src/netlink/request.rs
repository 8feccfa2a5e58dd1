//! Requests to route netlink, and their answers (RFC 3549; netlink(7)).

use super::{HEADER, NLMSG_ERROR, u16_at, u32_at};
use crate::error::GuestError;
use crate::sys::Socket;
use std::io;

const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
/// Most bytes of one send: far below the smallest send buffer of a socket.
const MOST_BYTES: usize = 1 << 15;

/// An attribute, padded to four bytes.
pub fn written(name: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = ((value.len() + 4) as u16).to_ne_bytes().to_vec();
    bytes.extend(name.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// Attributes one after the other.
#[derive(Debug, Default)]
pub struct Attributes(Vec<u8>);

impl Attributes {
    /// Adds an attribute.
    pub fn attribute(&mut self, name: u16, value: &[u8]) {
        self.0.extend(written(name, value));
    }

    /// Adds an attribute that holds others.
    pub fn nested(&mut self, name: u16, fill: impl FnOnce(&mut Attributes)) {
        let mut inside = Attributes::default();
        fill(&mut inside);
        self.attribute(name, &inside.0);
    }
}

/// A request for a change.
#[derive(Debug)]
pub struct Request {
    kind: u16,
    flags: u16,
    body: Attributes,
    what: String,
}

impl Request {
    /// A request without a body.
    ///
    /// # Arguments
    ///
    /// * `kind` - `RTM_NEW...`.
    /// * `flags` - `NLM_F_CREATE` and the like.
    /// * `what` - what fails if the kernel refuses it.
    pub fn new(kind: u16, flags: u16, what: String) -> Request {
        let body = Attributes::default();
        Request {
            kind,
            flags,
            body,
            what,
        }
    }

    /// Adds a part of the structure with which the body begins.
    pub fn header(&mut self, bytes: &[u8]) {
        self.body.0.extend(bytes);
    }

    /// Adds an attribute.
    pub fn attribute(&mut self, name: u16, value: &[u8]) {
        self.body.attribute(name, value);
    }

    /// Adds an attribute that holds others.
    pub fn nested(&mut self, name: u16, fill: impl FnOnce(&mut Attributes)) {
        self.body.nested(name, fill);
    }

    fn bytes(&self, number: u32, more_flags: u16) -> Vec<u8> {
        let body = &self.body.0;
        let mut bytes = ((HEADER + body.len()) as u32).to_ne_bytes().to_vec();
        bytes.extend(self.kind.to_ne_bytes());
        bytes.extend((self.flags | NLM_F_REQUEST | more_flags).to_ne_bytes());
        bytes.extend(number.to_ne_bytes());
        bytes.extend([0; 4]);
        bytes.extend(body);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }
}

/// Requests that are sent together, and carried out in their order.
#[derive(Debug, Default)]
pub struct Batch(Vec<Request>);

impl Batch {
    /// Adds one.
    pub fn add(&mut self, request: Request) {
        self.0.push(request);
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sends all.
    ///
    /// # Errors
    ///
    /// The first request that was refused. Those after it may have been carried out.
    pub fn send(&self, socket: &Socket) -> Result<(), GuestError> {
        let mut first = 0;
        while first < self.0.len() {
            first = self.send_some(socket, first)?;
        }
        Ok(())
    }

    /// Sends as many as fit into one message, from one on. Returns the number of the next one.
    fn send_some(&self, socket: &Socket, first: usize) -> Result<usize, GuestError> {
        let mut bytes = Vec::new();
        let mut last = first;
        let mut last_at = 0;
        for (number, request) in self.0.iter().enumerate().skip(first) {
            let next = request.bytes(number as u32, 0);
            if !bytes.is_empty() && bytes.len() + next.len() > MOST_BYTES {
                break;
            }
            (last, last_at) = (number, bytes.len());
            bytes.extend(next);
        }
        // The kernel answers what it refuses, and of the rest the last one, which asks for it.
        let acknowledged = self.0[last].bytes(last as u32, NLM_F_ACK);
        bytes[last_at..].copy_from_slice(&acknowledged);
        let system = |number: usize, source| GuestError::System {
            what: self.0[number].what.clone(),
            source,
        };
        socket.send(&bytes).map_err(|error| system(first, error))?;
        let (number, error) = answer(socket).map_err(|error| system(last, error))?;
        let number = number as usize;
        match error {
            0 if number == last => Ok(last + 1),
            0 => Err(system(last, io::Error::other("another answer"))),
            error => {
                let number = if number < self.0.len() { number } else { last };
                Err(system(number, io::Error::from_raw_os_error(-error)))
            }
        }
    }
}

/// The number of a request and the error with which it was answered, 0 if it was carried out. The kernel
/// answers in the call that asks.
fn answer(socket: &Socket) -> io::Result<(u32, i32)> {
    let mut buffer = [0u8; 1 << 12];
    while let Some(length) = socket.receive(&mut buffer)? {
        let answer = &buffer[..length.min(buffer.len())];
        if answer.len() >= HEADER + 4 && u16_at(answer, 4) == NLMSG_ERROR {
            return Ok((u32_at(answer, 8), u32_at(answer, HEADER) as i32));
        }
    }
    Err(io::Error::other("no answer"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_a_header_a_structure_and_attributes() {
        let mut request = Request::new(16, 0x600, "making it".to_owned());
        request.header(&[7, 0, 0, 0]);
        request.nested(18, |inside| inside.attribute(1, b"ifb"));
        let bytes = request.bytes(5, NLM_F_ACK);
        let header = [32u32.to_ne_bytes(), [16, 0, 5, 6], [5, 0, 0, 0], [0; 4]].concat();
        let body = [7, 0, 0, 0, 12, 0, 18, 0, 7, 0, 1, 0, b'i', b'f', b'b', 0];
        assert_eq!(bytes, [header, body.to_vec()].concat());
    }

    /// Messages of unknown types are refused, also by a user who may change nothing.
    #[test]
    fn the_first_request_that_is_refused_is_named() {
        let socket = Socket::netlink().unwrap();
        let mut batch = Batch::default();
        for what in ["the first", "the second"] {
            batch.add(Request::new(0xfff, 0, what.to_owned()));
        }
        let refused = batch.send(&socket).unwrap_err().to_string();
        assert!(refused.starts_with("the first: "), "{refused}");
        assert!(Batch::default().send(&socket).is_ok());
    }
}
