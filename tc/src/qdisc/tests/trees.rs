//! Lines that belong together: chains, classes, filters.

use super::*;

#[test]
fn lines_make_a_chain() {
    let chain = "tc qdisc add dev eth1 root handle 1: tbf rate 1mbit burst 10kb limit 10kb\n\
                 # what waits for tokens\n\
                 tc qdisc add dev eth1 parent 1:1 handle 10: pfifo limit 20";
    let qdisc = parse(chain).unwrap();
    assert_eq!(
        qdisc.to_json(),
        r#"{"kind":"tbf","rate_bps":1000000,"burst_bytes":10240,"limit_bytes":10240,"peakrate_bps":0,"mtu_bytes":0,"child":{"kind":"pfifo","limit_packets":20}}"#
    );
    for same in [
        "root handle 1: tbf rate 1mbit burst 10kb limit 10kb; parent 1:1 pfifo limit 20",
        "qdisc replace root handle 1: tbf rate 1mbit burst 10kb limit 10kb;;\n\
         sudo tc qdisc add parent 1: handle 2: pfifo limit 20;",
    ] {
        assert_eq!(parse(same), Ok(qdisc.clone()), "{same}");
    }
    let lines = "qdisc add root handle 1: tbf rate 1mbit burst 10kb limit 10kb\n\
                 qdisc add parent 1:1 handle 2: pfifo limit 20";
    assert_eq!(qdisc.to_string(), lines);
    let attachment = Attachment {
        device: Some("eth0"),
        parent: Some("1:1"),
        handle: 0x10,
        options: "stab overhead 10",
    };
    assert_eq!(
        qdisc.lines(&attachment),
        [
            "qdisc add dev eth0 parent 1:1 handle 10: stab overhead 10 \
             tbf rate 1mbit burst 10kb limit 10kb",
            "qdisc add dev eth0 parent 10:1 handle 11: pfifo limit 20",
        ]
    );
    // A whole command for a single discipline is one, too.
    assert_eq!(
        json("sudo tc qdisc replace dev eth2 root netem rate 1000kbit"),
        json("netem rate 1000kbit")
    );
}

#[test]
fn lines_that_do_not_fit_are_named() {
    let tbf = "root handle 1: tbf rate 1mbit burst 10kb limit 10kb";
    for (text, reason) in [
        (
            format!("{tbf}; parent 2:1 pfifo"),
            "no discipline has the handle 2: (the lines before have 1:)",
        ),
        (
            "root pfifo; parent 1: pfifo".to_owned(),
            "the lines before give no handle",
        ),
        (
            "root handle 1: pfifo; parent 1:1 pfifo".to_owned(),
            "pfifo 1: has no class 1:1",
        ),
        (
            format!("{tbf}; parent 1:2 pfifo"),
            "tbf 1: has no class 1:2",
        ),
        (
            format!("{tbf}; parent 1: pfifo; parent 1:1 pfifo"),
            "class 1:1 has a discipline already",
        ),
        (format!("{tbf}; {tbf}"), "handle 1: exists already"),
        (
            "root pfifo; root pfifo".to_owned(),
            "there is a root already",
        ),
        (
            "parent 1:1 pfifo".to_owned(),
            "no discipline has the handle 1:",
        ),
        (
            "root handle 1: pfifo; bfifo".to_owned(),
            "it has neither root nor parent",
        ),
        ("tc qdisc del dev eth0 root".to_owned(), "there is no root"),
        (
            "tc qdisc change dev eth0 root pfifo".to_owned(),
            "there is no discipline to change",
        ),
        (
            "qdisc add dev eth0 root handle 1:1 pfifo".to_owned(),
            "has no minor number: write H:",
        ),
        (
            "qdisc add dev a root handle 1: netem; dev b parent 1:1 pfifo".to_owned(),
            "\"b\" is not the device of the lines before",
        ),
        (
            format!("{tbf}; parent 1:zz pfifo"),
            "parent \"1:zz\" is not a handle H: or class H:C",
        ),
    ] {
        let error = refused(&text);
        assert!(error.to_string().contains(reason), "{text}: {error}");
    }
    assert!(matches!(
        refused(&format!("{tbf}; parent 1:1 pfio")),
        QdiscError::UnknownDiscipline { .. }
    ));
    // One bucket in the other, too deep.
    let mut deep = "root handle 1: tbf rate 1mbit burst 10kb limit 10kb".to_owned();
    for parent in 1..=MAX_DEPTH {
        assert_eq!(parse(&deep).map(|_| ()), Ok(()));
        let line = tbf.replace(
            "root handle 1:",
            &format!("parent {parent}:1 handle {}:", parent + 1),
        );
        deep = format!("{deep}\n{line}");
    }
    assert!(matches!(refused(&deep), QdiscError::OutOfRange { .. }));
}

