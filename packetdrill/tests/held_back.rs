//! What an application holds back of what it writes, in scripts of our own.

mod common;

const OPEN: &str = "`sysctl -q net.ipv4.tcp_timestamps=0`\n\
    0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
    +0 bind(3, ..., ...) = 0\n\
    +0 listen(3, 1) = 0\n\
    +0 < S 0:0(0) win 32792 <mss 1000,sackOK,nop,nop,nop,wscale 7>\n\
    +0 > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK,nop,wscale 7>\n\
    +.02 < . 1:1(0) ack 1 win 257\n\
    +0 accept(3, ..., ...) = 4\n";

fn after_opening(rest: &str) -> String {
    format!("{OPEN}{rest}")
}

fn assert_passes(rest: &str) {
    common::assert_passes(&after_opening(rest));
}

/// send(2), MSG_MORE: the last segment waits for the rest if it is not full, and goes without PSH.
#[test]
fn more_to_come_holds_back_a_segment_that_is_not_full() {
    assert_passes(
        "+0 send(4, ..., 2300, MSG_MORE) = 2300\n\
         +0 > . 1:1001(1000) ack 1\n\
         +0 > . 1001:2001(1000) ack 1\n\
         +.01 send(4, ..., 100, 0) = 100\n\
         +0 > P. 2001:2401(400) ack 1\n",
    );
    // What comes from the other end lets it go: it is Nagle's algorithm that asks then (tcp_push_pending_frames).
    assert_passes(
        "+0 send(4, ..., 1300, MSG_MORE) = 1300\n\
         +0 > . 1:1001(1000) ack 1\n\
         +.02 < . 1:1(0) ack 1001 win 257\n\
         +0 > . 1001:1301(300) ack 1\n",
    );
    assert_passes(
        "+0 send(4, ..., 300, MSG_MORE) = 300\n+.01 close(4) = 0\n+0 > F. 1:301(300) ack 1\n",
    );
}

/// Linux, `tcp_check_probe_timer`: with nothing out it waits for a retransmission timeout at most, 200 ms and four
/// deviations of the round-trip time, and is sent as a probe of the window is.
#[test]
fn what_is_held_back_with_nothing_out_goes_as_a_probe() {
    assert_passes(
        "+0 send(4, ..., 300, MSG_MORE) = 300\n\
         +.22 > P. 1:301(300) ack 1\n",
    );
}

/// tcp(7), TCP_CORK: until it is cleared, and until TCP_NODELAY is set.
#[test]
fn a_cork_holds_back_what_does_not_fill_a_segment() {
    let corked = "+0 setsockopt(4, SOL_TCP, TCP_CORK, [1], 4) = 0\n\
        +0 getsockopt(4, SOL_TCP, TCP_CORK, [1], [4]) = 0\n\
        +0 write(4, ..., 600) = 600\n\
        +.01 write(4, ..., 600) = 600\n\
        +0 > . 1:1001(1000) ack 1\n\
        +.02 < . 1:1(0) ack 1001 win 257\n";
    assert_passes(corked);
    assert_passes(&format!(
        "{corked}+0 setsockopt(4, SOL_TCP, TCP_CORK, [0], 4) = 0\n+0 > P. 1001:1201(200) ack 1\n"
    ));
    assert_passes(&format!(
        "{corked}+0 setsockopt(4, SOL_TCP, TCP_NODELAY, [1], 4) = 0\n\
         +0 > P. 1001:1201(200) ack 1\n\
         +0 write(4, ..., 600) = 600\n\
         +.02 < . 1:1(0) ack 1201 win 257\n\
         +.02 close(4) = 0\n\
         +0 > FP. 1201:1801(600) ack 1\n"
    ));
}
