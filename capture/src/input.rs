//! Reads complete elements from a stream that may be truncated.

use crate::error::ReadError;
use std::io::{self, Read};

/// A stream that counts the bytes read.
#[derive(Debug)]
pub(crate) struct Input<R> {
    from: R,
    at: u64,
}

impl<R: Read> Input<R> {
    pub(crate) fn new(from: R) -> Input<R> {
        Input { from, at: 0 }
    }

    /// Number of bytes read so far.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// Clears the buffer and reads up to `count` bytes into it, fewer only at the end of the file.
    ///
    /// The buffer grows with the bytes present, not with the length stated in the file.
    pub(crate) fn read_up_to(&mut self, buffer: &mut Vec<u8>, count: u64) -> Result<(), ReadError> {
        buffer.clear();
        let read = (&mut self.from).take(count).read_to_end(buffer);
        let at = self.at;
        self.at += buffer.len() as u64;
        read.map(drop)
            .map_err(|source| ReadError::Io { at, source })
    }

    /// Reads `count` bytes of an element that began at `begin` and has `wanted` bytes in total.
    pub(crate) fn read_exactly(
        &mut self,
        buffer: &mut Vec<u8>,
        count: u64,
        of: Extent,
    ) -> Result<(), ReadError> {
        self.read_up_to(buffer, count)?;
        if (buffer.len() as u64) < count {
            return Err(self.truncated(of));
        }
        Ok(())
    }

    /// Skips `count` bytes.
    pub(crate) fn skip(&mut self, count: u64, of: Extent) -> Result<(), ReadError> {
        let at = self.at;
        let passed = io::copy(&mut (&mut self.from).take(count), &mut io::sink());
        let passed = passed.map_err(|source| ReadError::Io { at, source })?;
        self.at += passed;
        if passed < count {
            return Err(self.truncated(of));
        }
        Ok(())
    }

    fn truncated(&self, of: Extent) -> ReadError {
        ReadError::Truncated {
            at: of.begin,
            what: of.what,
            wanted: of.bytes,
            found: self.at - of.begin,
        }
    }
}

/// An element that must be read completely.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extent {
    pub what: &'static str,
    /// Offset of its first byte in the file.
    pub begin: u64,
    pub bytes: u64,
}
