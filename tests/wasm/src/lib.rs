//! Draws of a law from a named stream, for `draw.mjs`. Text comes in byte by byte, so that no
//! pointer and no unsafe code is needed: `put` every byte of the component's name, then every
//! byte of the law's JSON, then `start`, then `draw` as often as wanted.

use dumbbell_engine::sim::random::Stream;
use dumbbell_engine::spec::law::Law;
use std::cell::RefCell;

thread_local! {
    static TEXT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static SOURCE: RefCell<Option<(Law, Stream)>> = const { RefCell::new(None) };
}

/// Adds a byte of text.
#[unsafe(no_mangle)]
pub extern "C" fn put(byte: u32) {
    TEXT.with_borrow_mut(|text| text.push(byte as u8));
}

fn source(seed: u64, replication: u64, component_bytes: usize) -> Option<(Law, Stream)> {
    let text = TEXT.take();
    let (component, law) = text.split_at_checked(component_bytes)?;
    let component = str::from_utf8(component).ok()?;
    let law: Law = serde_json::from_slice(law).ok()?;
    law.validate().ok()?;
    Some((law, Stream::new(seed, replication, component)))
}

/// Takes the text; its first bytes are the component's name. 1 if there is something to draw
/// from now, 0 if the text was wrong.
#[unsafe(no_mangle)]
pub extern "C" fn start(seed: u64, replication: u64, component_bytes: u32) -> u32 {
    let source = source(seed, replication, component_bytes as usize);
    let started = u32::from(source.is_some());
    SOURCE.set(source);
    started
}

/// The bits of the next draw. An integer, since JavaScript may change the bits of a NaN.
///
/// # Panics
/// Before a successful `start`.
#[unsafe(no_mangle)]
pub extern "C" fn draw() -> u64 {
    SOURCE.with_borrow_mut(|source| {
        let (law, stream) = source.as_mut().expect("started");
        law.draw(stream).to_bits()
    })
}
