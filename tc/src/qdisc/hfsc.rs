//! `hfsc`: classes with service curves (tc-hfsc(8), tc-hfsc(7)).
//!
//! | clause | here |
//! | --- | --- |
//! | `default C` (hexadecimal); without it unmatched packets are dropped | yes |
//! | class: `rt`, `ls`, `sc` (both), `ul`, each with a service curve | yes |
//! | a curve: `[ m1 RATE d TIME ] m2 RATE` | yes |
//! | a curve: `[ umax SIZE dmax TIME ] rate RATE`: this size within this time, then a rate | yes, stored as `m1`, `d` and `m2` |
//! | `ul` without `ls`, which tc-hfsc(8) forbids | refused |
//! | an inner class without `ls` | refused: its leaves would be served by `rt` only |
//! | a discipline in a leaf | yes; by default a pfifo of 1000 packets |
//! | filters at the discipline; filters at a class | yes, see `Filter`; no |

use super::classes::{self, Class};
use super::words::Words;
use super::{
    Bounds, Branch, Device, Discipline, Filter, Grammar, Options, Parameter, Qdisc, QdiscError,
    Value, filter,
};
use crate::notice::Notice;
use crate::reason::Reason;
use crate::units::format_rate;
use crate::units::in_tc::is_rate;
use serde::{Deserialize, Serialize};
use std::fmt;

/// tc passes rates as 32 bits of bytes per second.
const LARGEST_RATE_BPS: u64 = 8 * u32::MAX as u64;
const US_PER_S: u64 = 1_000_000;

/// A tree of classes with service curves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hfsc {
    /// The class of unmatched packets; 0 for none: they are dropped.
    pub default_minor: u16,
    /// Parents before their children.
    pub classes: Vec<HfscClass>,
    /// In the order in which they are evaluated.
    pub filters: Vec<Filter>,
}

/// A class of the tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HfscClass {
    /// Its number in the tree, at least 1.
    pub minor: u16,
    /// The class above; 0 at the root.
    pub parent_minor: u16,
    /// Real-time curve: the guarantee of a leaf.
    #[serde(deserialize_with = "Option::deserialize")]
    pub rt: Option<ServiceCurve>,
    /// Link-sharing curve: its share, among its siblings, of what real-time leaves.
    #[serde(deserialize_with = "Option::deserialize")]
    pub ls: Option<ServiceCurve>,
    /// Upper-limit curve: the most that it gets by link-sharing.
    #[serde(deserialize_with = "Option::deserialize")]
    pub ul: Option<ServiceCurve>,
    /// The discipline of a leaf; None for the `pfifo` that the kernel attaches.
    #[serde(deserialize_with = "Option::deserialize")] // may be null, must be present
    pub child: Option<Box<Qdisc>>,
}

/// A two-piece linear service curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServiceCurve {
    /// Slope of the first piece, bit/s, a multiple of 8.
    pub m1_bps: u64,
    /// Duration of the first piece, us.
    pub d_us: u32,
    /// Slope of the second piece, bit/s, a multiple of 8.
    pub m2_bps: u64,
}

const DEFAULT: Parameter = Parameter {
    name: "default",
    aliases: &[],
    argument: "C",
    key: "default_minor",
    unit: "class",
    default: Value::Number(0),
    default_source: "tc: none",
    range: "0 to ffff, hexadecimal",
    bounds: Bounds::NONE,
    effect: "The leaf of packets that no filter matches. Without it they are dropped.",
};

const CURVE: &str = "[ m1 RATE d TIME ] m2 RATE | [ umax SIZE dmax TIME ] rate RATE";
const CURVE_RANGE: &str = "rates up to 34.36 Gbit/s in whole bytes per second, not both 0";

const fn curve_of(name: &'static str, key: &'static str, effect: &'static str) -> Parameter {
    Parameter {
        name,
        aliases: &[],
        argument: CURVE,
        key,
        unit: "service curve",
        default: Value::Number(0),
        default_source: "tc: none",
        range: CURVE_RANGE,
        bounds: Bounds::NONE,
        effect,
    }
}

