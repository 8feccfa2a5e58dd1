//! Scripts with more than the root discipline of a device: policing and queueing of arriving packets (tc(8),
//! tc-mirred(8), tc-police(8); Linux documentation of `ingress`, `clsact` and `ifb`).
//!
//! | clause | here |
//! | --- | --- |
//! | `qdisc add dev X ingress` (or `handle ffff: ingress`), `clsact` | yes; without a filter they do nothing |
//! | `filter add dev X parent ffff: ... police ... drop`, or `action police`; of `ingress`, `egress` | yes, for every packet |
//! | `filter add dev X ingress ... action mirred egress redirect dev IFB` | yes, for every packet |
//! | `qdisc`, `class`, `filter add dev IFB ...`: a queue for packets arriving at X | yes |
//! | `ip link add IFB type ifb`, `ip link set dev IFB up`, `modprobe ifb` | ignored |
//! | `filter add dev X egress ... action skbedit priority N`: see `egress` | yes, for some packets too |
//! | a second filter at `ingress` or `egress`: the first one already matches every packet | refused |
//! | a filter for only some packets; `mirror`; other actions; a redirection to another kind of device | refused |
//! | several devices besides an `ifb` | refused: each belongs to its own link's end |

use super::chain::{self, is_chain};
use super::egress;
use super::filter::{self, Filter};
use super::{MAX_TEXT_BYTES, QdiscError};
use crate::reason::Reason;
use crate::units::shortened;
use serde::Serialize;

/// The parts of a script for one device, as texts for keys of a link's ends; None for an absent part.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Script {
    /// Lines for the root of the device.
    pub qdisc: Option<String>,
    /// The policer before the root.
    pub police: Option<String>,
    /// Lines for the `ifb` to which arriving packets are redirected.
    pub arriving_qdisc: Option<String>,
    /// The policer of arriving packets.
    pub arriving_police: Option<String>,
    /// The name of that `ifb`.
    pub ifb: Option<String>,
}

/// Splits a script; None if it has one device and no line for arriving packets.
///
/// # Errors
/// [`QdiscError::BadLine`] for a line for arriving packets that is not modelled, a second device, and an
/// `ifb` without a redirection. Lines for roots are not parsed here.
pub fn split(text: &str) -> Result<Option<Script>, QdiscError> {
    if text.len() > MAX_TEXT_BYTES || !is_chain(text) {
        return Ok(None);
    }
    let text = chain::without_continuations(text);
    let mut read = Reader::default();
    for line in chain::lines(&text) {
        read.line(line)?;
    }
    read.finish()
}

/// A hook: where filters see packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hook {
    Ingress,
    Egress,
}

/// The discipline that provides hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Made {
    /// Provides `ingress` only.
    Ingress,
    /// Provides both.
    Clsact,
}

/// The action on every packet at a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Action {
    Police(String),
    Redirect(String),
}

/// A device and its lines.
struct Device<'a> {
    name: &'a str,
    lines: Vec<&'a str>,
    /// Action at `ingress`; then at `egress`.
    ingress: Option<Action>,
    egress: Option<Action>,
    /// Whether a line concerns one of its hooks.
    has_hooks: bool,
    /// The discipline with hooks that a line added.
    made: Option<Made>,
}

#[derive(Default)]
struct Reader<'a> {
    devices: Vec<Device<'a>>,
    /// Lines without a device; they belong to the only one.
    unnamed: Vec<&'a str>,
    /// Devices that `ip link` adds as an `ifb`.
    ifbs: Vec<&'a str>,
}

impl<'a> Reader<'a> {
    fn line(&mut self, line: &'a str) -> Result<(), QdiscError> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let words = skip(&words, |word| word == "sudo");
        if self.is_of_ifbs(words) {
            return Ok(());
        }
        let words = skip(words, chain::is_tc);
        let heading = Heading::read(words);
        let Some(name) = heading.device else {
            self.unnamed.push(line);
            return Ok(());
        };
        let device = self.device(name);
        let Some(hook) = heading.hook else {
            device.lines.push(line);
            return Ok(());
        };
        device.has_hooks = true;
        if !heading.is_filter {
            device.made = heading.made.filter(|_| !heading.is_deleted);
            if heading.is_deleted {
                (device.ingress, device.egress) = (None, None);
            }
            return Ok(());
        }
        if heading.is_deleted {
            return Ok(());
        }
        if device.made.is_none() || (hook, device.made) == (Hook::Egress, Some(Made::Ingress)) {
            let said = "no line before it adds the hook: qdisc add dev X clsact, or ingress for arriving packets";
            return Err(bad(line, said));
        }
        if hook == Hook::Egress && egress::sets_priority(&heading.words) {
            device.lines.push(line);
            return Ok(());
        }
        let Some(action) = heading.action(line)? else {
            return Ok(());
        };
        let place = match hook {
            Hook::Ingress => &mut device.ingress,
            Hook::Egress => &mut device.egress,
        };
        if place.is_some() {
            return Err(bad(
                line,
                "the filter before it already matches every packet",
            ));
        }
        if let (Hook::Egress, Action::Redirect(_)) = (hook, &action) {
            return Err(not_modelled(
                line,
                "the root queues departing packets; put the queue there",
            ));
        }
        *place = Some(action);
        Ok(())
    }

