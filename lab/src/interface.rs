//! Functions called by JavaScript. Text and columns are in two buffers whose addresses are exported; no
//! pointer is followed here, and only the export of names is unsafe.
//!
//! A request is written to `input(length)` as UTF-8, then one function is called, then its answer is read:
//! `output_length()` bytes at `output()`. Both addresses are valid until the next call.
#![expect(unsafe_code, reason = "names for the linker")]

use crate::laboratory::{Laboratory, RunProgress};
use crate::rule::RuleEvent;
use dumbbell_engine::cca::external::EventContext;
use std::cell::RefCell;

thread_local! {
    static INPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static OUTPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static LABORATORY: RefCell<Laboratory> = RefCell::new(Laboratory::new(ask_rule));
    static ASKED: RefCell<Option<EventContext>> = const { RefCell::new(None) };
}

#[cfg(target_arch = "wasm32")]
#[link(wasm_import_module = "rule")]
unsafe extern "C" {
    /// Implemented by the page: reads and writes `count` numbers at `exchanged` (`rule::Fields`). It does not
    /// return if the rule fails; the instance is then unusable.
    safe fn heed(event: u32, exchanged: *mut f64, count: usize);
}

/// Without a page.
#[cfg(not(target_arch = "wasm32"))]
fn heed(_event: u32, _exchanged: *mut f64, _count: usize) {}

fn ask_rule(event: RuleEvent, exchanged: &mut [f64], asked: &mut EventContext) {
    ASKED.set(Some(asked.clone()));
    heed(event as u32, exchanged.as_mut_ptr(), exchanged.len());
    if let Some(after) = ASKED.take() {
        asked.stream = after.stream;
    }
}

/// A random integer from 0 to `n` - 1, from the run's seed; 0 outside a rule.
#[unsafe(no_mangle)]
pub extern "C" fn below(n: u32) -> u32 {
    ASKED.with_borrow_mut(|asked| match asked {
        Some(asked) => asked.stream.below(u64::from(n.max(1))) as u32,
        None => 0,
    })
}

/// Address for a request of `length` bytes.
#[unsafe(no_mangle)]
pub extern "C" fn input(length: usize) -> *mut u8 {
    INPUT.with_borrow_mut(|input| {
        input.clear();
        input.resize(length, 0);
        input.as_mut_ptr()
    })
}

/// Address of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn output() -> *const u8 {
    OUTPUT.with_borrow(|output| output.as_ptr())
}

/// Length of the answer, bytes.
#[unsafe(no_mangle)]
pub extern "C" fn output_length() -> usize {
    OUTPUT.with_borrow(Vec::len)
}

fn answer(bytes: Vec<u8>) {
    OUTPUT.set(bytes);
}

/// Call it once before anything else: a panic of the simulator then leaves its message as the answer.
#[unsafe(no_mangle)]
pub extern "C" fn begin() {
    std::panic::set_hook(Box::new(|fault| answer(fault.to_string().into_bytes())));
}

/// Processes the request; the answer is JSON (`request::Request`).
#[unsafe(no_mangle)]
pub extern "C" fn ask() {
    let text = INPUT.take();
    let said = LABORATORY.with_borrow_mut(|laboratory| laboratory.answer(&text));
    answer(said.into_bytes());
}

/// Advances the run by `events` events. Returns 0 if more are left, 1 at the end, 2 on failure, with the
/// reason as the answer.
#[unsafe(no_mangle)]
pub extern "C" fn advance(events: u32) -> u32 {
    let advanced = LABORATORY.with_borrow_mut(|laboratory| laboratory.advance(events));
    match advanced {
        RunProgress::Going => 0,
        RunProgress::AtItsEnd => 1,
        RunProgress::Failed(problem) => {
            answer(problem.to_json().into_bytes());
            2
        }
    }
}

/// The values of the column `TABLE.COLUMN` named in the request; the answer is 64-bit IEEE 754 numbers,
/// little-endian. Integers are exact below 2^53. 0 if there is no such column.
#[unsafe(no_mangle)]
pub extern "C" fn column() -> u32 {
    let name = INPUT.take();
    let values = LABORATORY.with_borrow(|laboratory| laboratory.column(&name));
    let is_there = values.is_some();
    answer(values.unwrap_or_default());
    u32::from(is_there)
}
