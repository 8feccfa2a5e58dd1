//! Reads captures for Python.

use dumbbell_capture::analysis::{Analysis, ViewCounts, copy_view};
use dumbbell_capture::decode::{ICMPV6, Undecoded};
use dumbbell_capture::flows::{FlowRow, NUMBERS, Number};
use dumbbell_capture::frame::{ICMP, TCP, UDP};
use dumbbell_capture::over_time::{self, Interval};
use dumbbell_capture::views::{Place, View};
use dumbbell_capture::{Format, Interface, Reader};
use numpy::IntoPyArray;
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

create_exception!(dumbbell._engine, CaptureError, PyValueError);

const BUFFER_BYTES: usize = 1 << 18;
/// Packets between two checks for signals: some tens of milliseconds.
const STEP_PKTS: u64 = 1 << 16;

type Source = BufReader<Box<dyn Read + Send + Sync>>;

fn opened(path: &PathBuf) -> io::Result<Source> {
    let file = File::open(path)?;
    Ok(BufReader::with_capacity(BUFFER_BYTES, Box::new(file)))
}

/// A file read through Python. Signals interrupt reads, even without data.
struct PythonFile {
    file: Py<PyAny>,
    /// An exception raised by Python, separate from read errors.
    raised: Arc<Mutex<Option<PyErr>>>,
}

impl Read for PythonFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Python::attach(|py| {
            let read = self.file.call_method1(py, "read", (buffer.len(),));
            let piece = read.and_then(|piece| piece.extract::<Vec<u8>>(py));
            let piece = piece.map_err(|error| {
                if let Ok(mut raised) = self.raised.lock() {
                    *raised = Some(error);
                }
                io::Error::other("Python raised an exception")
            })?;
            let given = buffer.get_mut(..piece.len());
            let given = given.ok_or_else(|| io::Error::other("more bytes than were asked for"))?;
            given.copy_from_slice(&piece);
            Ok(piece.len())
        })
    }
}

fn format_name(format: Format) -> &'static str {
    match format {
        Format::Pcapng => "pcapng",
        Format::Pcap => "pcap",
    }
}

/// Address and port as text.
fn end(address: IpAddr, port: u16) -> String {
    match port {
        0 => address.to_string(),
        port => SocketAddr::new(address, port).to_string(),
    }
}

/// A flow's label: initiator, responder, and the protocol if it is not TCP.
fn label(row: &FlowRow) -> String {
    let ends = match row.is_reply {
        false => row.ends,
        true => row.ends.reversed(),
    };
    let (source, destination) = (ends.source, ends.destination);
    let ways = || {
        let from = end(source, ends.source_port);
        format!("{from} > {}", end(destination, ends.destination_port))
    };
    match (ends.protocol, row.connection) {
        (TCP, 1) => ways(),
        (TCP, number) => format!("{} #{number}", ways()),
        (UDP, _) => format!("{} UDP", ways()),
        (ICMP | ICMPV6, _) => match ends.source_port {
            0 => format!("{source} > {destination} ICMP"),
            identifier => format!("{source} > {destination} ICMP echo {identifier}"),
        },
        (other, _) => format!("{source} > {destination} protocol {other}"),
    }
}

#[pyfunction]
fn analyze_capture<'py>(
    py: Python<'py>,
    source: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let raised = Arc::new(Mutex::new(None));
    let from: Source = match source.extract::<PathBuf>() {
        Ok(path) => opened(&path)?,
        Err(_) => {
            let file = source.unbind();
            let raised = Arc::clone(&raised);
            BufReader::with_capacity(BUFFER_BYTES, Box::new(PythonFile { file, raised }))
        }
    };
    let check_raised = || match raised.lock().ok().and_then(|mut raised| raised.take()) {
        Some(error) => Err(error),
        None => Ok(()),
    };
    // The other end of a pipe may be another thread of this program.
    let analysis = py.detach(|| Analysis::new(from));
    check_raised()?;
    let mut analysis = analysis.map_err(|error| CaptureError::new_err(error.to_string()))?;
    while py.detach(|| analysis.step(STEP_PKTS)) {
        py.check_signals()?;
    }
    check_raised()?;
    described(py, &analysis)
}