const HTB: &str = "\
qdisc add root handle 1: htb default 20 r2q 10 direct_qlen 1000
class add parent 1: classid 1:1 htb rate 4mbit ceil 4mbit burst 1600b cburst 1600b prio 0
class add parent 1:1 classid 1:10 htb rate 2mbit ceil 4mbit burst 2kb cburst 1600b prio 1 quantum 1514
class add parent 1:1 classid 1:20 htb rate 1mbit ceil 1mbit burst 1600b cburst 1600b prio 0
filter add parent 1: protocol ip prio 1 u32 match ip dsfield 0x10 0xfc flowid 1:10
filter add parent 1: protocol ip prio 2 matchall flowid 1:20
qdisc add parent 1:10 handle 2: prio bands 4 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1
qdisc add parent 2:4 handle 3: pfifo limit 7";

#[test]
fn a_tree_of_classes_is_written_as_it_is_read() {
    assert_eq!(parse(HTB).unwrap().to_string(), HTB);
    // As one types it: what has a default is left out, classes and filters in other words.
    let typed = "tc qdisc add dev eth0 root handle 1: htb default 0x20
        tc class add dev eth0 parent 1: classid 1:1 htb rate 4mbit
        tc class add dev eth0 parent 1:1 classid 1:10 htb rate 2mbit ceil 4mbit buffer 2kb prio 1 quantum 1514
        tc class add dev eth0 parent 1:1 classid 1:20 htb rate 1mbit
        tc qdisc add dev eth0 parent 1:10 handle 20: prio bands 4
        tc qdisc add dev eth0 parent 20:4 pfifo limit 7
        tc filter add dev eth0 parent 1: protocol ip prio 2 matchall classid 1:20
        tc filter add dev eth0 parent 1: pref 1 protocol ip u32 match ip tos 0x10 fc classid 1:10";
    assert_eq!(parse(typed), parse(HTB));
    assert_eq!(Qdisc::from_json(&parse(HTB).unwrap().to_json()), parse(HTB));
}

#[test]
fn a_filter_without_prio_comes_before_those_there() {
    // As in Linux: 49152, and then one less than the lowest; but after those with small numbers.
    let text = "root handle 1: prio
        filter add parent 1: prio 7 u32 match ip dport 80 0xffff flowid 1:2
        filter add protocol ip u32 match ip tos 16 ff flowid 1:1
        filter add parent 1: matchall flowid 1:3";
    let order: Vec<_> = { filters(text) }
        .iter()
        .map(|filter| (filter.priority, filter.matched_words(), filter.minor))
        .collect();
    let expected = [
        (7, "u32 match ip dport 80 0xffff", 2),
        (49151, "matchall", 3),
        (49152, "u32 match ip dsfield 0x10 0xff", 1),
    ];
    assert_eq!(
        order,
        expected.map(|(prio, words, minor)| (prio, words.to_owned(), minor))
    );
}

/// What the filters of the root are.
fn filters(text: &str) -> Vec<crate::qdisc::Filter> {
    let qdisc = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    qdisc.filters().to_vec()
}