    /// Whether the line adds an `ifb` or sets it up.
    fn is_of_ifbs(&mut self, words: &[&'a str]) -> bool {
        match words {
            ["modprobe", "ifb", ..] => true,
            ["ip", "link", "add", rest @ ..] => {
                let [before @ .., "type", "ifb"] = rest else {
                    return false;
                };
                self.ifbs.extend(before.last());
                true
            }
            ["ip", "link", "set", rest @ .., "up"] => {
                let name = rest.iter().find(|word| **word != "dev");
                name.is_some_and(|name| self.is_ifb(name))
            }
            ["ifconfig", name, "up"] => self.is_ifb(name),
            _ => false,
        }
    }

    fn is_ifb(&self, name: &str) -> bool {
        self.ifbs.contains(&name) || name.starts_with("ifb")
    }

    fn device(&mut self, name: &'a str) -> &mut Device<'a> {
        let place = self.devices.iter().position(|device| device.name == name);
        let place = place.unwrap_or_else(|| {
            self.devices.push(Device {
                name,
                lines: Vec::new(),
                ingress: None,
                egress: None,
                has_hooks: false,
                made: None,
            });
            self.devices.len() - 1
        });
        &mut self.devices[place]
    }

    fn finish(self) -> Result<Option<Script>, QdiscError> {
        let is_plain = match self.devices.as_slice() {
            [] => true,
            [only] => !only.has_hooks,
            _ => false,
        };
        if is_plain {
            return Ok(None);
        }
        let targets = self
            .devices
            .iter()
            .filter_map(|device| match &device.ingress {
                Some(Action::Redirect(to)) => Some(to.as_str()),
                _ => None,
            });
        let targets: Vec<&str> = targets.collect();
        let is_target = |name: &str| self.is_ifb(name) || targets.contains(&name);
        let mut own = self.devices.iter().filter(|device| !is_target(device.name));
        let Some(device) = own.next() else {
            return Err(self.no_device());
        };
        if let Some(other) = own.next() {
            let said = format!(
                "{:?} is another device than {:?}: its lines belong to the end of its own link",
                shortened(other.name),
                shortened(device.name)
            );
            return Err(bad(other.lines.first().unwrap_or(&other.name), said));
        }
        let mut script = Script {
            qdisc: joined(device.lines.iter().chain(&self.unnamed)),
            ..Script::default()
        };
        if let Some(Action::Police(police)) = &device.egress {
            script.police = Some(police.clone());
        }
        match &device.ingress {
            Some(Action::Police(police)) => script.arriving_police = Some(police.clone()),
            Some(Action::Redirect(to)) => script.ifb = Some(to.clone()),
            None => {}
        }
        for ifb in self.devices.iter().filter(|each| is_target(each.name)) {
            if script.ifb.as_deref() != Some(ifb.name) {
                let said = format!("nothing is redirected to {:?}", shortened(ifb.name));
                return Err(bad(ifb.lines.first().unwrap_or(&ifb.name), said));
            }
            if ifb.has_hooks {
                let said = "hooks of an ifb are not modelled; a link end has the key `police`";
                return Err(not_modelled(ifb.name, said));
            }
            script.arriving_qdisc = joined(ifb.lines.iter());
        }
        Ok(Some(script))
    }

    fn no_device(&self) -> QdiscError {
        let name = self.devices.first().map_or("", |device| device.name);
        bad(name, "there is no device that redirects packets to an ifb")
    }
}

/// Lines, if there are any.
fn joined<'a>(lines: impl Iterator<Item = &'a &'a str>) -> Option<String> {
    let lines: Vec<&str> = lines.copied().collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// The words without the first if that satisfies a condition.
fn skip<'a, 'b>(words: &'b [&'a str], is_it: impl Fn(&str) -> bool) -> &'b [&'a str] {
    match words.split_first() {
        Some((first, rest)) if is_it(first) => rest,
        _ => words,
    }
}

