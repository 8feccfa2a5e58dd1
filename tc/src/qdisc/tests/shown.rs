//! What `tc -d qdisc show` prints, by example; `tests/formats/test_tc.py` of the repository holds
//! it against the program and the host's kernel.

use super::*;

const ETHERNET: Device = Device { mtu_bytes: 1500 };

/// What is typed, the options as text, and as JSON.
const EXAMPLES: &[(&str, &str, &str)] = &[
    ("pfifo limit 50", "limit 50p", r#"{"limit":50}"#),
    (
        "pfifo_fast",
        "bands 3 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1",
        r#"{"bands":3,"priomap":[1,2,2,2,1,2,0,0,1,1,1,1,1,1,1,1],"multiqueue":false}"#,
    ),
    ("bfifo limit 51199", "limit 50Kb", r#"{"limit":51199}"#),
    (
        "ets bands 5 strict 2 quanta 4500 3000 priomap 4 3",
        "bands 5 strict 2 quanta 4500 3000 1514 priomap 4 3 4 4 4 4 4 4 4 4 4 4 4 4 4 4 ",
        r#"{"bands":5,"strict":2,"quanta":[4500,3000,1514],"priomap":[4,3,4,4,4,4,4,4,4,4,4,4,4,4,4,4]}"#,
    ),
    ("drr", "", "{}"),
    ("hfsc", "", "{}"),
    ("hfsc default 1f", "default 1f ", r#"{"default":"1f"}"#),
    (
        "ets strict 2",
        "bands 2 strict 2 priomap 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 ",
        r#"{"bands":2,"strict":2,"priomap":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}"#,
    ),
    (
        "prio bands 4 priomap 3",
        "bands 4 priomap 3 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1",
        r#"{"bands":4,"priomap":[3,2,2,2,1,2,0,0,1,1,1,1,1,1,1,1],"multiqueue":false}"#,
    ),
    (
        "tbf rate 6.55mbit burst 10kb limit 2mb",
        "rate 6550Kbit burst 10Kb/1 mpu 0b lat 2.55s linklayer ethernet ",
        r#"{"rate":818750,"burst":"10Kb/1","mpu":0,"lat":2548901,"linklayer":"ethernet"}"#,
    ),
    (
        "tbf rate 1mbit burst 10kb limit 20kb peakrate 2mbit mtu 1514",
        "rate 1Mbit burst 10Kb/1 mpu 0b peakrate 2Mbit mtu 1514b/1 mpu 0b lat 81.9ms \
         linklayer ethernet ",
        r#"{"rate":125000,"burst":"10Kb/1","mpu":0,"mtu":"1514b/1","lat":81920,"linklayer":"ethernet"}"#,
    ),
    (
        "htb default 1f r2q 5",
        "r2q 5 default 0x1f ver 3.17 direct_qlen 1000",
        r#"{"r2q":5,"default":"0x1f","ver":"3.17","direct_qlen":1000}"#,
    ),
    (
        "root handle 1: htb default 1; class add parent 1: classid 1:1 htb rate 1mbit",
        "r2q 10 default 0x1 direct_packets_stat 0 ver 3.17 direct_qlen 1000",
        r#"{"r2q":10,"default":"0x1","direct_packets_stat":0,"ver":"3.17","direct_qlen":1000}"#,
    ),
    (
        "netem delay 500us 10us 25% loss 0.5% 25% ecn duplicate 1% reorder 25% gap 5",
        "limit 1000 delay 499us  9us 25% loss 0.5% 25% duplicate 1% reorder 25% ecn  gap 5",
        r#"{"limit":1000,"delay":{"delay":0.000499,"jitter":9e-6,"correlation":0.25},"loss-random":{"loss":0.005,"correlation":0.25},"duplicate":{"duplicate":0.01,"correlation":0.0},"reorder":{"reorder":0.25,"correlation":0.0},"ecn":true,"gap":5}"#,
    ),
    (
        "netem loss gemodel 1% 10% 70% 0.1% rate 1mbit 20 48 5",
        "limit 1000 loss gemodel p 1% r 10% 1-h 70% 1-k 0.1% rate 1Mbit packetoverhead 20 \
         cellsize 48 celloverhead 5",
        r#"{"limit":1000,"loss-gemodel":{"p":0.01,"r":0.1,"1-h":0.7,"1-k":0.001},"rate":{"rate":125000,"packetoverhead":20,"cellsize":48,"celloverhead":5},"ecn":false,"gap":0}"#,
    ),
    (
        "netem loss state 1%",
        "limit 1000 loss state p13 1% p31 99% p32 0% p23 100% p14 0%",
        r#"{"limit":1000,"loss-state":{"p13":0.01,"p31":0.99,"p32":0.0,"p23":1.0,"p14":0.0},"ecn":false,"gap":0}"#,
    ),
    (
        "codel ecn ce_threshold 1ms",
        "limit 1000p target 5ms ce_threshold 1ms interval 100ms ecn ",
        r#"{"limit":1000,"target":5000,"ce_threshold":1000,"interval":100000,"ecn":true}"#,
    ),
    (
        "fq maxrate 10mbit nopacing quantum 4096 ce_threshold 1ms horizon_cap",
        "limit 10000p flow_limit 100p buckets 1024 orphan_mask 1023 nopacing quantum 4Kb \
         initial_quantum 15140b maxrate 10Mbit low_rate_threshold 550Kbit refill_delay 40ms \
         ce_threshold 1ms timer_slack 10us horizon 10s horizon_cap ",
        r#"{"limit":10000,"flow_limit":100,"buckets":1024,"orphan_mask":1023,"pacing":false,"quantum":4096,"initial_quantum":15140,"maxrate":1250000,"low_rate_threshold":68750,"refill_delay":40000,"ce_threshold":1000,"timer_slack":10000,"horizon":10000000,"horizon_cap":null}"#,
    ),
    (
        "fq_codel ce_threshold 1ms ce_threshold_selector 0/3",
        "limit 10240p flows 1024 quantum 1514 target 5ms ce_threshold 1ms \
         ce_threshold_selector 0/0x3 interval 100ms memory_limit 32Mb ecn drop_batch 64 ",
        r#"{"limit":10240,"flows":1024,"quantum":1514,"target":5000,"ce_threshold":1000,"ce_threshold_selector":0,"ce_threshold_mask":3,"interval":100000,"memory_limit":33554432,"ecn":true,"drop_batch":64}"#,
    ),
    (
        "fq_codel",
        "limit 10240p flows 1024 quantum 1514 target 5ms interval 100ms memory_limit 32Mb ecn \
         drop_batch 64 ",
        r#"{"limit":10240,"flows":1024,"quantum":1514,"target":5000,"interval":100000,"memory_limit":33554432,"ecn":true,"drop_batch":64}"#,
    ),
    (
        "dualpi2 limit 1000 step_thresh 3p overflow classic_protection 20",
        "limit 1000p memlimit 3028000B target 15ms tupdate 16ms alpha 0.156250 beta 3.195312 \
         step_thresh 3p min_qlen_step 0p coupling_factor 2 overflow drop_dequeue \
         classic_protection 20% l4s_ect split_gso ",
        r#"{"limit":1000,"memory-limit":3028000,"target":15000,"tupdate":16000,"alpha":0.15625,"beta":3.1953125,"step-thresh-pkts":3,"min-qlen-step":0,"coupling":2,"drop-overload":"overflow","drop-early":"drop-dequeue","c-protection":20,"ecn-mask":"l4s-ect","split-gso":null}"#,
    ),
    (
        "cake bandwidth 20mbit docsis nat ingress diffserv4 memlimit 8mb",
        "bandwidth 20Mbit diffserv4 triple-isolate nonat nowash ingress no-ack-filter split-gso rtt \
         100ms noatm overhead 18 mpu 64 memlimit 8Mb ",
        r#"{"bandwidth":2500000,"diffserv":"diffserv4","flowmode":"triple-isolate","nat":false,"wash":false,"ingress":true,"ack-filter":"disabled","split_gso":true,"rtt":100000,"raw":false,"atm":"noatm","overhead":18,"mpu":64,"memlimit":8388608,"fwmark":"0"}"#,
    ),
    (
        "cake",
        "bandwidth unlimited diffserv3 triple-isolate nonat nowash no-ack-filter split-gso rtt \
         100ms raw overhead 0 ",
        r#"{"bandwidth":"unlimited","diffserv":"diffserv3","flowmode":"triple-isolate","nat":false,"wash":false,"ingress":false,"ack-filter":"disabled","split_gso":true,"rtt":100000,"raw":true,"overhead":0,"fwmark":"0"}"#,
    ),
    (
        "pie bytemode",
        "limit 1000p target 15ms tupdate 15ms alpha 2 beta 20 bytemode ",
        r#"{"limit":1000,"target":15000,"tupdate":15000,"alpha":2,"beta":20,"bytemode":true}"#,
    ),
    (
        "fq_pie ecn quantum 4kb",
        "limit 10240p flows 1024 target 15ms tupdate 15ms alpha 2 beta 20 quantum 4Kb \
         memory_limit 32Mb ecn_prob 10 ecn ",
        r#"{"limit":10240,"flows":1024,"target":15000,"tupdate":15000,"alpha":2,"beta":20,"quantum":4096,"memory_limit":33554432,"ecn_prob":10,"ecn":true}"#,
    ),
    (
        "red limit 400kb avpkt 1000 min 30kb max 90kb ecn nodrop",
        "limit 400Kb min 30Kb max 90Kb ecn nodrop ",
        r#"{"limit":409600,"min":30720,"max":92160,"ecn":true,"harddrop":false,"adaptive":false,"nodrop":true}"#,
    ),
    (
        "choke limit 1000 bandwidth 10mbit ecn",
        "limit 1000p min 83p max 250p ecn ",
        r#"{"limit":1000,"min":83,"max":250,"ecn":true,"harddrop":false,"adaptive":false,"nodrop":false}"#,
    ),
    (
        "sfq redflowlimit 100000 min 8000 max 60000 avpkt 1000 burst 20 probability 0.1 ecn",
        "limit 127p quantum 1514b depth 127 flows 128 divisor 1024 ewma 5 min 8000b max 60000b \
         probability 0.1 ecn ",
        r#"{"limit":127,"quantum":1514,"depth":127,"flows":128,"divisor":1024,"ewma":5,"min":8000,"max":60000,"probability":0.1,"ecn":true,"harddrop":false,"adaptive":false,"nodrop":false}"#,
    ),
    (
        "sfq perturb 10 headdrop limit 100",
        "limit 100p quantum 1514b depth 127 headdrop flows 100 divisor 1024 perturb 10sec ",
        r#"{"limit":100,"quantum":1514,"depth":127,"headdrop":true,"flows":100,"divisor":1024,"perturb":10}"#,
    ),
];

#[test]
fn options_as_text_and_json() {
    for (typed, text, json) in EXAMPLES.iter().chain(SHOWN.iter().flatten()) {
        let shown = parse(typed).unwrap().shown(ETHERNET, 1);
        assert_eq!(shown[0].text, *text, "{typed}");
        let options = serde_json::to_string(&shown[0].options).unwrap();
        assert_eq!(options, *json, "{typed}");
    }
}

#[test]
fn every_discipline_has_an_example() {
    let all = EXAMPLES.iter().chain(SHOWN.iter().flatten());
    let shown = all.map(|(typed, ..)| parse(typed).unwrap());
    let names: Vec<&str> = shown.map(|qdisc| qdisc.discipline().name).collect();
    for discipline in disciplines() {
        assert!(names.contains(&discipline.name), "{}", discipline.name);
    }
}

#[test]
fn what_is_inside_has_the_handles_of_the_lines() {
    let tree = "root handle 1: htb default 20
        class add parent 1: classid 1:10 htb rate 1mbit
        class add parent 1: classid 1:20 htb rate 1mbit
        parent 1:10 handle 5: prio
        parent 5:1 pfifo limit 3
        parent 5:3 tbf rate 1mbit burst 10kb limit 10kb
        parent 1:20 fq_codel";
    let qdisc = parse(tree).unwrap();
    let shown = qdisc.shown(Device { mtu_bytes: 9000 }, 0xf);
    let places: Vec<_> = { shown.iter() }
        .map(|each| (each.kind, each.handle.as_str(), each.parent.as_deref()))
        .collect();
    let expected = [
        ("htb", "f:", None),
        ("prio", "10:", Some("f:10")),
        ("pfifo", "11:", Some("10:1")),
        ("tbf", "12:", Some("10:3")),
        ("fq_codel", "13:", Some("f:20")),
    ];
    assert_eq!(places, expected);
    assert!(shown[4].text.contains("quantum 9014 "));
    let attachment = Attachment {
        handle: 0xf,
        ..Attachment::default()
    };
    let lines = qdisc.lines(&attachment);
    let typed = lines.iter().filter(|line| line.starts_with("qdisc"));
    for ((kind, handle, _), line) in places.iter().zip(typed) {
        assert!(line.contains(&format!("handle {handle} {kind}")), "{line}");
    }
}

#[test]
fn only_a_single_class_has_every_packet() {
    let every = |text: &str| -> Vec<bool> {
        let shown = parse(text).unwrap().shown(ETHERNET, 1);
        shown.iter().map(|each| each.has_every_packet).collect()
    };
    let tbf = "tbf rate 1mbit burst 10kb limit 10kb";
    assert_eq!(
        every(&format!("root handle 1: {tbf}; parent 1:1 codel")),
        [true, true]
    );
    let chain = format!("root handle 1: {tbf}; parent 1:1 handle 2: prio; parent 2:1 pfifo");
    assert_eq!(every(&chain), [true, true, false]);
    let inside = format!("root handle 1: prio; parent 1:1 handle 2: {tbf}; parent 2:1 pfifo");
    assert_eq!(every(&inside), [true, false, false]);
}

#[test]
fn json_for_other_languages() {
    assert_eq!(
        parse("pfifo limit 5").unwrap().shown_json(ETHERNET, 1),
        r#"[{"kind":"pfifo","handle":"1:","parent":null,"has_every_packet":true,"text":"limit 5p","options":{"limit":5}}]"#
    );
}
