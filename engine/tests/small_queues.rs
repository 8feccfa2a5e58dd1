//! TCP small queues in a network: what lies in the queue of a sender's own host.

mod common;

use common::*;
use dumbbell_engine::run::{Monitor, RunOutput, run};
use dumbbell_engine::sim::world::World;
use dumbbell_engine::spec::source::{self, Greedy};
use dumbbell_engine::spec::{Experiment, LinkEnd, SizeAt, Source, Tcp};
use dumbbell_tc::parse_qdisc;

/// A full packet at 10 Mbit/s.
const PACKET_NS: i64 = 1_211_200;

/// One flow over one link of 10 Mbit/s and 20 ms there and back.
fn two_hosts(end: LinkEnd, tcp: Tcp) -> Experiment {
    let mut link = link("a", "b", end);
    (link.forward.delay_ns, link.reverse.delay_ns) = (10 * MS, 10 * MS);
    let flow = tcp_flow("f", "a", "b", Source::Greedy(Greedy::default()), tcp);
    let mut spec = experiment(vec![link], vec![flow], vec![]);
    spec.warm_up_ns = 2 * S;
    spec
}

/// Segments one by one.
fn singly(controller: &str) -> Tcp {
    Tcp {
        gso_max_segs: 1,
        ..Tcp::linux(controller)
    }
}

fn simulate(spec: &Experiment) -> RunOutput {
    run(&checked(spec), 0, &Monitor::default()).unwrap()
}

fn queue(output: &RunOutput, column: &str) -> i64 {
    output.tables.column_i64("queues", column)[0]
}

fn behind(rate_bps: u64, qdisc: &str) -> LinkEnd {
    LinkEnd {
        qdisc: parse_qdisc(qdisc).unwrap(),
        ..end(rate_bps)
    }
}

/// The packet that is let in when another's transmission begins has that and one more before it.
#[test]
fn a_flow_keeps_two_packets_behind_the_one_in_transmission() {
    for (controller, most) in [("cubic", 3), ("bbr", 3), ("reno", 3)] {
        for records in [false, true] {
            let mut end = end(10_000_000);
            end.record_packets = records;
            let output = simulate(&two_hosts(end, singly(controller)));
            let longest_ns = queue(&output, "sojourn_max_ns");
            assert_eq!(longest_ns, most * PACKET_NS, "{controller}");
            let payload = output.tables.column_i64("flows", "received_payload_bytes")[0];
            assert!(payload * 8 > 75_000_000, "{controller}: {payload}");
        }
    }
    let output = simulate(&two_hosts(end(10_000_000), without_small_queues("cubic")));
    assert!(queue(&output, "system_max_pkts") > 100);
}

/// In bursts of two: what is let in when one's transmission begins has that and one more before it,
/// which makes six segments and at first seven, and a limit counts each as one (as in the guest, to the packet).
#[test]
fn bursts_are_packets_of_the_host_s_own_queue() {
    let bursts = |controller| Tcp {
        gso_max_segs: 65535,
        ..Tcp::linux(controller)
    };
    for (limit, drops) in [(2, true), (3, false)] {
        let output = simulate(&two_hosts(
            behind(10_000_000, &format!("pfifo limit {limit}")),
            bursts("cubic"),
        ));
        assert_eq!(
            queue(&output, "dropped_overlimit_pkts") > 0,
            drops,
            "{limit}"
        );
        let packets = queue(&output, "arrived_pkts") - queue(&output, "dropped_overlimit_pkts");
        assert!(packets - queue(&output, "departed_pkts") <= 7);
    }
    let output = simulate(&two_hosts(end(10_000_000), bursts("cubic")));
    assert_eq!(queue(&output, "system_max_pkts"), 7);
    assert_eq!(queue(&output, "backlog_max_bytes"), 6 * 1514);
}

/// A bucket that has no room for a burst has it in segments (`tbf_segment`).
#[test]
fn a_short_bucket_takes_segments() {
    let tcp = || Tcp {
        gso_max_segs: 65535,
        ..Tcp::linux("cubic")
    };
    let tbf = |burst| format!("tbf rate 10mbit burst {burst} limit 51kb");
    let means_s = ["1600b", "5kb"].map(|burst| {
        let output = simulate(&two_hosts(behind(0, &tbf(burst)), tcp()));
        assert_eq!(queue(&output, "dropped_overlimit_pkts"), 0, "{burst}");
        output.tables.column_f64("queues", "sojourn_mean_s")[0]
    });
    // The segments of a whole one leave together.
    assert!(means_s[0] > 1.05 * means_s[1], "{means_s:?}");
}

