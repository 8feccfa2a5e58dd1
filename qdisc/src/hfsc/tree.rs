//! Selection of the next leaf of an hfsc tree: by real-time, else by link-sharing.

use super::curve::{Curve, Service};
use dumbbell_tc::qdisc::HfscClass;

/// The criterion by which a leaf was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// Real-time: its eligible time has come.
    RealTime,
    /// Link-sharing: it has the smallest virtual time.
    LinkShare,
}

/// Real-time state of a leaf.
#[derive(Debug, Clone)]
struct RealTime {
    service: Service,
    deadline: Curve,
    eligible: Curve,
    /// Bytes served by this criterion.
    served_bytes: u64,
    eligible_at: u64,
    deadline_at: u64,
    turn: u64,
    is_active: bool,
}

/// Link-sharing state of a class among its siblings.
#[derive(Debug, Clone)]
struct LinkShare {
    service: Service,
    curve: Curve,
    virtual_time: u64,
    /// Increase of the virtual time since the class became active.
    put_forward: u64,
    turn: u64,
    /// The busy period of its parent in which it was last active.
    period: u64,
}

#[derive(Debug, Clone)]
struct UpperLimit {
    service: Service,
    curve: Curve,
    fits_at: u64,
}

/// State of a class for its children.
#[derive(Debug, Clone, Copy, Default)]
struct Below {
    active: u32,
    /// Number of busy periods so far.
    period: u64,
    /// Virtual time of the child that link-sharing chose last in this period; 0 before the first.
    chosen_virtual_time: u64,
    /// Largest virtual time of a child when it became passive.
    largest_virtual_time: u64,
    /// The earliest fit time of active children; 0 without any.
    fits_at: u64,
}

#[derive(Debug, Clone)]
struct Class {
    parent: Option<usize>,
    is_leaf: bool,
    real_time: Option<RealTime>,
    share: Option<LinkShare>,
    limit: Option<UpperLimit>,
    served_bytes: u64,
    is_active: bool,
    /// The later of its own fit time and that of its children.
    fits_at: u64,
    below: Below,
}

/// The tree.
#[derive(Debug, Clone)]
pub struct Tree {
    classes: Vec<Class>,
    root: Below,
    /// Sequence number: among equal times the class that waits longest goes first.
    turns: u64,
}

impl Tree {
    /// A tree of passive classes, parents before their children.
    pub fn new(classes: &[HfscClass]) -> Tree {
        let place = |minor: u16| classes.iter().position(|class| class.minor == minor);
        let class = |class: &HfscClass| Class {
            parent: place(class.parent_minor),
            is_leaf: !classes
                .iter()
                .any(|other| other.parent_minor == class.minor),
            real_time: class.rt.as_ref().map(|curve| {
                let service = Service::new(curve);
                let curve = Curve::new(&service, 0, 0);
                RealTime {
                    service,
                    deadline: curve,
                    eligible: curve,
                    served_bytes: 0,
                    eligible_at: 0,
                    deadline_at: 0,
                    turn: 0,
                    is_active: false,
                }
            }),
            share: class.ls.as_ref().map(|curve| {
                let service = Service::new(curve);
                LinkShare {
                    service,
                    curve: Curve::new(&service, 0, 0),
                    virtual_time: 0,
                    put_forward: 0,
                    turn: 0,
                    period: 0,
                }
            }),
            limit: class.ul.as_ref().map(|curve| {
                let service = Service::new(curve);
                UpperLimit {
                    service,
                    curve: Curve::new(&service, 0, 0),
                    fits_at: 0,
                }
            }),
            served_bytes: 0,
            is_active: false,
            fits_at: 0,
            below: Below::default(),
        };
        Tree {
            classes: classes.iter().map(class).collect(),
            root: Below::default(),
            turns: 0,
        }
    }

    /// Whether a leaf has a real-time curve.
    pub fn has_real_time(&self, leaf: usize) -> bool {
        self.classes[leaf].real_time.is_some()
    }

    fn turn(&mut self) -> u64 {
        self.turns += 1;
        self.turns
    }

    fn below(&mut self, parent: Option<usize>) -> &mut Below {
        match parent {
            Some(parent) => &mut self.classes[parent].below,
            None => &mut self.root,
        }
    }

    fn active_below(&self, parent: Option<usize>) -> impl Iterator<Item = (usize, &Class)> {
        let classes = self.classes.iter().enumerate();
        classes.filter(move |(_, class)| class.parent == parent && class.is_active)
    }

    /// An empty leaf gets a packet of this size at its head.
    pub fn activate(&mut self, leaf: usize, bytes: u64, now: u64) {
        let turn = self.turn();
        if let Some(real) = &mut self.classes[leaf].real_time {
            real.deadline.renew(&real.service, now, real.served_bytes);
            real.eligible = match real.service.is_convex() {
                true => real.deadline.of_second_rate(),
                false => real.deadline,
            };
            real.eligible_at = real.eligible.when(real.served_bytes);
            real.deadline_at = real.deadline.when(real.served_bytes + bytes);
            (real.turn, real.is_active) = (turn, true);
        }
        if self.classes[leaf].share.is_none() {
            return;
        }
        let mut next = Some(leaf);
        let mut begins = true;
        while let Some(class) = next {
            let parent = self.classes[class].parent;
            if begins {
                self.begin_sharing(class, now);
                let below = self.below(parent);
                below.active += 1;
                // The parent becomes active only with its first active child.
                begins = below.active == 1;
            }
            self.look_at_limit(class);
            next = parent;
        }
    }

