//! Scripts that say more of a device than its root: what is done to packets that arrive (tc(8),
//! tc-mirred(8), tc-police(8); Linux Documentation of `ingress`, `clsact` and `ifb`).
//!
//! | clause | here |
//! | --- | --- |
//! | `qdisc add dev X ingress` (or `handle ffff: ingress`), `clsact` | yes: alone they do nothing |
//! | `filter add dev X parent ffff: ... police ... drop`, or `action police`; of `ingress`, `egress` | yes, of every packet |
//! | `filter add dev X ingress ... action mirred egress redirect dev IFB` | yes, of every packet |
//! | `qdisc`, `class`, `filter add dev IFB ...`: a queue for what arrives at X | yes |
//! | `ip link add IFB type ifb`, `ip link set dev IFB up`, `modprobe ifb` | read over |
//! | of `ingress` and `egress`: the first filter has every packet, a second one none | refused |
//! | a filter of some packets; `mirror`; other actions; a redirection to what is no `ifb` | refused |
//! | several devices that are no `ifb` | refused: each stands at its own link's end |

use super::chain::{self, is_chain};
use super::filter::{self, Filter};
use super::{MAX_TEXT_BYTES, QdiscError};
use crate::reason::Reason;
use crate::units::shortened;
use serde::Serialize;

/// What a script says of one device, as texts for the keys of a link's ends; each is none where it says
/// nothing of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Script {
    /// Its own lines, for its root.
    pub qdisc: Option<String>,
    /// What drops packets before its root.
    pub police: Option<String>,
    /// The lines of the `ifb` that what arrives goes to.
    pub arriving_qdisc: Option<String>,
    /// What drops packets that arrive.
    pub arriving_police: Option<String>,
    /// The name of that `ifb`.
    pub ifb: Option<String>,
}

/// Takes a script apart; none where it says nothing of what arrives, and is of one device.
///
/// # Errors
/// [`QdiscError::BadLine`] for a line of what arrives that is not modelled, a second device, and an `ifb`
/// that nothing goes to. Lines of roots are not read here.
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

/// Where packets pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hook {
    Ingress,
    Egress,
}

/// What has hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Made {
    /// Of what arrives alone.
    Ingress,
    /// Of both.
    Clsact,
}

/// What is done to every packet there.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Action {
    Police(String),
    Redirect(String),
}

/// A device and its lines.
struct Device<'a> {
    name: &'a str,
    lines: Vec<&'a str>,
    /// By hook.
    ingress: Option<Action>,
    egress: Option<Action>,
    /// Whether a line says something of a hook of it.
    has_hooks: bool,
    /// What a line has made to hang filters on.
    made: Option<Made>,
}

#[derive(Default)]
struct Reader<'a> {
    devices: Vec<Device<'a>>,
    /// Lines that name no device, for the one there is.
    unnamed: Vec<&'a str>,
    /// Devices that `ip link` makes an `ifb`.
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
            let said = "no line before it makes the hook: qdisc add dev X clsact, or ingress for what arrives";
            return Err(bad(line, said));
        }
        let Some(action) = heading.action(line)? else {
            return Ok(());
        };
        let place = match hook {
            Hook::Ingress => &mut device.ingress,
            Hook::Egress => &mut device.egress,
        };
        if place.is_some() {
            return Err(bad(line, "the filter before it has every packet already"));
        }
        if let (Hook::Egress, Action::Redirect(_)) = (hook, &action) {
            return Err(not_modelled(
                line,
                "packets that leave are queued by the root; put the queue there",
            ));
        }
        *place = Some(action);
        Ok(())
    }

    /// Whether it makes an `ifb`, or sets it up.
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
                "{:?} is another device than {:?}: its lines stand at the end of its own link",
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
        bad(name, "there is no device whose packets go to an ifb")
    }
}

/// Lines, if there are any.
fn joined<'a>(lines: impl Iterator<Item = &'a &'a str>) -> Option<String> {
    let lines: Vec<&str> = lines.copied().collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// The words from the first on that is not such.
fn skip<'a, 'b>(words: &'b [&'a str], is_it: impl Fn(&str) -> bool) -> &'b [&'a str] {
    match words.split_first() {
        Some((first, rest)) if is_it(first) => rest,
        _ => words,
    }
}

/// What a line says before what is attached.
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

    /// What a filter of a hook does to every packet; none where it has no packets here.
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
                "it has some packets only, and a link's policer and queue take all; a class of htb, \
                 with a filter, is for some",
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
                "a filter of a hook without an action does nothing",
            )),
            _ => {
                let action = shortened(&rest.join(" "));
                let said = format!(
                    "{action:?}; a filter of a hook has \"police ... drop\" or \"action mirred egress \
                     redirect dev IFB\""
                );
                Err(not_modelled(line, said))
            }
        }
    }
}

/// Without `flowid` and `classid`, which say nothing at a hook.
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
        allowed: "lines of one device, and of the ifb to which what arrives there is redirected"
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
                "some packets only",
            ),
            (
                format!("{hook} matchall action mirred egress mirror dev ifb0"),
                "mirror",
            ),
            (format!("{hook} matchall action drop"), "\"action drop\""),
            (format!("{hook} matchall"), "without an action"),
            (
                format!("tc filter add dev eth0 parent ffff: matchall {redirect}"),
                "no line before it makes the hook",
            ),
            (
                format!(
                    "{hook} matchall {redirect}; tc filter add dev eth0 egress matchall action drop"
                ),
                "no line before it makes the hook",
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
                "has every packet already",
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