fn described<'py>(py: Python<'py>, analysis: &Analysis<Source>) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    found.set_item("format", format_name(analysis.format()))?;
    found.set_item("pkts", analysis.pkts())?;
    found.set_item("bytes_read", analysis.bytes_read())?;
    let error = analysis.error.as_ref().map(ToString::to_string);
    found.set_item("error", error)?;
    found.set_item("untimed_pkts", analysis.untimed_pkts)?;
    found.set_item("unviewed_pkts", analysis.unviewed_pkts)?;
    found.set_item("passed_over_pkts", analysis.passed_over_pkts())?;
    let undecoded = PyDict::new(py);
    for reason in Undecoded::ALL {
        if let Some(pkts) = analysis.undecoded_pkts.get(&reason) {
            undecoded.set_item(reason.words(), *pkts)?;
        }
    }
    found.set_item("undecoded_pkts", undecoded)?;
    let missed = analysis.interfaces().iter();
    let missed = missed.filter_map(|interface: &Interface| interface.dropped_pkts);
    found.set_item("missed_pkts", missed.sum::<u64>())?;
    let views: Vec<_> = analysis.views().collect();
    found.set_item("views", view_list(py, &views)?)?;
    let rows: Vec<(usize, FlowRow)> = (0..)
        .zip(&views)
        .flat_map(|(index, (_, counted))| {
            let rows = counted.iter().flat_map(|counted| counted.rows());
            rows.map(move |row| (index, row))
        })
        .collect();
    let columns = PyDict::new(py);
    let of_view: Vec<i64> = rows.iter().map(|(view, _)| *view as i64).collect();
    columns.set_item("view", of_view.into_pyarray(py))?;
    let counters: [Number; 2] = [
        ("connection", |row| i64::from(row.connection)),
        ("is_reply", |row| i64::from(row.is_reply)),
    ];
    for (name, value) in counters.into_iter().chain(NUMBERS) {
        let values: Vec<i64> = rows.iter().map(|(_, row)| value(row)).collect();
        columns.set_item(name, values.into_pyarray(py))?;
    }
    found.set_item("columns", columns)?;
    let labels: Vec<String> = rows.iter().map(|(_, row)| label(row)).collect();
    found.set_item("labels", labels)?;
    let (columns, labels) = intervals(py, analysis)?;
    found.set_item("interval_columns", columns)?;
    found.set_item("interval_labels", labels)?;
    Ok(found)
}

/// One row for each interval with traffic, and the flow labels.
fn intervals<'py>(
    py: Python<'py>,
    analysis: &Analysis<Source>,
) -> PyResult<(Bound<'py, PyDict>, Vec<String>)> {
    const BEFORE: [&str; 6] = [
        "view",
        "connection",
        "is_reply",
        "window_scale",
        "begin_ns",
        "width_ns",
    ];
    let mut values = vec![Vec::new(); BEFORE.len() + over_time::NUMBERS.len()];
    let mut labels = Vec::new();
    for (view, row, timeline) in analysis.timelines() {
        let direction = usize::from(row.is_reply);
        let intervals = &timeline.directions[direction];
        let name = label(&row);
        for (index, each) in (0..).zip(&intervals.all) {
            if *each == Interval::default() {
                continue;
            }
            let since_ns = intervals.width_ns.saturating_mul(index);
            let which = [
                view as i64,
                i64::from(row.connection),
                i64::from(row.is_reply),
                timeline.window_scales()[direction].code(),
                intervals.begin_ns.saturating_add(since_ns),
                intervals.width_ns,
            ];
            let numbers = over_time::NUMBERS.iter().map(|(_, value)| value(each));
            for (column, value) in values.iter_mut().zip(which.into_iter().chain(numbers)) {
                column.push(value);
            }
            labels.push(name.clone());
        }
    }
    let names = over_time::NUMBERS.iter().map(|(name, _)| *name);
    let columns = PyDict::new(py);
    for (name, column) in BEFORE.into_iter().chain(names).zip(values) {
        columns.set_item(name, column.into_pyarray(py))?;
    }
    Ok((columns, labels))
}

fn view_list<'py>(
    py: Python<'py>,
    views: &[(&View, Option<&ViewCounts>)],
) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for (view, counted) in views {
        let item = PyDict::new(py);
        item.set_item("name", &view.name)?;
        item.set_item("place", view.place.code())?;
        item.set_item("pkts", counted.map_or(0, |counted| counted.pkts))?;
        let series = counted.and_then(|counted| counted.series.as_ref());
        let bytes = series.map_or(vec![], |series| series.all.clone());
        let bytes: Vec<i64> = bytes.into_iter().map(|bytes| bytes as i64).collect();
        item.set_item("series_bytes", bytes.into_pyarray(py))?;
        item.set_item(
            "series_width_ns",
            series.map_or(1, |series| series.width_ns),
        )?;
        item.set_item(
            "series_begin_ns",
            series.map_or(0, |series| series.begin_ns),
        )?;
        list.append(item)?;
    }
    Ok(list)
}

#[pyfunction]
#[pyo3(signature = (source, target, *, name, place, format))]
fn copy_capture(
    py: Python<'_>,
    source: PathBuf,
    target: PathBuf,
    name: &str,
    place: i8,
    format: &str,
) -> PyResult<u64> {
    let format = match format {
        "pcap" => Format::Pcap,
        "pcapng" => Format::Pcapng,
        other => {
            return Err(PyValueError::new_err(format!(
                "format {other:?}: pcap or pcapng"
            )));
        }
    };
    let place = [Place::Before, Place::After]
        .into_iter()
        .find(|known| known.code() == place)
        .unwrap_or(Place::Unknown);
    let failed = |error: &dyn ToString| CaptureError::new_err(error.to_string());
    let reader = py.detach(|| opened(&source).map(Reader::new))?;
    let mut reader = reader.map_err(|error| failed(&error))?;
    let out = File::create(&target)?;
    let out = BufWriter::with_capacity(BUFFER_BYTES, out);
    let is_wanted = |view: &View| view.name == name && view.place == place;
    py.detach(|| copy_view(&mut reader, out, format, is_wanted))
        .map_err(|error| failed(&error))
}

/// Adds the functions and the exception to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("CaptureError", module.py().get_type::<CaptureError>())?;
    module.add_function(wrap_pyfunction!(analyze_capture, module)?)?;
    module.add_function(wrap_pyfunction!(copy_capture, module)?)
}
