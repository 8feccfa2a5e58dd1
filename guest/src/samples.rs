//! Samples that the kernel module takes: the answers of route netlink, and the state of connections
//! (`struct dumbbell_traffic_item` and what it says of the kinds, `traffic/dumbbell_traffic.h`).

use crate::netlink::{self, Disciplines, u32_at, u64_at};
use crate::sys::{EndCount, TCP_INFO_BYTES};
use crate::traffic_module::EndCounters;
use dumbbell_core::time::Time;
use std::collections::HashMap;

/// `struct dumbbell_traffic_item`, and the counters before a connection's `tcp_info`.
const ITEM_BYTES: usize = 16;
const SAMPLE: u32 = 0;
const NETLINK: u32 = 1;
const END: u32 = 2;

/// What is known of an end of a connection.
#[derive(Debug, Clone, Copy)]
pub struct SeenEnd {
    /// `struct tcp_info`.
    pub info: [u8; TCP_INFO_BYTES],
    /// Counters of the module; zero if it does not serve the end.
    pub moved: EndCounters,
}

/// A sample.
#[derive(Debug)]
pub struct Sample {
    /// When it was planned.
    pub at: Time,
    /// The disciplines of every host.
    pub by_host: Vec<Disciplines>,
    /// Ends by token.
    pub ends: HashMap<u64, SeenEnd>,
}

/// The samples among the module's items; None if they break off.
pub fn parsed(
    mut bytes: &[u8],
    hosts: usize,
    as_counters: impl Fn(&EndCount) -> EndCounters,
) -> Option<Vec<Sample>> {
    let mut samples: Vec<Sample> = Vec::new();
    while !bytes.is_empty() {
        let item = bytes.get(..ITEM_BYTES)?;
        let (of, kind, length) = (u64_at(item, 0), u32_at(item, 8), u32_at(item, 12) as usize);
        let rest = &bytes[ITEM_BYTES..];
        let value = rest.get(..length)?;
        bytes = rest.get(length.next_multiple_of(8)..)?;
        if kind == SAMPLE {
            samples.push(Sample {
                at: Time(of),
                by_host: vec![Disciplines::default(); hosts],
                ends: HashMap::new(),
            });
            continue;
        }
        let sample = samples.last_mut()?;
        match kind {
            NETLINK => {
                netlink::messages(value, sample.by_host.get_mut(usize::try_from(of).ok()?)?);
            }
            END => {
                let (count, rest) = EndCount::split(value)?;
                let info = rest.get(..TCP_INFO_BYTES)?.try_into().ok()?;
                let moved = as_counters(&count);
                sample.ends.insert(of, SeenEnd { info, moved });
            }
            _ => return None,
        }
    }
    Some(samples)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(of: u64, kind: u32, value: &[u8]) -> Vec<u8> {
        let mut bytes = of.to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend((value.len() as u32).to_ne_bytes());
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }

    fn read(bytes: &[u8]) -> Option<Vec<Sample>> {
        parsed(bytes, 1, |count| EndCounters {
            bytes: count.bytes,
            ..EndCounters::default()
        })
    }

    #[test]
    fn items_belong_to_the_sample_before_them() {
        let count: Vec<u8> = [7u64, 4000, 5, 2].map(u64::to_ne_bytes).concat();
        let end = [count.as_slice(), &[9; TCP_INFO_BYTES + 12]].concat();
        let all = [
            item(5000, SAMPLE, &[]),
            item(7, END, &end),
            item(6000, SAMPLE, &[]),
        ];
        let samples = read(&all.concat()).unwrap();
        let times: Vec<_> = samples.iter().map(|sample| sample.at.0).collect();
        assert_eq!(times, [5000, 6000]);
        let seen = samples[0].ends[&7];
        assert_eq!((seen.moved.bytes, seen.info[231]), (4000, 9));
        assert!(samples[1].ends.is_empty());
    }

    #[test]
    fn what_breaks_off_or_is_not_known_is_no_sample() {
        let whole = item(5000, SAMPLE, &[]);
        assert!(read(&whole[..12]).is_none());
        assert!(read(&item(7, END, &[0; 8])).is_none());
        assert!(read(&[whole.clone(), item(7, END, &[0; 40])].concat()).is_none());
        assert!(read(&[whole.clone(), item(7, 9, &[])].concat()).is_none());
        assert!(read(&[whole, item(1, NETLINK, &[])].concat()).is_none());
        assert!(read(&[]).unwrap().is_empty());
    }
}