#[test]
fn filters_are_written_as_they_are_read() {
    for (typed, written) in [
        (
            "u32 match ip src 10.10.1.7/24 match ip protocol 0x6 ff classid :1",
            "protocol all prio 49152 u32 match ip protocol 6 0xff match ip src 10.10.1.0/24 flowid 1:1",
        ),
        (
            "protocol ip pref 3 u32 match u32 0x00060000 0x00ff0000 at 8 flowid 1",
            "protocol ip prio 3 u32 match ip protocol 6 0xff flowid 1:1",
        ),
        (
            "u32 match u32 0 0 flowid 1:1",
            "protocol all prio 49152 u32 match u32 0 0 flowid 1:1",
        ),
        (
            "protocol ip flower dst_ip 10.10.2.2 ip_proto tcp dst_port 80-90 flowid 1:1",
            "protocol ip prio 49152 flower ip_proto tcp dst_ip 10.10.2.2/32 dst_port 80-90 flowid 1:1",
        ),
        (
            "protocol ip handle 6 fw classid 1:1",
            "protocol ip prio 49152 handle 0x6 fw flowid 1:1",
        ),
    ] {
        let text = format!("root handle 1: prio; filter add parent 1: {typed}");
        let lines = parse(&text)
            .unwrap_or_else(|error| panic!("{text}: {error}"))
            .to_string();
        let line = lines.lines().nth(1).unwrap();
        assert_eq!(line, format!("filter add parent 1: {written}"));
        assert_eq!(parse(&lines), parse(&text));
    }
}

/// As shell scripts write them.
#[test]
fn lines_of_a_script() {
    let script = "# shape
        sudo tc qdisc del dev eth0 root 2>/dev/null || true
        /sbin/tc qdisc add dev eth0 root handle 1 htb default 10 # the rest
        tc class add dev eth0 parent 1: classid 1:1 htb \\
            rate 6mbit && tc class add dev eth0 parent 1:1 classid 1:10 htb rate 5mbit
        tc filter add dev eth0 prio 0 protocol ip u32 match ip dport 80 0xffff flowid 1:10 >/dev/null";
    let plain = "root handle 1: htb default 10
        class add parent 1: classid 1:1 htb rate 6mbit
        class add parent 1:1 classid 1:10 htb rate 5mbit
        filter add parent 1: protocol ip u32 match ip dport 80 0xffff flowid 1:10";
    assert_eq!(parse(script).unwrap(), parse(plain).unwrap());
    let begun_again = format!("root handle 1: prio; tc qdisc del dev x root; {script}");
    assert!(parse(&begun_again).is_err(), "of another device");
    let begun_again = format!("root handle 1: prio; tc qdisc del root; {script}");
    assert_eq!(parse(&begun_again).unwrap(), parse(plain).unwrap());
    // What is taken away and does not come again is not there.
    assert!(parse("tc qdisc add root pfifo; tc qdisc del dev eth0 root").is_err());
}

/// What is not said stays, or has tc's default, by the discipline.
#[test]
fn a_line_may_change_what_is_there() {
    for (script, plain) in [
        (
            "qdisc add root codel limit 100 target 3ms ecn; qdisc change root codel target 8ms",
            "codel limit 100 target 8ms ecn",
        ),
        (
            "root handle 1: prio; parent 1:1 handle 10: netem delay 65ms rate 1mbit; \
             qdisc change parent 1:1 handle 10: netem loss 1%",
            "root handle 1: prio; parent 1:1 handle 10: netem loss 1% rate 1mbit",
        ),
        (
            "qdisc add root pfifo limit 7; qdisc change root pfifo",
            "pfifo limit 1000",
        ),
    ] {
        assert_eq!(parse(script).unwrap(), parse(plain).unwrap(), "{script}");
    }
}

/// The priority of a packet is that of its TOS byte.
#[test]
fn basic_filters_of_priorities_are_those_of_tos_bytes() {
    let plain = "root handle 1: prio; filter add parent 1: u32 match ip tos 0x10 0x18 flowid 1:1";
    let basic = "root handle 1: prio; \
                 filter add parent 1: basic match 'meta(priority eq 6)' classid 1:1";
    assert_eq!(parse(basic).unwrap(), parse(plain).unwrap());
    assert!(parse(&basic.replace("eq 6", "eq 5")).is_err());
}