/// The words of a line before the discipline or the filter.
#[derive(Default)]
struct Heading<'a> {
    is_filter: bool,
    is_deleted: bool,
    device: Option<&'a str>,
    hook: Option<Hook>,
    made: Option<Made>,
    protocol: Option<&'a str>,
    handle: Option<&'a str>,
    /// The rest.
    words: Vec<&'a str>,
}

impl<'a> Heading<'a> {
    fn read(words: &[&'a str]) -> Heading<'a> {
        let mut heading = Heading::default();
        let mut words = words.iter().copied();
        let mut object = words.clone();
        if let Some("qdisc" | "class" | "filter") = object.next() {
            heading.is_filter = words.next() == Some("filter");
            heading.is_deleted = matches!(words.next(), Some("del" | "delete"));
        }
        while let Some(word) = words.next() {
            match word {
                "dev" => heading.device = words.next(),
                "ingress" | "clsact" => {
                    heading.hook = Some(Hook::Ingress);
                    heading.made = Some(match word {
                        "clsact" => Made::Clsact,
                        _ => Made::Ingress,
                    });
                }
                "egress" => heading.hook = Some(Hook::Egress),
                "parent" => match words.next() {
                    Some("ffff:" | "ffff:0" | "ffff:fff2") => heading.hook = Some(Hook::Ingress),
                    Some("ffff:fff1") if !heading.is_filter => heading.hook = Some(Hook::Ingress),
                    Some("ffff:fff3") => heading.hook = Some(Hook::Egress),
                    _ => {}
                },
                "protocol" => heading.protocol = words.next(),
                "handle" => heading.handle = words.next(),
                "prio" | "pref" => {
                    words.next();
                }
                "root" => {}
                other => {
                    heading.words = std::iter::once(other).chain(words).collect();
                    break;
                }
            }
        }
        heading
    }

    /// The action of a filter at a hook; None if it matches no simulated packet.
    fn action(&self, line: &str) -> Result<Option<Action>, QdiscError> {
        let begins = |word: &&str| matches!(*word, "action" | "police");
        let end = self.words.iter().position(begins);
        let (matched, rest) = self.words.split_at(end.unwrap_or(self.words.len()));
        let protocol = match self.protocol.map(filter::Protocol::read) {
            Some(Ok(None)) => return Ok(None),
            Some(Ok(read)) => read,
            Some(Err(refused)) => return Err(chain::bad_filter(line, refused)),
            None => None,
        };
        let heading = filter::Heading {
            protocol,
            handle: self.handle,
        };
        let words = without_class(matched);
        let of_others = filter::of_others(&words);
        if of_others.is_some() {
            return Ok(None);
        }
        let words = format!("{words} flowid 1:1");
        let (filter, _) =
            Filter::read(&words, heading).map_err(|refused| chain::bad_filter(line, refused))?;
        if !filter.conditions.is_empty() {
            return Err(not_modelled(
                line,
                "it matches only some packets, but a link's policer and queue take all; for some \
                 packets use a class of htb with a filter",
            ));
        }
        match rest {
            ["action", "mirred", "egress", "redirect", "dev", to] => {
                Ok(Some(Action::Redirect((*to).to_owned())))
            }
            ["action", "police", words @ ..] | ["police", words @ ..] => {
                let police = format!("police {}", without_class(words));
                super::parse_police(&police)?;
                Ok(Some(Action::Police(police)))
            }
            [] => Err(not_modelled(
                line,
                "a filter at a hook without an action does nothing",
            )),
            _ => {
                let action = shortened(&rest.join(" "));
                let said = format!(
                    "{action:?}; a filter at a hook has \"police ... drop\" or \"action mirred egress \
                     redirect dev IFB\""
                );
                Err(not_modelled(line, said))
            }
        }
    }
}

/// Removes `flowid` and `classid`, which have no effect at a hook.
fn without_class(words: &[&str]) -> String {
    let mut kept = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "flowid" | "classid" => {
                words.next();
            }
            word => kept.push(word),
        }
    }
    kept.join(" ")
}

fn bad(line: &str, reason: impl Into<String>) -> QdiscError {
    refused(line, reason, None)
}

fn not_modelled(line: &str, reason: impl Into<String>) -> QdiscError {
    refused(line, reason, Some(Reason::NotModelled))
}

