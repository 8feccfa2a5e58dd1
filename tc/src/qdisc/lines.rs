//! A discipline with its children as the lines one types to tc.

use super::{Branch, Qdisc};

/// Where a discipline is attached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment<'a> {
    /// The network device; none for lines that are read back by [`super::parse`].
    pub device: Option<&'a str>,
    /// The class it is put into, such as `1:1`; none for the device's root.
    pub parent: Option<&'a str>,
    /// Its own handle: the number before the colon. Those inside count on from it.
    pub handle: u16,
    /// Words between the handle and the discipline's name, such as `stab overhead 10`, or
    /// nothing.
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
    /// The lines, each what follows `tc `, in an order that works: a discipline, its classes and
    /// filters, then what is inside.
    pub fn lines(&self, attachment: &Attachment) -> Vec<String> {
        let mut writer = Writer {
            device: attachment.device,
            next_handle: attachment.handle,
            lines: Vec::new(),
        };
        let place = match attachment.parent {
            Some(parent) => format!("parent {parent}"),
            None => "root".to_owned(),
        };
        writer.write(self, &place, attachment.options);
        writer.lines
    }
}

struct Writer<'a> {
    device: Option<&'a str>,
    next_handle: u16,
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

    fn write(&mut self, qdisc: &Qdisc, place: &str, options: &str) {
        let handle = self.next_handle;
        self.next_handle = self.next_handle.wrapping_add(1);
        let own = format!("handle {handle:x}:");
        self.line("qdisc", &[place, &own, options, &qdisc.words()]);
        for class in qdisc.class_lines(handle) {
            self.line("class", &[&class]);
        }
        for filter in qdisc.filters() {
            let words = filter.words(handle);
            self.line("filter", &[&format!("parent {handle:x}:"), &words]);
        }
        for Branch { minor, child } in qdisc.branches() {
            self.write(child, &format!("parent {handle:x}:{minor:x}"), "");
        }
    }
}
