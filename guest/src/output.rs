//! Results for the host: the bytes of all columns in one file, and a description in JSON, which is written
//! last.

use crate::error::{ErrorContext, GuestError};
use dumbbell_core::table::{Table, Tables, Values};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

/// Writes `columns.bin` and `result.json`. Tables `beside` the others are not part of the digest.
pub fn write(
    folder: &Path,
    tables: &Tables,
    beside: &[Table],
    mut result: Value,
) -> Result<(), GuestError> {
    let what = || format!("writing to {}", folder.display());
    let file = File::create(folder.join("columns.bin")).context(what)?;
    let mut file = BufWriter::new(file);
    let mut described = Vec::new();
    for table in tables.0.iter().chain(beside) {
        for column in &table.columns {
            let (kind, bytes): (&str, Vec<u8>) = match &column.values {
                Values::I64(values) => (
                    "int64",
                    values.iter().flat_map(|v| v.to_le_bytes()).collect(),
                ),
                Values::I32(values) => (
                    "int32",
                    values.iter().flat_map(|v| v.to_le_bytes()).collect(),
                ),
                Values::I8(values) => (
                    "int8",
                    values.iter().flat_map(|v| v.to_le_bytes()).collect(),
                ),
                Values::F64(values) => (
                    "float64",
                    values.iter().flat_map(|v| v.to_le_bytes()).collect(),
                ),
            };
            file.write_all(&bytes).context(what)?;
            described.push(json!([table.name, column.name, kind, bytes.len()]));
        }
    }
    file.into_inner()
        .map_err(std::io::IntoInnerError::into_error)
        .and_then(|file| file.sync_all())
        .context(what)?;
    result["digest"] = json!(tables.digest());
    result["columns"] = json!(described);
    let unfinished = folder.join("result.part");
    fs::write(&unfinished, result.to_string()).context(what)?;
    fs::rename(unfinished, folder.join("result.json")).context(what)
}
