//! What `tc -d qdisc show` prints of netem (`netem_print_opt` in iproute2 `tc/q_netem.c`).

use super::{ALL_PPB, Netem};
use crate::qdisc::{Field, Fields, Options};
use crate::units::shown;

impl Netem {
    pub(super) fn show(&self) -> Options {
        let limit = self.limit_packets;
        let options = Options::default().show("limit", limit, &format!("limit {limit}"));
        let options = self.show_delay(options);
        let options = match &self.loss {
            Some(loss) => loss.show(options),
            None => options,
        };
        let (duplicate, reorder) = (self.duplicate_ppb, self.reorder_ppb);
        let options = show_chance(
            options,
            "duplicate",
            duplicate,
            self.duplicate_correlation_ppb,
        );
        let options = show_chance(options, "reorder", reorder, self.reorder_correlation_ppb);
        let (corrupt, correlation_ppb) = (self.corrupt_ppb, self.corrupt_correlation_ppb);
        let options = show_chance(options, "corrupt", corrupt, correlation_ppb);
        let gap = match self.gap_packets {
            0 => String::new(),
            packets => format!(" gap {packets}"),
        };
        let options = self.show_rate(options);
        let options = match &self.slot {
            Some(slot) => slot.show(options),
            None => options,
        };
        options
            .show("ecn", Field::Flag(self.ecn), self.ecn_text())
            .show("gap", self.gap_packets, &gap)
    }

    fn ecn_text(&self) -> &'static str {
        if self.ecn { " ecn " } else { "" }
    }

    fn show_delay(&self, options: Options) -> Options {
        if self.delay_ns == 0 {
            return options;
        }
        let mut text = format!(" delay {}", shown::time_ns(self.delay_ns));
        if self.jitter_ns > 0 {
            text += &format!("  {}", shown::time_ns(self.jitter_ns));
            text += &correlation_text(self.delay_correlation_ppb);
        }
        // tc shows whole microseconds of its ticks, in JSON as seconds.
        let seconds = |time_ns| Field::Real(shown::whole_us(time_ns) as f64 / 1e6);
        let fields = vec![
            ("delay", seconds(self.delay_ns)),
            ("jitter", seconds(self.jitter_ns)),
            ("correlation", share(self.delay_correlation_ppb)),
        ];
        options.show("delay", Field::Fields(Fields(fields)), &text)
    }

    fn show_rate(&self, options: Options) -> Options {
        if self.rate_bps == 0 {
            return options;
        }
        let bytes_per_s = self.rate_bps / 8;
        let mut text = format!(" rate {}", shown::rate(bytes_per_s));
        let mut fields = vec![("rate", bytes_per_s.into())];
        for (word, bytes) in [
            ("packetoverhead", self.packet_overhead_bytes.into()),
            ("cellsize", self.cell_size_bytes.into()),
            ("celloverhead", self.cell_overhead_bytes.into()),
        ] {
            if bytes != 0 {
                text += &format!(" {word} {bytes}");
            }
            fields.push((word, Field::Number(bytes)));
        }
        options.show("rate", Field::Fields(Fields(fields)), &text)
    }
}

fn show_chance(options: Options, word: &'static str, ppb: u32, correlation_ppb: u32) -> Options {
    if ppb == 0 {
        return options;
    }
    let correlation = correlation_text(correlation_ppb);
    let text = format!(" {word} {}{correlation}", shown::percent(ppb));
    let fields = vec![(word, share(ppb)), ("correlation", share(correlation_ppb))];
    options.show(word, Field::Fields(Fields(fields)), &text)
}

/// Empty if there is no correlation.
pub(super) fn correlation_text(ppb: u32) -> String {
    match ppb {
        0 => String::new(),
        ppb => format!(" {}", shown::percent(ppb)),
    }
}

/// A share from 0 to 1, as in JSON.
pub(super) fn share(ppb: u32) -> Field {
    Field::Real(f64::from(ppb) / f64::from(ALL_PPB))
}