fn refused(line: &str, reason: impl Into<String>, why: Option<Reason>) -> QdiscError {
    QdiscError::BadLine {
        value: shortened(line),
        reason: reason.into(),
        why,
        allowed:
            "lines for one device, and for the ifb to which its arriving packets are redirected"
                .to_owned(),
        hint: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPED: &str = "modprobe ifb\n\
        ip link add ifb0 type ifb; ip link set dev ifb0 up\n\
        tc qdisc add dev eth0 root fq_codel\n\
        tc qdisc add dev eth0 handle ffff: ingress\n\
        tc filter add dev eth0 parent ffff: protocol ip u32 match u32 0 0 action mirred egress \\\n\
        redirect dev ifb0\n\
        tc qdisc add dev ifb0 root handle 1: htb default 1\n\
        tc class add dev ifb0 parent 1: classid 1:1 htb rate 10mbit";

    fn script(text: &str) -> Script {
        split(text).expect(text).expect("it says more than a root")
    }

    fn refusal(text: &str) -> String {
        split(text).expect_err(text).to_string()
    }

    #[test]
    fn what_arrives_goes_to_the_queue_of_an_ifb() {
        let found = script(SHAPED);
        assert_eq!(
            found.qdisc.as_deref(),
            Some("tc qdisc add dev eth0 root fq_codel")
        );
        assert_eq!(found.ifb.as_deref(), Some("ifb0"));
        let arriving = super::super::parse(&found.arriving_qdisc.unwrap()).unwrap();
        assert_eq!(arriving.discipline().name, "htb");
        assert_eq!((found.police, found.arriving_police), (None, None));
    }

    #[test]
    fn policers_of_both_hooks() {
        for (line, is_arriving) in [
            (
                "filter add dev e parent ffff: protocol ip prio 50 u32 match ip src 0.0.0.0/0 police rate 1mbit burst 10k drop flowid :1",
                true,
            ),
            (
                "filter add dev e ingress matchall action police rate 1mbit burst 10k drop",
                true,
            ),
            (
                "filter add dev e egress protocol all matchall action police rate 1mbit burst 10k drop",
                false,
            ),
        ] {
            let found = script(&format!("tc qdisc add dev e clsact; tc {line}"));
            let police = Some("police rate 1mbit burst 10k drop".to_owned());
            let (arriving, leaving) = match is_arriving {
                true => (police, None),
                false => (None, police),
            };
            assert_eq!(
                (found.arriving_police, found.police),
                (arriving, leaving),
                "{line}"
            );
        }
    }

    #[test]
    fn a_root_alone_is_no_script() {
        for text in [
            "fq_codel",
            "root handle 1: prio; parent 1:1 pfifo",
            "tc qdisc add dev ifb0 root tbf rate 2mbit burst 20k latency 50ms",
            "tc qdisc del dev eth0 root; tc qdisc add dev eth0 root cake",
        ] {
            assert_eq!(split(text), Ok(None), "{text}");
        }
        // A hook without a filter does nothing.
        assert_eq!(script("tc qdisc add dev eth0 clsact"), Script::default());
    }

    #[test]
    fn what_is_not_modelled_is_named() {
        let hook = "tc qdisc add dev eth0 ingress; tc filter add dev eth0 ingress";
        let redirect = "action mirred egress redirect dev ifb0";
        for (text, said) in [
            (
                format!("{hook} u32 match ip dport 80 0xffff {redirect}"),
                "only some packets",
            ),
            (
                format!("{hook} matchall action mirred egress mirror dev ifb0"),
                "mirror",
            ),
            (format!("{hook} matchall action drop"), "\"action drop\""),
            (format!("{hook} matchall"), "without an action"),
            (
                format!("tc filter add dev eth0 parent ffff: matchall {redirect}"),
                "no line before it adds the hook",
            ),
            (
                format!(
                    "{hook} matchall {redirect}; tc filter add dev eth0 egress matchall action drop"
                ),
                "no line before it adds the hook",
            ),
            (format!("{hook} bpf obj x.o {redirect}"), "bpf"),
            (
                format!("{hook} matchall police rate 1mbit burst 10k"),
                "drop",
            ),
            (
                format!(
                    "{hook} matchall {redirect}; tc filter add dev eth0 ingress matchall {redirect}"
                ),
                "already matches every packet",
            ),
            (
                "tc qdisc add dev eth0 root fq; tc qdisc add dev ifb0 root fq".to_owned(),
                "nothing is redirected to \"ifb0\"",
            ),
            (
                "tc qdisc add dev eth0 root fq; tc qdisc add dev eth1 root fq".to_owned(),
                "\"eth1\" is another device than \"eth0\"",
            ),
        ] {
            let message = refusal(&text);
            assert!(message.contains(said), "{text}: {message}");
        }
    }
}