const RT: Parameter = curve_of(
    "rt",
    "rt",
    "Real-time: the service that a leaf is guaranteed, whatever others do. A first rate above the second \
     gives a short delay to what comes after a pause. Of an inner class it counts for nothing.",
);
const LS: Parameter = curve_of(
    "ls",
    "ls",
    "Link-sharing: siblings share what real-time leaves in the ratio of their curves.",
);
const SC: Parameter = curve_of("sc", "ls", "Both, `rt` and `ls`.");
const UL: Parameter = curve_of(
    "ul",
    "ul",
    "Upper limit: the most that a class gets by link-sharing. Requires `ls`.",
);

/// The words after `class add ... classid H:C hfsc`.
static CLASS: Discipline = Discipline {
    name: "hfsc class",
    summary: "A class of an hfsc: `class add dev X parent H:[C] classid H:C hfsc ...`.",
    source: "tc-hfsc(8); tc-hfsc(7)",
    parameters: &[RT, LS, SC, UL],
    not_implemented: &[],
    once: &[],
    abbreviated: &[],
};

impl Grammar for Hfsc {
    const DISCIPLINE: Discipline = Discipline {
        name: "hfsc",
        summary: "Hierarchical fair service curve: real-time guarantees for leaves, link-sharing in a tree.",
        source: "tc-hfsc(8); tc-hfsc(7); Stoica, Zhang and Ng, SIGCOMM 1997",
        parameters: &[DEFAULT],
        not_implemented: &[],
        once: &[],
        abbreviated: &["default"],
    };
    const CLASS: Option<&'static Discipline> = Some(&CLASS);

    fn parse(words: &mut Words) -> Result<Hfsc, QdiscError> {
        let mut hfsc = Hfsc {
            default_minor: 0,
            classes: Vec::new(),
            filters: Vec::new(),
        };
        while let Some(parameter) = words.parameter()? {
            // tc accepts it once, and treats 0 as not given.
            if hfsc.default_minor > 0 {
                words.refuse_again(parameter)?;
            }
            hfsc.default_minor = words.class_minor(parameter)?;
        }
        Ok(hfsc)
    }

    fn check(&self) -> Result<(), QdiscError> {
        self.classes.iter().try_for_each(HfscClass::check)?;
        classes::check_places(&self.classes)?;
        for class in &self.classes {
            if class.ls.is_none() && !classes::is_leaf(&self.classes, class.minor) {
                let minor = class.minor;
                return Err(QdiscError::OutOfRange {
                    discipline: HfscClass::NAME,
                    parameter: "ls",
                    value: format!("none in class {minor:x}, which has child classes"),
                    allowed: "ls or sc in every inner class".to_owned(),
                    hint: None,
                });
            }
        }
        filter::check("hfsc", &self.filters)
    }

    fn options(&self, _: Device) -> Options {
        match self.default_minor {
            0 => Options::default(),
            minor => Options::default().show(
                "default",
                format!("{minor:x}"),
                &format!("default {minor:x} "),
            ),
        }
    }

    fn shaped_bps(&self) -> u64 {
        let roots = self.classes.iter().filter(|class| class.parent_minor == 0);
        let mut rates = roots.map(|class| self.most_bps(class));
        let sum = |sum: u64, bps: Option<u64>| bps.map(|bps| sum.saturating_add(bps));
        rates.try_fold(0, sum).unwrap_or(0)
    }

    fn branches(&self) -> Vec<Branch<'_>> {
        classes::branches(&self.classes)
    }

    fn class(&self, minor: u16) -> Option<u16> {
        classes::is_leaf(&self.classes, minor).then_some(minor)
    }

    fn slot(&mut self, minor: u16) -> Option<&mut Option<Box<Qdisc>>> {
        classes::slot(&mut self.classes, minor)
    }

    fn class_lines(&self, handle: u16) -> Vec<String> {
        classes::lines(&self.classes, handle)
    }

    fn add_class(
        &mut self,
        minor: u16,
        parent_minor: u16,
        words: &str,
    ) -> Result<Vec<Notice>, QdiscError> {
        let mut words = Words::new(&CLASS, words.split_ascii_whitespace());
        let class = HfscClass::parse(minor, parent_minor, &mut words)?;
        self.classes.push(class);
        classes::check_places(&self.classes)?;
        Ok(words.into_notices())
    }

    fn filters(&self) -> &[Filter] {
        &self.filters
    }

    fn filters_mut(&mut self) -> Option<&mut Vec<Filter>> {
        Some(&mut self.filters)
    }
}