/// Lines that no packet here can match are left out, and told of.
#[test]
fn filters_of_what_no_packet_has() {
    let plain = "root handle 1: prio; filter add parent 1: matchall flowid 1:1";
    for (filter, why) in [
        ("protocol ipv6 prio 1 u32 match u32 0 0 flowid 1:3", "IPv4"),
        ("protocol ip handle 1: cgroup", "control group"),
        (
            "protocol ip u32 match ether dst a8:ab:b5:8c:3a:1f flowid 1:2",
            "Ethernet address",
        ),
    ] {
        let text = format!("{plain}; filter add parent 1: {filter}");
        let (qdisc, notices) = super::super::parse_noting(&text).unwrap();
        assert_eq!(qdisc, parse(plain).unwrap());
        let said = notices.first().expect("a notice").to_string();
        assert!(said.contains(why), "{said}");
    }
}

/// flower asks mask by mask, by the first filter that has it.
#[test]
fn flower_filters_of_one_prio_are_asked_mask_by_mask() {
    let text = "root handle 1: prio
        filter add protocol ip prio 1 flower ip_proto tcp flowid 1:1
        filter add protocol ip prio 1 flower dst_ip 10.10.2.0/24 flowid 1:2
        filter add protocol ip prio 1 flower ip_proto udp flowid 1:3";
    let order: Vec<u16> = filters(text).iter().map(|filter| filter.minor).collect();
    assert_eq!(order, [1, 3, 2]);
}