/// The sender hears of what its own queue has no room for, and it is not lost.
#[test]
fn what_the_host_refuses_is_sent_later() {
    for gso_max_segs in [1, 65535] {
        let tcp = Tcp {
            gso_max_segs,
            ..Tcp::linux("reno")
        };
        let qdisc = "netem rate 10mbit limit 40";
        let output = simulate(&two_hosts(behind(0, qdisc), tcp.clone()));
        let flow = |column| output.tables.column_i64("flows", column)[0];
        assert!(flow("dropped_pkts") > 0);
        assert_eq!((flow("retransmitted_pkts"), flow("rto_count")), (0, 0));
        // Behind a router the same queue loses what it has no room for.
        let mut spec = two_hosts(behind(0, qdisc), tcp);
        spec.links.push(link("host", "a", end(0)));
        spec.hosts.push(dumbbell_engine::spec::Host {
            name: "host".into(),
        });
        spec.flows[0].from = "host".into();
        let output = simulate(&spec);
        assert!(output.tables.column_i64("flows", "retransmitted_pkts")[0] > 0);
    }
}

/// Where others fill the queue of its host and something is lost, a write comes while what is to be
/// sent again is refused: it goes on with new data, and the instant ends.
#[test]
fn a_write_goes_on_where_what_is_lost_is_refused() {
    let mut own = behind(0, "tbf rate 5mbit burst 1976 limit 2286");
    own.loss = 0.1;
    let mut spec = two_hosts(own, Tcp::linux("cubic"));
    spec.seed = 74;
    spec.flows[0].source = Source::Renewal(source::Renewal {
        gap: exponential(5e-3),
        size: exponential(3600.0),
        size_at: SizeAt::Payload,
    });
    let others = source(exponential(2.4e-3), constant(1500.0));
    spec.flows.push(flow("g", "a", "b", others));
    let output = simulate(&spec);
    let of_tcp = |column| output.tables.column_i64("flows", column)[0];
    assert!(of_tcp("dropped_pkts") > of_tcp("retransmitted_pkts"));
    assert!(of_tcp("retransmitted_pkts") > 0);
}

/// 100 Mbit/s, paced at 1.2 of it: 14.7 kB in 1/1024 s are six packets of 2728 bytes.
#[test]
fn a_fast_flow_keeps_a_millisecond() {
    let output = simulate(&two_hosts(end(100_000_000), singly("bbr")));
    let most = queue(&output, "system_max_pkts");
    assert!((6..=20).contains(&most), "{most}");
}

/// What a delay has taken in does not count (`skb_orphan_partial`), as root or inside another.
#[test]
fn a_netem_that_takes_time_is_no_small_queue() {
    let of = |qdisc| simulate(&two_hosts(behind(0, qdisc), singly("reno")));
    let inside = "root handle 1: prio ; parent 1:2 handle 20: netem rate 10mbit limit 60";
    for qdisc in ["netem rate 10mbit limit 60", inside] {
        let output = of(qdisc);
        assert_eq!(queue(&output, "system_max_pkts"), 60, "{qdisc}");
    }
    // One that only loses is passed in an instant; what holds back is the rate behind it.
    let end = behind(10_000_000, "netem loss 0.1% limit 60");
    let output = simulate(&two_hosts(end, singly("reno")));
    assert!(queue(&output, "system_max_pkts") <= 4);
}

/// A router's queue is not that of the host, whatever passes it.
#[test]
fn behind_a_router_queues_are_as_without() {
    let mut spec = two_hosts(end(10_000_000), Tcp::linux("reno"));
    let mut access = link("host", "a", end(1_000_000_000));
    access.reverse.rate_bps = 1_000_000_000;
    spec.links.push(access);
    spec.hosts.push(dumbbell_engine::spec::Host {
        name: "host".into(),
    });
    spec.flows[0].from = "host".into();
    spec.links[0].forward.qdisc = pfifo(50);
    let output = simulate(&spec);
    assert_eq!(queue(&output, "system_max_pkts"), 51);
}

/// What the queue throws away later is off the account, and a sender that waits goes on. CoDel
/// drops at the head; the other flow makes it drop.
#[test]
fn what_the_host_drops_is_off_the_account() {
    for qdisc in ["codel target 1ms interval 5ms", "fq_codel limit 4 flows 1"] {
        let mut spec = two_hosts(behind(10_000_000, qdisc), Tcp::linux("reno"));
        spec.flows[0].source = Source::Sized(source::Sized { bytes: 400_000 });
        let mut load = flow("u", "a", "b", source(exponential(2e-3), constant(1500.0)));
        load.stop_ns = 5 * S;
        spec.flows.push(load);
        let mut world = World::new(&checked(&spec), 0);
        while world.step() {}
        world.finish();
        let flow = world.conversations[0].tcp().unwrap();
        assert!(
            world.conversations[0].counters().dropped.pkts > 10,
            "{qdisc}"
        );
        let first = flow.transfers().into_iter().next().unwrap();
        assert!(first.completed.is_some(), "{qdisc}");
        assert_eq!(flow.sender().unwrap().host_queue_bytes(), 0, "{qdisc}");
    }
}
