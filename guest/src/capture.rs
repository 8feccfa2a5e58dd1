//! Observes every packet at a queue twice: on arrival (a filter in front of the queue sends a copy to a
//! separate device, or the kernel module records it there) and when the device behind the queue takes it. From
//! both follow sojourn times and drops, whoever sent the packet.

use crate::capture_file::{CaptureFile, SNAP_BYTES};
use crate::error::{ErrorContext, GuestError};
use crate::hosts::Hosts;
use crate::job::Job;
use crate::pairing::{Pairing, QueuedPacket, sighting, tcp_headers_bytes};
use crate::sys::{self, Frame, Ring};
use crate::traffic_module::TrafficModule;
use dumbbell_core::time::Time;
use dumbbell_spec::Experiment;
use std::rc::Rc;

/// What is seen at the two points of a queue.
struct Watch {
    queue: usize,
    pairing: Pairing,
    /// First of its two interfaces in the capture file; None if not captured.
    captured: Option<u32>,
}

/// What observes: two points for each queue, before and behind it.
enum Points {
    Rings(Vec<[Ring; 2]>),
    /// Points are numbered: two for each queue.
    Taps {
        module: Rc<TrafficModule>,
        /// Room for records.
        room: Vec<u8>,
    },
}

/// All watched queues.
pub struct Captures {
    watches: Vec<Watch>,
    points: Points,
    /// Wall clock at the run's time zero.
    zero_wall_ns: u64,
    /// None if no link asks for a capture.
    file: Option<CaptureFile>,
}

impl Captures {
    /// Opens the observation points, inside the module if there is one.
    pub fn new(
        job: &Job,
        experiment: &Experiment,
        hosts: &Hosts,
        module: Option<&Rc<TrafficModule>>,
    ) -> Result<Captures, GuestError> {
        let names = experiment.queue_names();
        let ends: Vec<_> = experiment.link_ends().map(|(_, _, end)| end).collect();
        let mut file = None;
        if ends.iter().any(|end| end.capture) {
            file = Some(CaptureFile::create(
                &job.output,
                Time::from_ns(experiment.duration_ns),
            )?);
        }
        let mut watches = Vec::new();
        let mut points = match module {
            None => Points::Rings(Vec::new()),
            Some(module) => Points::taps(Rc::clone(module)),
        };
        for watched in &job.watched {
            let what = || format!("watching {}", watched.device);
            hosts.enter(watched.host)?;
            let captured = match &mut file {
                Some(file) if ends[watched.queue].capture => {
                    Some(file.add_queue(&names[watched.queue])?)
                }
                _ => None,
            };
            let device = |name: &str| sys::device_index(name).context(what);
            let devices = [device(&watched.copies)?, device(&watched.device)?];
            match &mut points {
                Points::Rings(rings) => {
                    let [before, after] = devices.map(Ring::new);
                    rings.push([before.context(what)?, after.context(what)?]);
                }
                Points::Taps { module, .. } => {
                    let head_bytes = captured.map_or(0, |_| SNAP_BYTES);
                    let [copies, device] = devices;
                    module.tap(2 * watches.len(), (copies, device), head_bytes)?;
                }
            }
            watches.push(Watch {
                queue: watched.queue,
                pairing: Pairing::new(ends[watched.queue].qdisc.damages()),
                captured,
            });
        }
        Ok(Captures {
            watches,
            points,
            zero_wall_ns: 0,
            file,
        })
    }

    /// Sets the run's time zero, on the monotonic clock.
    pub fn start(&mut self, zero_ns: u64) {
        self.zero_wall_ns = zero_ns + sys::wall_ahead_ns();
    }

    /// Whether nothing is watched.
    pub fn is_empty(&self) -> bool {
        self.watches.is_empty()
    }

    /// Processes packets seen so far, and writes the capture. Must be called before the rings are full.
    pub fn drain(&mut self) -> Result<(), GuestError> {
        if self.watches.is_empty() {
            return Ok(());
        }
        let (zero, file) = (self.zero_wall_ns, &mut self.file);
        let watches = &mut self.watches;
        self.points
            .drain(watches.len(), |number, is_behind, frame| {
                let watch = &mut watches[number];
                if let (Some(file), Some(first)) = (file.as_mut(), watch.captured) {
                    file.keep(first + u32::from(is_behind), zero, frame);
                }
                watch.saw(is_behind, frame, zero);
            })?;
        self.file.as_mut().map_or(Ok(()), CaptureFile::write_kept)
    }

    /// Packets of each queue at which no packet was missed.
    pub fn passages(mut self) -> Result<Vec<(usize, Vec<QueuedPacket>)>, GuestError> {
        self.drain()?;
        let mut all = Vec::new();
        let mut missed_in_file = Vec::new();
        for (number, watch) in self.watches.into_iter().enumerate() {
            let missed = self.points.missed(number)?;
            if watch.captured.is_some() {
                missed_in_file.extend(missed);
            }
            if missed == [0, 0] {
                all.push((watch.queue, watch.pairing.passages));
            }
        }
        if let Some(file) = self.file {
            file.finish(&missed_in_file)?;
        }
        Ok(all)
    }
}

impl Watch {
    /// A packet has left the device that gets copies of what arrives, or the one behind the queue.
    fn saw(&mut self, is_behind: bool, frame: &Frame<'_>, zero_wall_ns: u64) {
        let Some(sighting) = sighting(frame, zero_wall_ns) else {
            return;
        };
        if !is_behind {
            self.pairing.came(&sighting);
        } else if let Some(headers_bytes) = tcp_headers_bytes(frame) {
            self.pairing.went_whole(&sighting, headers_bytes);
        } else {
            self.pairing.went(&sighting);
        }
    }
}

impl Points {
    fn taps(module: Rc<TrafficModule>) -> Points {
        Points::Taps {
            module,
            room: Vec::new(),
        }
    }

    /// Hands over what was seen at each of so many queues, and whether behind it.
    fn drain(
        &mut self,
        queues: usize,
        mut take: impl FnMut(usize, bool, &Frame<'_>),
    ) -> Result<(), GuestError> {
        match self {
            Points::Rings(rings) => {
                for (number, [before, behind]) in rings.iter_mut().enumerate() {
                    before.drain(|frame| take(number, false, &frame));
                    behind.drain(|frame| take(number, true, &frame));
                }
                Ok(())
            }
            Points::Taps { module, room } => loop {
                let records = module.records(room)?;
                if records.is_empty() {
                    return Ok(());
                }
                for record in records {
                    let (point, frame) = record?;
                    if point >= 2 * queues {
                        return Err(GuestError::Internal(format!("no point {point}")));
                    }
                    take(point / 2, point % 2 > 0, &frame);
                }
            },
        }
    }

    /// Packets missed before a queue and behind it.
    fn missed(&self, number: usize) -> Result<[u32; 2], GuestError> {
        match self {
            Points::Rings(rings) => {
                let what = || "asking what was missed".to_owned();
                let [before, behind] = &rings[number];
                Ok([
                    before.missed().context(what)?,
                    behind.missed().context(what)?,
                ])
            }
            Points::Taps { module, .. } => {
                Ok([module.missed(2 * number)?, module.missed(2 * number + 1)?])
            }
        }
    }
}
