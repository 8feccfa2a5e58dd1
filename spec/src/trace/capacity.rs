//! Number of bits that a link with a trace can send.

use super::{Service, Step};
use dumbbell_core::time::Time;

/// Bits that may be sent between consecutive edges; infinite where the rate is.
///
/// Edges are nondecreasing. An opportunity at an edge counts toward the interval that ends there.
pub fn bits_between(service: Service, own: &Step, edges: &[Time]) -> Vec<f64> {
    let spans = edges.windows(2).map(|pair| (pair[0], pair[1]));
    match service {
        Service::Opportunities(all) => {
            let mut all = all.peekable();
            if let Some(first) = edges.first() {
                while all.next_if(|next| next.at <= *first).is_some() {}
            }
            let bits = spans.map(|(_, until)| {
                let mut bits = 0.0;
                while let Some(next) = all.next_if(|next| next.at <= until) {
                    bits += 8.0 * next.bytes as f64;
                }
                bits
            });
            bits.collect()
        }
        Service::Steps(steps) => {
            let mut steps = steps.peekable();
            let mut rate_bps = own.rate_bps;
            let bits = spans.map(|(from, until)| {
                let (mut at, mut bits) = (from, 0.0);
                while at < until {
                    while let Some(step) = steps.next_if(|step| step.at <= at) {
                        rate_bps = step.rate_bps.or(rate_bps);
                    }
                    let next = steps.peek().map_or(until, |step| step.at.min(until));
                    let rate_bps = rate_bps.map_or(f64::INFINITY, |rate_bps| rate_bps as f64);
                    bits += rate_bps * (next - at).as_seconds();
                    at = next;
                }
                bits
            });
            bits.collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Trace;
    use dumbbell_core::random::Stream;

    fn bits(trace: &Trace, edges_ms: &[u64]) -> Vec<f64> {
        let own = Step {
            at: Time::ZERO,
            rate_bps: None,
            delay: None,
            loss: None,
        };
        let service = trace.service(&own, 1_000_000_000, Stream::new(1, 0, "link"));
        let edges: Vec<_> = { edges_ms.iter() }
            .map(|ms| Time::from_ns(ms * 1_000_000))
            .collect();
        bits_between(service, &own, &edges)
    }

    #[test]
    fn a_rate_counts_for_its_part_of_a_span() {
        let trace = Trace::Steps {
            steps: "0r1m 10mr2m 5mr0".to_owned().into(),
            repeat_ns: Some(20_000_000),
        };
        let found = bits(&trace, &[5, 12, 20, 30]);
        assert_eq!(found, [5000.0 + 4000.0, 6000.0, 10_000.0]);
    }

    #[test]
    fn an_opportunity_counts_where_it_is() {
        let trace = Trace::Opportunities {
            gaps_ms: "1 0 4".to_owned().into(),
            size_bytes: 1000,
        };
        // 1, 1, 5, 6, 6, 10 ms.
        let found = bits(&trace, &[0, 1, 5, 6, 10]);
        assert_eq!(found, [16_000.0, 8000.0, 16_000.0, 8000.0]);
    }
}
