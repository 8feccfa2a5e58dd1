//! Tables filled row by row.

use dumbbell_core::table::{Column, Table, Values};
use dumbbell_core::time::Time;

/// Where there is no instant, or a number is not known.
pub const NONE: i64 = -1;

/// A table in the making: its columns are filled row by row.
pub struct TableBuilder {
    name: &'static str,
    columns: Vec<Column>,
    next: usize,
}

impl TableBuilder {
    pub fn new(name: &'static str) -> TableBuilder {
        TableBuilder {
            name,
            columns: Vec::new(),
            next: 0,
        }
    }

    fn column(mut self, values: Values, names: &[&'static str]) -> TableBuilder {
        self.columns.extend(names.iter().map(|name| Column {
            name,
            values: values.clone(),
        }));
        self
    }

    pub fn i64(self, names: &[&'static str]) -> TableBuilder {
        self.column(Values::I64(Vec::new()), names)
    }

    pub fn i32(self, names: &[&'static str]) -> TableBuilder {
        self.column(Values::I32(Vec::new()), names)
    }

    pub fn i8(self, names: &[&'static str]) -> TableBuilder {
        self.column(Values::I8(Vec::new()), names)
    }

    pub fn f64(self, names: &[&'static str]) -> TableBuilder {
        self.column(Values::F64(Vec::new()), names)
    }

    /// The next value of the row; after the last column the next row begins.
    pub fn put(&mut self, value: i64) -> &mut TableBuilder {
        match &mut self.columns[self.next].values {
            Values::I64(values) => values.push(value),
            Values::I32(values) => values.push(value as i32),
            Values::I8(values) => values.push(value as i8),
            Values::F64(values) => values.push(value as f64),
        }
        self.next = (self.next + 1) % self.columns.len();
        self
    }

    pub fn count(&mut self, value: u64) -> &mut TableBuilder {
        self.put(value as i64)
    }

    pub fn real(&mut self, value: f64) -> &mut TableBuilder {
        let Values::F64(values) = &mut self.columns[self.next].values else {
            unreachable!("the column holds whole numbers");
        };
        values.push(value);
        self.next = (self.next + 1) % self.columns.len();
        self
    }

    pub fn instant(&mut self, time: Option<Time>) -> &mut TableBuilder {
        self.put(time.map_or(NONE, |time| time.as_ns() as i64))
    }

    pub fn table(self) -> Table {
        assert_eq!(self.next, 0, "a row of {} is not whole", self.name);
        Table {
            name: self.name,
            columns: self.columns,
        }
    }
}