#[test]
fn classes_and_filters_that_do_not_fit_are_named() {
    let htb = "root handle 1: htb; class add parent 1: classid 1:1 htb rate 1mbit";
    for (text, reason) in [
        (
            "root handle 1: htb; class add parent 1:9 classid 1:1 htb rate 1mbit",
            "htb class parent: \"9\"",
        ),
        (
            "root handle 1: htb; class add parent 1: classid 1:1 htb ceil 1mbit",
            "htb class: rate is required",
        ),
        (
            "root handle 1: htb; class add parent 1: classid 2:1 htb rate 1mbit",
            "to the same discipline",
        ),
        (
            "root handle 1: htb; class add parent 1: htb rate 1mbit",
            "and a classid",
        ),
        (
            "root handle 1: htb; class add parent 1: classid 1:1 tbf rate 1mbit",
            "cannot be of kind \"tbf\"",
        ),
        (
            "root handle 1: prio; class add parent 1: classid 1:1 prio",
            "prio has no classes to add",
        ),
        (
            &format!("{htb}; class add parent 1: classid 1:1 htb rate 1mbit"),
            "htb class classid: \"1\"",
        ),
        (&format!("{htb} prio 8"), "htb class prio: \"8\""),
        (
            &format!("{htb} overhead 4"),
            "htb class \"overhead\" is not implemented",
        ),
        (
            &format!("{htb}; parent 1:2 pfifo"),
            "htb 1: has no class 1:2",
        ),
        (
            &format!("{htb}; filter add parent 1: matchall"),
            "it has no flowid",
        ),
        (
            &format!("{htb}; filter add parent 1:1 matchall flowid 1:1"),
            "of a filter is a discipline H:",
        ),
        (
            &format!("{htb}; filter add parent 1: u32 match ip sports 1 1 flowid 1:1"),
            "did you mean \"sport\"",
        ),
        (
            &format!("{htb}; filter add parent 1: u32 match ip tos 1 256 flowid 1:1"),
            "\"256\" is not a number from 0 to 255",
        ),
        (
            &format!("{htb}; filter add parent 1: fw flowid 1:1"),
            "fw needs a handle",
        ),
        (
            &format!("{htb}; filter add parent 1: basic match 'meta(mark eq 6)' flowid 1:1"),
            "u32 and flower look at",
        ),
        (
            &format!("{htb}; filter add parent 1: u32 match ip dport 40000 ffff flowid 1:1"),
            "32768 to 60999",
        ),
        (
            &format!("{htb}; filter add parent 1: matchall flowid :0"),
            "names no class",
        ),
        (
            &format!("{htb}; filter add parent 1: protocol ip flower src_ip any flowid 1:1"),
            "leave the word out",
        ),
        (
            &format!(
                "{htb}; filter add parent 1: protocol ip flower ip_proto tcp dst_port 0 flowid 1:1"
            ),
            "not a port from 1",
        ),
        (
            "root handle 1: drr quantum 1500",
            "drr has no parameter \"quantum\"",
        ),
        (
            "root handle 1: drr; class add parent 1: classid 1:1 drr quantum 0",
            "drr class quantum: \"0\"",
        ),
        (
            "root handle 1: drr; class add parent 1: classid 1:1 drr; class add parent 1:1 classid 1:2 drr",
            "makes a tree",
        ),
        ("hfsc default 1 default 2", "is given twice"),
        (
            "root handle 1: hfsc; class add parent 1: classid 1:1 hfsc",
            "none of rt, ls and sc",
        ),
        (
            "root handle 1: hfsc; class add parent 1: classid 1:1 hfsc rt m2 1mbit ul m2 2mbit",
            "ul without ls",
        ),
        (
            "root handle 1: hfsc; class add parent 1: classid 1:1 hfsc sc m1 1mbit d 5ms",
            "hfsc class sc: \"nothing\"",
        ),
        (
            "root handle 1: hfsc; class add parent 1: classid 1:1 hfsc sc umax 1500 rate 1mbit",
            "umax without dmax",
        ),
        (
            "root handle 1: hfsc; class add parent 1: classid 1:1 hfsc rt m2 1mbit; \
             class add parent 1:1 classid 1:2 hfsc ls m2 1mbit",
            "which has child classes",
        ),
        (
            "root handle 1: htb; qdisc change root handle 1: htb default 2",
            "change of htb is not implemented",
        ),
        (
            "root handle 1: pfifo; qdisc change root handle 1: codel",
            "the existing discipline is pfifo, not codel",
        ),
        (
            "root handle 1: netem delay 10ms 1ms 25%; qdisc change root netem delay 5ms",
            "delete it and add it again",
        ),
        (
            &format!("{htb}; filter add parent 1: u32 match u8 0x10 0xff at 33 flowid 1:1"),
            "looks at byte 33",
        ),
        (
            &format!(
                "{htb}; filter add parent 1: u32 match ip dport 1 ff match ip dport 2 3 flowid 1:1"
            ),
            "two values of the destination port",
        ),
        (
            &format!("{htb}; filter add parent 1: flower ip_tos 4 flowid 1:1"),
            "needs protocol ip",
        ),
        (
            &format!("{htb}; filter add parent 1: prio 65536 matchall flowid 1:1"),
            "from 0 to 65535",
        ),
        (
            &format!("{htb}; filter add parent 1: matchall flowid 2:1"),
            "of another discipline",
        ),
        (
            &format!(
                "{htb}; filter add parent 1: prio 1 matchall flowid 1:1; filter add parent 1: prio 1 matchall flowid 1:1"
            ),
            "matchall alone in its prio",
        ),
        (
            "root handle 1: pfifo; filter add parent 1: matchall flowid 1:1",
            "pfifo takes no filters",
        ),
        ("prio bands 17", "prio bands: \"17\""),
        (
            "fq_pie ecn_prob 100 ecn_prob 10",
            "fq_pie ecn_prob: \"100\"",
        ),
        ("ets", "bands"),
        ("ets bands 17", "ets bands: \"17\""),
        ("ets bands 2 strict 3", "ets bands: \"3\""),
        ("ets bands 2 strict 1 quanta 1 1", "ets bands: \"3\""),
        ("ets bands 2 bands 3", "bands"),
        ("ets quanta 0", "ets quanta: \"0\""),
        ("ets quanta 1 x", "ets quanta: \"x\""),
        ("ets bands 3 1500", "1500"),
        ("ets bands 3 priomap 3", "ets priomap: \"3\""),
        ("ets bands 3 priomap 256", "ets priomap: \"256\""),
        ("prio bands 2", "prio priomap: \"2\""),
        ("prio priomap 3", "prio priomap: \"3\""),
        ("prio priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0", "priomap"),
        ("prio multiqueue", "not implemented"),
    ] {
        let error = refused(text);
        assert!(error.to_string().contains(reason), "{text}: {error}");
    }
}

