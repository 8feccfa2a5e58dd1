//! Items that the kernel module keeps: samples, which are the answers of route netlink and the state of
//! connections, what was sent and received of datagrams, and what was opened and closed for transfers (`struct
//! dumbbell_traffic_item` and what it says of the kinds, `traffic/dumbbell_traffic.h`).

use crate::netlink::{self, Disciplines, u32_at, u64_at};
use crate::sys::{EndCount, TCP_INFO_BYTES};
use crate::traffic_module::EndCounters;
use dumbbell_core::time::Time;
use std::collections::HashMap;

/// `struct dumbbell_traffic_item`, and `struct dumbbell_traffic_arrival`.
const ITEM_BYTES: usize = 16;
const ARRIVAL_BYTES: usize = 16;
const SAMPLE: u32 = 0;
const NETLINK: u32 = 1;
const END: u32 = 2;
const SENT: u32 = 3;
const ARRIVED: u32 = 4;
const OPENED: u32 = 20;
const CLOSED: u32 = 21;
const LOOKED: u32 = 22;

/// What is known of an end of a connection.
#[derive(Debug, Clone, Copy)]
pub struct SeenEnd {
    /// `struct tcp_info`.
    pub info: [u8; TCP_INFO_BYTES],
    /// Counters of the module; zero if it does not serve the end.
    pub moved: EndCounters,
}

/// Ends by token.
pub type Ends = HashMap<u64, SeenEnd>;

/// A connection that the module has closed.
#[derive(Debug)]
pub struct Closed {
    /// Of the sender.
    pub token: u64,
    /// When all had arrived, on the monotonic clock; None if it has not.
    pub completed_ns: Option<u64>,
    /// The sender at the end.
    pub sender: SeenEnd,
    /// The receiver, if the connection had been accepted.
    pub receiver: Option<SeenEnd>,
}

/// A sample.
#[derive(Debug)]
pub struct Sample {
    /// When it was planned.
    pub at: Time,
    /// The disciplines of every host.
    pub by_host: Vec<Disciplines>,
    /// Ends of connections.
    pub ends: Ends,
}

/// A datagram that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival<'a> {
    /// Of the socket.
    pub token: u64,
    /// On the monotonic clock.
    pub at_ns: u64,
    /// Of the whole datagram.
    pub bytes: usize,
    /// To whom it was sent back, if it was.
    pub client: usize,
    /// Its beginning.
    pub head: &'a [u8],
}

/// What the module did.
#[derive(Debug)]
pub enum Item<'a> {
    /// A sample was taken.
    Sample(Sample),
    /// A source sent the next datagram of its schedule.
    Sent {
        /// Of the source.
        order: u64,
    },
    /// A datagram has arrived.
    Arrived(Arrival<'a>),
    /// A transfer has begun.
    Opened {
        /// Of the source.
        order: u64,
        /// When it was due.
        at: Time,
        /// Payload.
        bytes: u64,
    },
    /// The connection of a transfer was closed.
    Closed(Box<Closed>),
    /// The connections of a source were looked at.
    Looked {
        /// Of the source.
        order: u64,
        /// Ends of its connections.
        ends: Ends,
    },
}

/// The module's items; None if they break off.
pub fn parsed(
    mut bytes: &[u8],
    hosts: usize,
    as_counters: impl Fn(&EndCount) -> EndCounters,
) -> Option<Vec<Item<'_>>> {
    let mut items: Vec<Item> = Vec::new();
    while !bytes.is_empty() {
        let item = bytes.get(..ITEM_BYTES)?;
        let (of, kind, length) = (u64_at(item, 0), u32_at(item, 8), u32_at(item, 12) as usize);
        let rest = &bytes[ITEM_BYTES..];
        let value = rest.get(..length)?;
        bytes = rest.get(length.next_multiple_of(8)..)?;
        match kind {
            SAMPLE => items.push(Item::Sample(Sample {
                at: Time(of),
                by_host: vec![Disciplines::default(); hosts],
                ends: Ends::new(),
            })),
            SENT => items.push(Item::Sent { order: of }),
            ARRIVED => {
                let (arrival, head) = value.split_at_checked(ARRIVAL_BYTES)?;
                items.push(Item::Arrived(Arrival {
                    token: of,
                    at_ns: u64_at(arrival, 0),
                    bytes: u32_at(arrival, 8) as usize,
                    client: u32_at(arrival, 12) as usize,
                    head,
                }));
            }
            OPENED => items.push(Item::Opened {
                order: of,
                at: Time(u64_at(value.get(..16)?, 0)),
                bytes: u64_at(value, 8),
            }),
            CLOSED => {
                let (head, ends) = value.split_at_checked(16)?;
                let (sender, rest) = seen_end(ends, &as_counters)?;
                let (receiver, _) = seen_end(rest, &as_counters)?;
                items.push(Item::Closed(Box::new(Closed {
                    token: of,
                    completed_ns: Some(u64_at(head, 0)).filter(|at| *at > 0),
                    sender,
                    receiver: (u64_at(head, 8) > 0).then_some(receiver),
                })));
            }
            LOOKED => items.push(Item::Looked {
                order: of,
                ends: Ends::new(),
            }),
            // What was looked at is whole before anything else happens.
            NETLINK => {
                let Some(Item::Sample(sample)) = items.last_mut() else {
                    return None;
                };
                let host = sample.by_host.get_mut(usize::try_from(of).ok()?)?;
                netlink::messages(value, host);
            }
            END => {
                let (Some(Item::Sample(Sample { ends, .. })) | Some(Item::Looked { ends, .. })) =
                    items.last_mut()
                else {
                    return None;
                };
                ends.insert(of, seen_end(value, &as_counters)?.0);
            }
            _ => return None,
        }
    }
    Some(items)
}