impl Hfsc {
    /// The leaf with this number.
    pub fn leaf(&self, minor: u16) -> Option<&HfscClass> {
        let found = classes::find(&self.classes, minor);
        found.filter(|_| classes::is_leaf(&self.classes, minor))
    }

    /// A class and its ancestors.
    pub fn way_up<'a>(&'a self, class: &'a HfscClass) -> impl Iterator<Item = &'a HfscClass> {
        std::iter::successors(Some(class), |class| {
            classes::find(&self.classes, class.parent_minor)
        })
    }

    /// Largest long-term rate of a class; None if nothing limits it.
    fn most_bps(&self, class: &HfscClass) -> Option<u64> {
        let below = { self.classes.iter() }.filter(|other| other.parent_minor == class.minor);
        let guaranteed = |class: &HfscClass| class.rt.map_or(0, |curve| curve.m2_bps);
        let limit = match (class.ls, class.ul) {
            (None, _) => Some(0),
            (_, limit) => limit.map(|curve| curve.m2_bps),
        };
        if classes::is_leaf(&self.classes, class.minor) {
            return limit.map(|limit| limit.max(guaranteed(class)));
        }
        let mut parts = below.map(|class| self.most_bps(class));
        let sum = |sum: u64, bps: Option<u64>| bps.map(|bps| sum.saturating_add(bps));
        let together = parts.try_fold(0, sum);
        match (limit, together) {
            // Guarantees below it can exceed its limit.
            (Some(limit), _) => {
                let leaves = { self.classes.iter() }.filter(|leaf| {
                    let mut way = self.way_up(leaf);
                    self.leaf(leaf.minor).is_some() && way.any(|up| up.minor == class.minor)
                });
                Some(limit.max(leaves.map(guaranteed).fold(0, u64::saturating_add)))
            }
            (None, together) => together,
        }
    }
}

impl HfscClass {
    fn parse(minor: u16, parent_minor: u16, words: &mut Words) -> Result<HfscClass, QdiscError> {
        let mut class = HfscClass {
            minor,
            parent_minor,
            rt: None,
            ls: None,
            ul: None,
            child: None,
        };
        while let Some(parameter) = words.parameter()? {
            let curve = Some(ServiceCurve::parse(parameter, words)?);
            match parameter.name {
                "rt" => class.rt = curve,
                "ls" => class.ls = curve,
                "ul" => class.ul = curve,
                _ => (class.rt, class.ls) = (curve, curve),
            }
        }
        class.check()?;
        Ok(class)
    }

    fn check(&self) -> Result<(), QdiscError> {
        let refuse = |parameter, value: &str| Err(CLASS.out_of_range(parameter, value));
        if self.rt.is_none() && self.ls.is_none() {
            return refuse(&RT, "none of rt, ls and sc");
        }
        if self.ul.is_some() && self.ls.is_none() {
            return refuse(&UL, "ul without ls");
        }
        for (parameter, curve) in [(&RT, self.rt), (&LS, self.ls), (&UL, self.ul)] {
            let Some(curve) = curve else { continue };
            let fits = |bps: u64| bps == 0 || is_rate(bps) && bps <= LARGEST_RATE_BPS;
            let ServiceCurve { m1_bps, m2_bps, .. } = curve;
            if !fits(m1_bps) || !fits(m2_bps) || m1_bps == 0 && m2_bps == 0 {
                return refuse(parameter, &curve.to_string());
            }
        }
        Ok(())
    }
}

