//! Reading whole things from a stream that may end anywhere.

use crate::error::ReadError;
use std::io::{self, Read};

/// A stream that knows how far it has been read.
#[derive(Debug)]
pub(crate) struct Input<R> {
    from: R,
    at: u64,
}

impl<R: Read> Input<R> {
    pub(crate) fn new(from: R) -> Input<R> {
        Input { from, at: 0 }
    }

    /// Bytes taken so far.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// Reads up to `count` bytes into an emptied buffer, fewer only at the end of the file.
    ///
    /// The buffer grows with what is there, not with what a file says it has.
    pub(crate) fn read_up_to(&mut self, buffer: &mut Vec<u8>, count: u64) -> Result<(), ReadError> {
        buffer.clear();
        let read = (&mut self.from).take(count).read_to_end(buffer);
        let at = self.at;
        self.at += buffer.len() as u64;
        read.map(drop)
            .map_err(|source| ReadError::Io { at, source })
    }

    /// Reads `count` bytes of a thing that began at `begin` and has `wanted` bytes in all.
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

    /// Passes over `count` bytes.
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

/// Something that is to be read whole.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extent {
    pub what: &'static str,
    /// Its first byte in the file.
    pub begin: u64,
    pub bytes: u64,
}
