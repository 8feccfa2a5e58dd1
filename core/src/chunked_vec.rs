//! A growing list stored in chunks: growth neither copies values nor needs twice the memory, and the memory
//! in use is known.

use std::slice;
use std::sync::atomic::{AtomicBool, Ordering};

/// Approximate size of a full chunk, bytes.
const PIECE_BYTES: usize = 1 << 20;
/// Size of the first chunk, bytes: most lists are short, and each flow has several.
const FIRST_BYTES: usize = 128;

/// An append-only list of rows.
#[derive(Debug, Clone)]
pub struct ChunkedVec<T> {
    /// All chunks but the last are full.
    pieces: Vec<Vec<T>>,
    len: usize,
}

impl<T> Default for ChunkedVec<T> {
    fn default() -> Self {
        ChunkedVec {
            pieces: Vec::new(),
            len: 0,
        }
    }
}

impl<T> ChunkedVec<T> {
    const PIECE: usize = {
        assert!(size_of::<T>() > 0 && size_of::<T>() <= PIECE_BYTES);
        1 << (PIECE_BYTES / size_of::<T>()).ilog2()
    };
    const FIRST_PLACES: usize = if size_of::<T>() < FIRST_BYTES {
        FIRST_BYTES / size_of::<T>()
    } else {
        1
    };

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends a row.
    #[inline]
    pub fn push(&mut self, row: T) {
        if self.len.is_multiple_of(Self::PIECE) {
            self.add_piece();
        }
        let piece = self.pieces.last_mut().expect("a piece was added");
        piece.push(row);
        self.len += 1;
    }

    #[cold]
    #[inline(never)]
    fn add_piece(&mut self) {
        let places = match self.pieces.is_empty() {
            true => Self::FIRST_PLACES,
            false => Self::PIECE,
        };
        self.pieces.push(Vec::with_capacity(places));
    }

    /// The row added last.
    #[inline]
    pub fn last(&self) -> Option<&T> {
        self.pieces.last()?.last()
    }

    /// A row by index, mutable.
    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        let piece = self.pieces.get_mut(index / Self::PIECE)?;
        piece.get_mut(index % Self::PIECE)
    }

    /// All rows in order.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter {
            pieces: self.pieces.iter(),
            rows: [].iter(),
            left: self.len,
            stop: None,
        }
    }

    /// All rows in order; stops early after `stop` is set, when the result is no longer needed.
    pub fn until<'a>(&'a self, stop: &'a AtomicBool) -> Iter<'a, T> {
        Iter {
            stop: Some(stop),
            ..self.iter()
        }
    }

    /// Memory in use.
    pub fn memory_bytes(&self) -> u64 {
        let places: usize = self.pieces.iter().map(Vec::capacity).sum();
        (places * size_of::<T>()) as u64
    }
}

/// The rows in order, with exact size, so that columns can be allocated once.
#[derive(Debug, Clone)]
pub struct Iter<'a, T> {
    pieces: slice::Iter<'a, Vec<T>>,
    rows: slice::Iter<'a, T>,
    left: usize,
    stop: Option<&'a AtomicBool>,
}

impl<'a, T> Iterator for Iter<'a, T> {
    type Item = &'a T;

    #[inline]
    fn next(&mut self) -> Option<&'a T> {
        loop {
            if let Some(row) = self.rows.next() {
                self.left -= 1;
                return Some(row);
            }
            if self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                return None;
            }
            self.rows = self.pieces.next()?.iter();
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<T> ExactSizeIterator for Iter<'_, T> {}

impl<'a, T> IntoIterator for &'a ChunkedVec<T> {
    type Item = &'a T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

/// An iterator of known length.
#[derive(Debug, Clone)]
pub struct ExactSize<I> {
    values: I,
    left: usize,
}

impl<I: Iterator> ExactSize<I> {
    /// Wraps an iterator over `len` values.
    pub fn new(values: I, len: usize) -> ExactSize<I> {
        ExactSize { values, left: len }
    }
}

impl<I: Iterator> Iterator for ExactSize<I> {
    type Item = I::Item;

    #[inline]
    fn next(&mut self) -> Option<I::Item> {
        let value = self.values.next()?;
        self.left -= 1;
        Some(value)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_in_order_across_pieces() {
        let mut rows: ChunkedVec<[u64; 1000]> = ChunkedVec::default();
        assert_eq!((rows.len(), rows.memory_bytes()), (0, 0));
        for number in 0..300 {
            rows.push([number; 1000]);
        }
        assert_eq!(rows.len(), 300);
        assert_eq!(rows.iter().len(), 300);
        assert!(rows.iter().map(|row| row[0]).eq(0..300));
        rows.get_mut(200).unwrap()[0] = 7;
        assert_eq!(rows.iter().nth(200).unwrap()[0], 7);
        assert!(rows.get_mut(300).is_none());
    }

    #[test]
    fn nothing_more_comes_once_it_is_stopped() {
        let mut rows: ChunkedVec<u64> = ChunkedVec::default();
        (0..1_000_000).for_each(|number| rows.push(number));
        let stop = AtomicBool::new(false);
        let mut some = rows.until(&stop);
        assert_eq!(some.next(), Some(&0));
        stop.store(true, Ordering::Relaxed);
        assert!(some.count() < 200_000);
    }

    #[test]
    fn memory_is_less_than_a_piece_more_than_the_rows() {
        let mut rows: ChunkedVec<u64> = ChunkedVec::default();
        rows.push(1);
        assert!(rows.memory_bytes() <= FIRST_BYTES as u64);
        for number in 0..1_000_000 {
            rows.push(number);
        }
        let least = 8 * rows.len() as u64;
        let most = least + PIECE_BYTES as u64;
        assert!((least..=most).contains(&rows.memory_bytes()));
    }
}