impl ServiceCurve {
    /// The curve after `rt` and the like, whose words have a fixed order.
    fn parse(parameter: &'static Parameter, words: &mut Words) -> Result<ServiceCurve, QdiscError> {
        let rate = |words: &mut Words| match words.any_rate_bps(parameter)? {
            bps if bps <= LARGEST_RATE_BPS => Ok(bps),
            bps => Err(CLASS.not_taken(parameter, bps, Reason::Wraps)),
        };
        let mut curve = ServiceCurve {
            m1_bps: 0,
            d_us: 0,
            m2_bps: 0,
        };
        if words.next_is("umax") || words.next_is("dmax") || words.next_is("rate") {
            let mut unit = 0;
            if words.take("umax") {
                unit = u64::from(words.any_size_bytes(parameter)?);
            }
            let mut within_us = 0;
            if words.take("dmax") {
                within_us = u64::from(words.time_us(parameter)?);
            }
            words.expect("rate", parameter)?;
            curve.m2_bps = rate(words)?;
            return curve.serving(unit, within_us, parameter);
        }
        if words.take("m1") {
            curve.m1_bps = rate(words)?;
        }
        if words.take("d") {
            curve.d_us = words.time_us(parameter)?;
        }
        words.expect("m2", parameter)?;
        curve.m2_bps = rate(words)?;
        Ok(curve)
    }

    /// The curve that serves `umax` within `dmax`, then the second rate. The first slope is higher if needed;
    /// otherwise it is 0 until the second slope suffices.
    fn serving(
        self,
        bytes: u64,
        within_us: u64,
        parameter: &'static Parameter,
    ) -> Result<ServiceCurve, QdiscError> {
        let second = self.m2_bps / 8;
        let first = (bytes * US_PER_S).checked_div(within_us);
        let Some(first) = first else {
            return match bytes {
                0 => Ok(self),
                _ => Err(CLASS.out_of_range(parameter, "umax without dmax")),
            };
        };
        // Rounded up, as in tc.
        let first = first + u64::from(!(bytes * US_PER_S).is_multiple_of(within_us));
        let (m1_bps, d_us) = if first > second {
            (first * 8, within_us)
        } else {
            let rest = (bytes * US_PER_S).checked_div(second);
            (
                0,
                rest.map_or(within_us, |rest| within_us - rest.min(within_us)),
            )
        };
        let fits = |number: u64| u32::try_from(number).ok();
        match (fits(m1_bps / 8), fits(d_us)) {
            (Some(_), Some(d_us)) => Ok(ServiceCurve {
                m1_bps,
                d_us,
                ..self
            }),
            _ => Err(CLASS.not_taken(parameter, "umax and dmax", Reason::Wraps)),
        }
    }
}

impl Class for HfscClass {
    const NAME: &'static str = "hfsc class";

    fn minor(&self) -> u16 {
        self.minor
    }

    fn parent_minor(&self) -> u16 {
        self.parent_minor
    }

    fn child(&self) -> Option<&Qdisc> {
        self.child.as_deref()
    }

    fn child_mut(&mut self) -> &mut Option<Box<Qdisc>> {
        &mut self.child
    }
}

impl fmt::Display for Hfsc {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.default_minor {
            0 => f.write_str("hfsc"),
            minor => write!(f, "hfsc default {minor:x}"),
        }
    }
}

impl fmt::Display for HfscClass {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("hfsc")?;
        let both = self.rt == self.ls;
        let curves = [
            ("sc", self.rt.filter(|_| both)),
            ("rt", self.rt.filter(|_| !both)),
            ("ls", self.ls.filter(|_| !both)),
            ("ul", self.ul),
        ];
        for (name, curve) in curves {
            if let Some(curve) = curve {
                write!(f, " {name} {curve}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for ServiceCurve {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let ServiceCurve {
            m1_bps,
            d_us,
            m2_bps,
        } = *self;
        if m1_bps > 0 || d_us > 0 {
            write!(f, "m1 {} d {d_us}us ", format_rate(m1_bps))?;
        }
        write!(f, "m2 {}", format_rate(m2_bps))
    }
}
