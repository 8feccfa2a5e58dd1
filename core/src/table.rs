//! Tables of named columns, and the digest of their values. Names carry units.
//!
//! The digest is a hash of the columns' canonical bytes: the same run gives the same digest on
//! every machine, with any number of threads.

use crate::digest::Digest;
use std::sync::atomic::AtomicBool;

/// Marks a missing value in a column of counts or instants.
pub const NONE: i64 = -1;

/// The values of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Counts, bytes, nanoseconds.
    I64(Vec<i64>),
    /// Indices.
    I32(Vec<i32>),
    /// Small codes.
    I8(Vec<i8>),
    /// Seconds, means.
    F64(Vec<f64>),
}

/// A named column.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Name with the unit.
    pub name: &'static str,
    /// One value for each row of the table.
    pub values: Values,
}

/// A named table.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// `flows`, `queues`, ...
    pub name: &'static str,
    /// Columns of equal length.
    pub columns: Vec<Column>,
}

/// All tables of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tables(pub Vec<Table>);

impl Tables {
    /// A column by name, for tests and examples.
    ///
    /// # Panics
    /// When there is no such column of 64-bit integers.
    pub fn column_i64(&self, table: &str, column: &str) -> &[i64] {
        match self.column(table, column) {
            Values::I64(values) => values,
            other => panic!("{table}.{column} holds {other:?}"),
        }
    }

    /// A column by name, for tests and examples.
    ///
    /// # Panics
    /// When there is no such column of floating-point numbers.
    pub fn column_f64(&self, table: &str, column: &str) -> &[f64] {
        match self.column(table, column) {
            Values::F64(values) => values,
            other => panic!("{table}.{column} holds {other:?}"),
        }
    }

    fn column(&self, table: &str, column: &str) -> &Values {
        let found = self.0.iter().find(|candidate| candidate.name == table);
        let columns = &found.expect("a table of that name").columns;
        let found = columns.iter().find(|candidate| candidate.name == column);
        &found.expect("a column of that name").values
    }

    /// Memory in use, bytes.
    pub fn memory_bytes(&self) -> u64 {
        let columns = self.0.iter().flat_map(|table| &table.columns);
        let bytes = columns.map(|column| match &column.values {
            Values::I64(values) => size_of_val(values.as_slice()),
            Values::I32(values) => size_of_val(values.as_slice()),
            Values::I8(values) => size_of_val(values.as_slice()),
            Values::F64(values) => size_of_val(values.as_slice()),
        });
        bytes.sum::<usize>() as u64
    }

    /// The hash of every column, in hexadecimal.
    pub fn digest(&self) -> String {
        self.hashed(Digest::new())
    }

    /// As `digest`, abandoned soon after `stop` is set; the result is then meaningless.
    pub fn digest_until(&self, stop: &AtomicBool) -> String {
        self.hashed(Digest::until(stop))
    }

    fn hashed(&self, mut digest: Digest) -> String {
        for table in &self.0 {
            for column in &table.columns {
                match &column.values {
                    Values::I64(values) => digest.column_i64(table.name, column.name, values),
                    Values::I32(values) => digest.column_i32(table.name, column.name, values),
                    Values::I8(values) => digest.column_i8(table.name, column.name, values),
                    Values::F64(values) => digest.column_f64(table.name, column.name, values),
                }
            }
        }
        digest.finish()
    }
}