    /// Inserts a class among its siblings and restarts its upper limit.
    fn begin_sharing(&mut self, class: usize, now: u64) {
        let parent = self.classes[class].parent;
        let siblings = self.active_below(parent);
        let times = siblings.filter_map(|(_, each)| Some(each.share.as_ref()?.virtual_time));
        let largest = times.max();
        let turn = self.turn();
        let below = self.below(parent);
        let begin = match (largest, below.chosen_virtual_time) {
            (Some(largest), 0) => largest,
            (Some(largest), least) => least.midpoint(largest),
            (None, _) => {
                below.chosen_virtual_time = 0;
                below.period += 1;
                below.largest_virtual_time
            }
        };
        let (period, is_first) = (below.period, largest.is_none());
        let Class {
            share,
            limit,
            served_bytes,
            is_active,
            fits_at,
            ..
        } = &mut self.classes[class];
        *is_active = true;
        if let Some(share) = share {
            // Below the root it never keeps its own virtual time, as if from another period.
            let is_old = share.period == period && parent.is_some();
            if is_first || !is_old || begin > share.virtual_time {
                share.virtual_time = begin;
            }
            let now = share.virtual_time;
            share.curve.renew(&share.service, now, *served_bytes);
            (share.put_forward, share.turn, share.period) = (0, turn, period);
        }
        *fits_at = 0;
        if let Some(limit) = limit {
            limit.curve.renew(&limit.service, now, *served_bytes);
            limit.fits_at = limit.curve.when(*served_bytes);
        }
    }

    /// Recomputes the fit time of a class and its ancestors.
    fn look_at_limit(&mut self, class: usize) {
        let Class {
            limit,
            below,
            parent,
            ..
        } = &self.classes[class];
        let own = limit.as_ref().map_or(0, |limit| limit.fits_at);
        let (fits_at, parent) = (own.max(below.fits_at), *parent);
        self.classes[class].fits_at = fits_at;
        let earliest = { self.active_below(parent) }.map(|(_, each)| each.fits_at);
        let earliest = earliest.min().unwrap_or(0);
        self.below(parent).fits_at = earliest;
    }

    /// The leaf that sends now.
    pub fn choose(&mut self, now: u64) -> Option<(usize, By)> {
        let classes = self.classes.iter().enumerate();
        let active = classes.filter_map(|(leaf, class)| {
            let real = class.real_time.as_ref()?;
            (real.is_active && real.eligible_at <= now).then_some((leaf, real))
        });
        let first = active.min_by_key(|(_, real)| (real.deadline_at, real.eligible_at, real.turn));
        if let Some((leaf, _)) = first {
            return Some((leaf, By::RealTime));
        }
        let mut parent = None;
        loop {
            let fit = self.active_below(parent);
            let fit = fit.filter(|(_, class)| class.fits_at <= now);
            let fit = fit.filter_map(|(index, class)| {
                let share = class.share.as_ref()?;
                Some((share.virtual_time, share.turn, index))
            });
            let (virtual_time, _, class) = fit.min()?;
            let below = self.below(parent);
            below.chosen_virtual_time = below.chosen_virtual_time.max(virtual_time);
            if self.classes[class].is_leaf {
                return Some((class, By::LinkShare));
            }
            parent = Some(class);
        }
    }

    /// Charges bytes to a leaf; `is_empty` says whether it has no more packets.
    pub fn served(&mut self, leaf: usize, bytes: u64, is_empty: bool) {
        let mut next = Some(leaf);
        let mut ends = is_empty;
        while let Some(index) = next {
            let turn = self.turn();
            let parent = self.classes[index].parent;
            let chosen = self.below(parent).chosen_virtual_time;
            let class = &mut self.classes[index];
            next = parent;
            class.served_bytes += bytes;
            let served_bytes = class.served_bytes;
            let Some(share) = class.share.as_mut().filter(|_| class.is_active) else {
                continue;
            };
            // The parent becomes passive only with its last active child.
            ends = ends && (class.is_leaf || class.below.active == 0);
            share.virtual_time = share
                .curve
                .when(served_bytes)
                .saturating_add(share.put_forward);
            if share.virtual_time < chosen {
                share.put_forward += chosen - share.virtual_time;
                share.virtual_time = chosen;
            }
            share.turn = turn;
            if ends {
                class.is_active = false;
                let virtual_time = share.virtual_time;
                let below = self.below(parent);
                below.active -= 1;
                below.largest_virtual_time = below.largest_virtual_time.max(virtual_time);
            } else if let Some(limit) = &mut class.limit {
                limit.fits_at = limit.curve.when(served_bytes);
            }
            self.look_at_limit(index);
        }
    }

    /// Updates a leaf with real-time after it has sent, with the size of its next packet, if any.
    pub fn next(&mut self, leaf: usize, by: By, bytes: u64, next_bytes: Option<u64>) {
        let turn = self.turn();
        let Some(real) = &mut self.classes[leaf].real_time else {
            return;
        };
        if by == By::RealTime {
            real.served_bytes += bytes;
        }
        let Some(next_bytes) = next_bytes else {
            real.is_active = false;
            return;
        };
        if by == By::RealTime {
            real.eligible_at = real.eligible.when(real.served_bytes);
            real.turn = turn;
        }
        real.deadline_at = real.deadline.when(real.served_bytes + next_bytes);
    }

    /// When a leaf may send again, if none may now.
    pub fn wake(&self) -> Option<u64> {
        let real = { self.classes.iter() }.filter_map(|class| class.real_time.as_ref());
        let eligible = real.filter(|real| real.is_active);
        let fits_at = Some(self.root.fits_at).filter(|at| *at > 0);
        let soonest = eligible.map(|real| real.eligible_at).chain(fits_at).min();
        soonest.filter(|at| *at < u64::MAX >> super::TICK_SHIFT)
    }
}
