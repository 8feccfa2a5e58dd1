//! The scripts that the fuzzer writes: the engine does what they say, whoever reads them.

use dumbbell_packetdrill::fuzz::{Case, Controller};
use dumbbell_packetdrill::{Options, Verdict, check};
use dumbbell_tcp::cca::Algorithm;
use std::collections::BTreeSet;

/// Packets are on time, however long the pause before them.
fn strict() -> Options {
    Options {
        tolerance_percent: 0.0,
        ..Options::default()
    }
}

#[test]
fn the_engine_does_what_it_did() {
    for (number, segments) in (0..300).flat_map(|number| [(number, 1), (number, 65535)]) {
        let case = Case::drawn(1, number).with_gso_max_segs(segments);
        let played = case.played();
        let verdict = check(&played.script, &strict());
        assert_eq!(
            verdict,
            Ok(Verdict::Passed),
            "{number}: {case:?}\n{}",
            played.script
        );
    }
}

/// The kernel is late by a few microseconds: what happens just before a tick is there behind it.
#[test]
fn nothing_comes_just_before_a_tick() {
    let mut events = 0;
    for number in 0..300 {
        let script = Case::drawn(1, number).played().script;
        for line in script.lines() {
            let Some((time, what)) = line.split_once(' ') else {
                continue;
            };
            let Some((s, us)) = time.split_once('.') else {
                continue;
            };
            if !["write(", "shutdown(", "<"]
                .iter()
                .any(|begins| what.starts_with(begins))
            {
                continue;
            }
            events += 1;
            let us = 1_000_000 * s.parse::<u64>().unwrap() + us.parse::<u64>().unwrap();
            // A script begins 250 microseconds behind a tick.
            assert!((us + 250) % 1_000 <= 995, "{number}: {line}");
        }
    }
    assert!(events > 5_000, "{events}");
}

/// Linux draws BBR's first phase: what the engine does with any of them passes.
#[test]
fn any_first_phase_of_bbr_will_do() {
    let mut most = 0;
    for number in 0..60 {
        let case = Case::drawn(1, number);
        let phases = case.with_each_phase();
        if case.controller.algorithm() != Algorithm::Bbr {
            assert_eq!(phases, [case]);
            continue;
        }
        most = most.max(phases.len());
        for case in phases {
            let verdict = check(&case.played().script, &strict());
            assert_eq!(verdict, Ok(Verdict::Passed), "{number}: {case:?}");
        }
    }
    assert!(most > 3, "{most}");
}

/// Those that are not drawn are set by their sockets, and their scripts pass, too.
#[test]
fn any_controller_of_linux_can_be_named() {
    for controller in Controller::all() {
        for number in 0..20 {
            let case = Case::drawn(1, number).with_controller(controller);
            let script = case.played().script;
            let is_drawn = Controller::drawn_from().any(|drawn| drawn == controller);
            let is_set = script.contains("TCP_CONGESTION");
            assert_eq!(is_set, !is_drawn, "{}", controller.name());
            let verdict = check(&script, &strict());
            assert_eq!(
                verdict,
                Ok(Verdict::Passed),
                "{} {number}",
                controller.name()
            );
        }
    }
}

/// A new controller of the registry changes what seeds mean, if Linux has it: then these change.
#[test]
fn seeds_draw_the_controllers_that_they_drew() {
    let names: Vec<String> = (0..12)
        .map(|number| String::from(Case::drawn(1, number).controller))
        .collect();
    let drawn = [
        "bbr", "reno", "reno", "reno", "reno", "bbr", "cubic", "cubic", "reno", "cubic", "cubic",
        "bbr",
    ];
    assert_eq!(names, drawn);
    let unknown = Controller::try_from("manual".to_owned());
    assert!(unknown.unwrap_err().contains("one of reno, cubic, bbr"));
}

#[test]
fn cases_differ_and_repeat() {
    let script = |number| Case::drawn(7, number).played().script;
    let scripts: BTreeSet<String> = (0..50).map(script).collect();
    assert!(scripts.len() > 48);
    assert_eq!(script(3), script(3));
    let text = |part: &str| {
        scripts
            .iter()
            .filter(|script| script.contains(part))
            .count()
    };
    for part in [
        "=reno",
        "=cubic",
        "=bbr",
        "sack ",
        "TS val",
        "tcp_ecn=1",
        "SHUT_WR",
    ] {
        assert!(text(part) > 3, "{part}: {}", text(part));
    }
}

#[test]
fn shorter_cases_are_shorter_and_end() {
    let mut case = Case::drawn(1, 5);
    let mut steps = 0;
    while let Some(shorter) = case.shorter().into_iter().next() {
        case = shorter;
        steps += 1;
        assert!(steps < 1000, "{case:?}");
    }
    assert!(case.packets.is_empty() && case.acks.is_empty());
    assert_eq!((case.writes.len(), case.writes[0].pkts), (1, 1));
}
