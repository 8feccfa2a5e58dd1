//! A discipline with its children as tc command lines, with their handles.

use super::Qdisc;

/// Where a discipline is attached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment<'a> {
    /// The network device; None for lines that [`super::parse`] reads back.
    pub device: Option<&'a str>,
    /// The parent class, such as `1:1`; None for the device's root.
    pub parent: Option<&'a str>,
    /// Its handle: the number before the colon. Handles of children follow it.
    pub handle: u16,
    /// Words between the handle and the discipline's name, such as `stab overhead 10`; may be empty.
    pub options: &'a str,
}

impl Default for Attachment<'_> {
    fn default() -> Self {
        Attachment {
            device: None,
            parent: None,
            handle: 1,
            options: "",
        }
    }
}

impl Qdisc {
    /// The lines, without the leading `tc`, in an order that tc accepts: a discipline, its classes and
    /// filters, then its children.
    pub fn lines(&self, attachment: &Attachment) -> Vec<String> {
        let mut writer = Writer {
            device: attachment.device,
            lines: Vec::new(),
        };
        let root = { attachment.parent }.map_or("root".to_owned(), parent_words);
        for placed in self.placed(attachment.handle) {
            match &placed.parent {
                Some(class) => writer.write(&placed, &parent_words(class), ""),
                None => writer.write(&placed, &root, attachment.options),
            }
        }
        writer.lines
    }

    /// The discipline and its descendants, parents first.
    pub(super) fn placed(&self, handle: u16) -> Vec<Placed<'_>> {
        let mut found = Vec::new();
        self.place(handle, None, true, &mut found);
        found
    }

    /// Adds itself and its descendants. Returns the next free handle.
    fn place<'a>(
        &'a self,
        handle: u16,
        parent: Option<String>,
        has_every_packet: bool,
        found: &mut Vec<Placed<'a>>,
    ) -> u16 {
        found.push(Placed {
            qdisc: self,
            handle,
            parent,
            has_every_packet,
        });
        let mut next = handle.wrapping_add(1);
        for branch in self.branches() {
            let class = format!("{handle:x}:{:x}", branch.minor);
            let has_every_packet = has_every_packet && branch.takes_every_packet;
            next = branch
                .child
                .place(next, Some(class), has_every_packet, found);
        }
        next
    }
}

/// A discipline at its place in the tree.
pub(super) struct Placed<'a> {
    pub(super) qdisc: &'a Qdisc,
    pub(super) handle: u16,
    /// The parent class; None for the root of the tree.
    pub(super) parent: Option<String>,
    /// Whether every packet accepted by the root passes through it.
    pub(super) has_every_packet: bool,
}

fn parent_words(class: &str) -> String {
    format!("parent {class}")
}

struct Writer<'a> {
    device: Option<&'a str>,
    lines: Vec<String>,
}

impl Writer<'_> {
    fn line(&mut self, object: &str, words: &[&str]) {
        let device = self.device.map(|device| format!("dev {device}"));
        let words = words.iter().copied().filter(|word| !word.is_empty());
        let all: Vec<&str> = [object, "add"]
            .into_iter()
            .chain(device.as_deref())
            .chain(words)
            .collect();
        self.lines.push(all.join(" "));
    }

    fn write(&mut self, placed: &Placed, place: &str, options: &str) {
        let Placed { qdisc, handle, .. } = placed;
        let own = format!("handle {handle:x}:");
        self.line("qdisc", &[place, &own, options, &qdisc.words()]);
        for class in qdisc.class_lines(*handle) {
            self.line("class", &[&class]);
        }
        for filter in qdisc.filters() {
            let words = filter.words(*handle);
            self.line("filter", &[&format!("parent {handle:x}:"), &words]);
        }
    }
}
