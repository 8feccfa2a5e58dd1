//! Words of cake by example; `tc/tests/installed_tc.rs` holds lines against tc itself.

use super::super::{Qdisc, parse};
use super::*;

fn cake(text: &str) -> Cake {
    match parse(text) {
        Ok(Qdisc::Cake(cake)) => cake,
        other => panic!("{text}: {other:?}"),
    }
}

fn framing(text: &str) -> (bool, i32, u32, LinkLayer) {
    let cake = cake(&format!("cake {text}"));
    (
        cake.raw,
        cake.overhead_bytes,
        cake.mpu_bytes,
        cake.link_layer,
    )
}

/// tc-cake(8), "Overhead compensation parameters" and the sections after it.
#[test]
fn framings_are_those_of_the_manual() {
    use LinkLayer::{Atm, Noatm, Ptm};
    for (text, expected) in [
        ("", (true, 0, 0, Noatm)),
        ("raw", (true, 0, 0, Noatm)),
        ("conservative", (false, 48, 0, Atm)),
        ("ethernet", (false, 38, 84, Noatm)),
        ("docsis", (false, 18, 64, Noatm)),
        ("pppoe-ptm", (false, 30, 0, Ptm)),
        ("pppoe-ptm ether-vlan ether-vlan", (false, 38, 0, Ptm)),
        ("bridged-ptm", (false, 22, 0, Ptm)),
        ("pppoe-llcsnap via-ethernet", (false, 40, 0, Atm)),
        ("pppoa-vcmux", (false, 10, 0, Atm)),
        ("overhead -20 mpu 96 atm", (false, -20, 96, Atm)),
        ("overhead 010", (false, 10, 0, Noatm)),
        ("ethernet overhead 44", (false, 44, 84, Noatm)),
        ("conservative raw", (true, 0, 0, Noatm)),
        ("atm", (true, 0, 0, Atm)),
        ("raw overhead 10", (true, 10, 0, Noatm)),
    ] {
        assert_eq!(framing(text), expected, "{text}");
    }
}

#[test]
fn round_trips_have_words() {
    for (word, rtt_us) in RTTS_US {
        let parsed = cake(&format!("cake {word}"));
        assert_eq!(parsed, cake(&format!("cake rtt {rtt_us}us")), "{word}");
    }
    let error = parse("cake lan metro").unwrap_err();
    assert!(matches!(error, QdiscError::Repeated { .. }), "{error}");
    assert_eq!(cake("cake lan rtt 7ms").rtt_ns, 7_000_000);
}

#[test]
fn the_last_of_words_that_exclude_each_other_stands() {
    let parsed = cake("cake bandwidth 5mbit unlimited diffserv8 besteffort flows hosts");
    assert_eq!(parsed.bandwidth_bps, 0);
    assert_eq!(parsed.tins, Tins::Besteffort);
    assert_eq!(parsed.isolation, Isolation::Hosts);
    assert_eq!(cake("cake diffserv"), cake("cake diffserv4"));
}

#[test]
fn what_is_not_there_is_refused_by_name() {
    for word in ["autorate-ingress", "fwmark"] {
        let error = parse(&format!("cake {word}")).unwrap_err();
        assert!(
            matches!(error, QdiscError::WordNotImplemented { .. }),
            "{error}"
        );
        assert_eq!(error.value(), word);
    }
    for text in [
        "cake overhead 257",
        "cake overhead -65",
        "cake overhead 0x10",
        "cake overhead 250 ethernet",
        "cake mpu 257",
        "cake mpu -1",
        "cake bandwidth 0",
        "cake rtt 0",
        "cake memlimit 0",
        "cake lann",
    ] {
        assert!(parse(text).is_err(), "{text}");
    }
}