#[test]
fn what_a_discipline_holds_a_queue_to() {
    let htb = "qdisc add root handle 1: htb default DEFAULT
               class add parent 1: classid 1:1 htb rate 2mbit ceil 6mbit
               class add parent 1:1 classid 1:10 htb rate 1mbit
               class add parent 1: classid 1:2 htb rate 4mbit";
    let prio = "qdisc add root handle 1: prio bands 2 priomap 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0
                qdisc add parent 1:1 netem rate 1mbit\n";
    for (text, rate_bps) in [
        ("fq maxrate 5mbit".to_owned(), 0),
        ("netem rate 3mbit".to_owned(), 3_000_000),
        (
            "root handle 1: tbf rate 4mbit burst 5k limit 50k; parent 1: netem rate 3mbit"
                .to_owned(),
            3_000_000,
        ),
        (htb.replace("DEFAULT", "10"), 10_000_000),
        (htb.replace("DEFAULT", "2"), 10_000_000),
        // A packet that no leaf takes passes at once, and one that a filter sends to the root.
        (htb.replace("DEFAULT", "1"), 0),
        (
            htb.replace("DEFAULT", "10")
                + "\nfilter add parent 1: u32 match ip dsfield 0xb8 0xff flowid 1:0",
            0,
        ),
        (prio.to_owned(), 0),
        (
            prio.to_owned() + "qdisc add parent 1:2 netem rate 2mbit",
            3_000_000,
        ),
    ] {
        let qdisc = parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(qdisc.shaped_bps(), rate_bps, "{text}");
    }
}

#[test]
fn a_link_has_one_of_the_queues_of_mq() {
    for (text, same) in [
        ("mq", "pfifo_fast"),
        ("root multiq", "pfifo"),
        (
            "tc qdisc replace dev eth0 root handle 1: mq; tc qdisc replace dev eth0 parent 1:1 fq",
            "fq",
        ),
        (
            "root handle 1: mq; parent 1:1 handle 2: htb default 1; \
             class add parent 2: classid 2:1 htb rate 1mbit; parent 2:1 pfifo limit 4",
            "root handle 2: htb default 1; class add parent 2: classid 2:1 htb rate 1mbit; \
             parent 2:1 pfifo limit 4",
        ),
    ] {
        let (qdisc, notices) = parse_noting(text).unwrap();
        assert_eq!(Ok(qdisc), parse(same), "{text}");
        let [notice] = notices.as_slice() else {
            panic!("{text}: {notices:?}");
        };
        assert!(
            notice.to_string().contains("a link has one queue"),
            "{notice}"
        );
    }
    for (text, said) in [
        (
            "root handle 1: mq; parent 1:2 fq",
            "a link has one queue, which is class 1 of mq",
        ),
        ("mq 5", "mq has no parameter \"5\""),
        (
            "root handle 1: prio; parent 1:1 mq",
            "mq is the root or nothing",
        ),
        (
            "root handle 1: tbf rate 1mbit burst 9kb limit 9kb; parent 1:1 noqueue",
            "noqueue is the root",
        ),
        (
            "root handle 1: mq; filter add parent 1: matchall flowid 1:1",
            "mq takes no filters",
        ),
        (
            "root handle 1: mq; qdisc change root mq",
            "mq has nothing to change",
        ),
        ("mqprio", "not implemented"),
    ] {
        let message = parse(text).expect_err(text).to_string();
        assert!(message.contains(said), "{text}: {message}");
    }
    let inside = r#"{"kind":"tbf","rate_bps":8000,"burst_bytes":9000,"limit_bytes":9000,"peakrate_bps":0,"mtu_bytes":0,"child":{"kind":"noqueue"}}"#;
    assert!(Qdisc::from_json(inside).is_err());
}