/// An end at the beginning of a value, and the rest.
fn seen_end(
    value: &[u8],
    as_counters: impl Fn(&EndCount) -> EndCounters,
) -> Option<(SeenEnd, &[u8])> {
    let (count, rest) = EndCount::split(value)?;
    let (info, rest) = rest.split_first_chunk::<TCP_INFO_BYTES>()?;
    let moved = as_counters(&count);
    Some((SeenEnd { info: *info, moved }, rest))
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

    fn read(bytes: &[u8]) -> Option<Vec<Item<'_>>> {
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
        let all = all.concat();
        let items = read(&all).unwrap();
        let [Item::Sample(first), Item::Sample(second)] = items.as_slice() else {
            panic!("{items:?}");
        };
        assert_eq!((first.at, second.at), (Time(5000), Time(6000)));
        let seen = first.ends[&7];
        assert_eq!((seen.moved.bytes, seen.info[231]), (4000, 9));
        assert!(second.ends.is_empty());
    }

    #[test]
    fn datagrams_are_between_samples_in_the_order_of_what_happened() {
        let arrival = [
            &77u64.to_ne_bytes()[..],
            &[200, 0, 0, 0, 3, 0, 0, 0],
            &[1, 2, 3, 4],
        ];
        let all = [
            item(5000, SAMPLE, &[]),
            item(2 << 32, SENT, &[]),
            item(9, ARRIVED, &arrival.concat()),
            item(6000, SAMPLE, &[]),
        ];
        let all = all.concat();
        let items = read(&all).unwrap();
        let [
            Item::Sample(_),
            Item::Sent { order },
            Item::Arrived(arrived),
            Item::Sample(_),
        ] = items.as_slice()
        else {
            panic!("{items:?}");
        };
        assert_eq!(*order, 2 << 32);
        let expected = Arrival {
            token: 9,
            at_ns: 77,
            bytes: u32::from_ne_bytes([200, 0, 0, 0]) as usize,
            client: u32::from_ne_bytes([3, 0, 0, 0]) as usize,
            head: &[1, 2, 3, 4],
        };
        assert_eq!(*arrived, expected);
    }

    #[test]
    fn transfers_are_between_samples_with_both_ends_of_what_was_closed() {
        let words =
            |words: &[u64]| -> Vec<u8> { words.iter().flat_map(|w| w.to_ne_bytes()).collect() };
        let end = |bytes: u64| [words(&[7, bytes, 5, 2]), vec![9; TCP_INFO_BYTES]].concat();
        let closed = |completed: u64, has_receiver: u64| {
            [words(&[completed, has_receiver]), end(4000), end(3000)].concat()
        };
        let all = [
            item(2 << 32, OPENED, &words(&[5000, 4000])),
            item(3, CLOSED, &closed(77, 1)),
            item(4, CLOSED, &closed(0, 0)),
            item(2 << 32, LOOKED, &[]),
            item(7, END, &end(10)),
        ];
        let all = all.concat();
        let items = read(&all).unwrap();
        let [
            Item::Opened { order, at, bytes },
            Item::Closed(whole),
            Item::Closed(never),
            Item::Looked {
                order: looked,
                ends,
            },
        ] = items.as_slice()
        else {
            panic!("{items:?}");
        };
        assert_eq!(
            (*order, *at, *bytes, *looked),
            (2 << 32, Time(5000), 4000, 2 << 32)
        );
        assert_eq!((whole.token, whole.completed_ns), (3, Some(77)));
        assert_eq!(whole.sender.moved.bytes, 4000);
        assert_eq!(whole.receiver.unwrap().moved.bytes, 3000);
        assert!(never.completed_ns.is_none() && never.receiver.is_none());
        assert_eq!(ends[&7].moved.bytes, 10);
        assert!(read(&item(3, CLOSED, &closed(77, 1)[..300])).is_none());
        assert!(read(&item(3, OPENED, &words(&[5000]))).is_none());
    }

    #[test]
    fn what_breaks_off_or_is_not_known_is_no_sample() {
        let whole = item(5000, SAMPLE, &[]);
        assert!(read(&whole[..12]).is_none());
        assert!(read(&item(7, END, &[0; 8])).is_none());
        assert!(read(&[whole.clone(), item(7, END, &[0; 40])].concat()).is_none());
        assert!(read(&[whole.clone(), item(7, 9, &[])].concat()).is_none());
        assert!(read(&[whole.clone(), item(1, NETLINK, &[])].concat()).is_none());
        let sent = item(2 << 32, SENT, &[]);
        assert!(read(&[whole, sent, item(0, NETLINK, &[])].concat()).is_none());
        assert!(read(&item(9, ARRIVED, &[0; 8])).is_none());
        assert!(read(&[]).unwrap().is_empty());
    }
}
