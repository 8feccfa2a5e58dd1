//! Control messages, writes without a copy and buffers that there are not, in scripts of our own.

mod common;

const OPEN: &str = "`sysctl -q net.ipv4.tcp_timestamps=0`\n\
    0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
    +0 setsockopt(3, SOL_SOCKET, SO_ZEROCOPY, [1], 4) = 0\n\
    +0 bind(3, ..., ...) = 0\n\
    +0 listen(3, 1) = 0\n\
    +0 < S 0:0(0) win 32792 <mss 1000,sackOK,nop,nop,nop,wscale 7>\n\
    +0 > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK,nop,wscale 7>\n\
    +.02 < . 1:1(0) ack 1 win 257\n\
    +0 accept(3, ..., ...) = 4\n\
    +0 fcntl(4, F_SETFL, O_RDWR|O_NONBLOCK) = 0\n";

fn after_opening(rest: &str) -> String {
    format!("{OPEN}{rest}")
}

fn assert_passes(rest: &str) {
    common::assert_passes(&after_opening(rest));
}

fn assert_fails(rest: &str) {
    common::assert_fails(&after_opening(rest));
}

/// recvmsg(MSG_ERRQUEUE): these writes are done.
fn completed(first: u32, last: u32) -> String {
    format!(
        "+0 recvmsg(4, {{msg_name(...)=..., msg_iov(1)=[{{...,0}}], msg_flags=MSG_ERRQUEUE,\n\
         msg_control=[{{cmsg_level=SOL_IP, cmsg_type=IP_RECVERR, cmsg_data={{ee_errno=0,\n\
         ee_origin=SO_EE_ORIGIN_ZEROCOPY, ee_type=0, ee_code=SO_EE_CODE_ZEROCOPY_COPIED,\n\
         ee_info={first}, ee_data={last}}}}}]}}, MSG_ERRQUEUE) = 0\n"
    )
}

const NONE_COMPLETED: &str = "+0 recvmsg(4, {msg_name(...)=..., msg_iov(1)=[{...,0}],\n\
    msg_flags=MSG_ERRQUEUE, msg_control=[]}, MSG_ERRQUEUE) = -1 EAGAIN (Again)\n";

/// Documentation/networking/msg_zerocopy.rst: a write is done when all of it is acknowledged; those that follow
/// each other are told as one, once.
#[test]
fn a_write_without_a_copy_is_done_when_it_is_acknowledged() {
    let two = "+0 send(4, ..., 1000, MSG_ZEROCOPY) = 1000\n\
        +0 > P. 1:1001(1000) ack 1\n\
        +0 send(4, ..., 1000, MSG_ZEROCOPY) = 1000\n\
        +0 > P. 1001:2001(1000) ack 1\n";
    let acknowledged = |ack: u32| format!("{two}+.02 < . 1:1(0) ack {ack} win 257\n");
    assert_passes(&format!("{two}{NONE_COMPLETED}"));
    assert_passes(&format!(
        "{}{}{NONE_COMPLETED}",
        acknowledged(1001),
        completed(0, 0)
    ));
    assert_passes(&format!(
        "{}{}{NONE_COMPLETED}",
        acknowledged(1501),
        completed(0, 0)
    ));
    assert_passes(&format!(
        "{}{}{NONE_COMPLETED}",
        acknowledged(2001),
        completed(0, 1)
    ));
    assert_passes(&format!(
        "{}{}+.02 < . 1:1(0) ack 2001 win 257\n{}",
        acknowledged(1001),
        completed(0, 0),
        completed(1, 1)
    ));
    assert_fails(&format!("{}{}", acknowledged(2001), completed(0, 0)));
    assert_fails(&format!("{}{}", acknowledged(1001), completed(0, 1)));
    // poll(2) has an error while there is something in the queue.
    assert_passes(&format!(
        "{}+0 poll([{{fd=4, events=0, revents=POLLERR}}], 1, 0) = 1\n\
         {}+0 poll([{{fd=4, events=0, revents=0}}], 1, 0) = 0\n",
        acknowledged(2001),
        completed(0, 1)
    ));
}

/// socket(7): without SO_ZEROCOPY the flag is ignored; a write of nothing, or that fails, counts for nothing.
#[test]
fn other_writes_are_not_told() {
    let sent = "+0 send(4, ..., 1000, MSG_ZEROCOPY) = 1000\n\
        +0 > P. 1:1001(1000) ack 1\n\
        +.02 < . 1:1(0) ack 1001 win 257\n";
    assert_passes(&format!(
        "+0 setsockopt(4, SOL_SOCKET, SO_ZEROCOPY, [0], 4) = 0\n{sent}{NONE_COMPLETED}"
    ));
    assert_passes(&format!(
        "+0 send(4, ..., 0, MSG_ZEROCOPY) = 0\n{sent}{}{NONE_COMPLETED}",
        completed(0, 0)
    ));
    let buffers = vec!["{..., 1}"; 18].join(",");
    let text = format!("+0 sendmsg(4, {{msg_iov(18)=[{buffers}]}}, MSG_ZEROCOPY) = 18\n");
    let missing = common::missing(&after_opening(&text));
    assert_eq!(missing, ["MSG_ZEROCOPY of more than 17 buffers"]);
}

/// Linux, `tcp_inq_hint`: what can be read afterwards, the FIN with it.
#[test]
fn a_control_message_tells_what_can_be_read() {
    let read = |bytes: u32, left: u32| {
        format!(
            "+0 recvmsg(4, {{msg_name(...)=..., msg_iov(1)=[{{..., {bytes}}}], msg_flags=0,\n\
             msg_control=[{{cmsg_level=SOL_TCP, cmsg_type=TCP_CM_INQ, cmsg_data={left}}}]}}, 0) = {bytes}\n"
        )
    };
    let data = "+0 < P. 1:901(900) ack 1 win 257\n+0 > . 1:1(0) ack 901\n";
    let on = "+0 setsockopt(4, SOL_TCP, TCP_INQ, [1], 4) = 0\n";
    assert_passes(&format!("{on}{data}{}{}", read(300, 600), read(600, 0)));
    assert_fails(&format!("{on}{data}{}", read(300, 601)));
    assert_fails(&format!("{data}{}", read(300, 600)));
    let end = "+0 < F. 1:901(900) ack 1 win 257\n+.04 > . 1:1(0) ack 902\n";
    assert_passes(&format!("{on}{end}{}{}", read(300, 601), read(600, 1)));
}

/// read(2), write(2): EFAULT, and nothing is taken.
#[test]
fn a_buffer_that_there_is_not_is_an_error() {
    assert_passes(
        "+0 write(4, NULL, 10) = -1 EFAULT (Bad address)\n\
         +0 read(4, NULL, 10) = -1 EAGAIN (Again)\n\
         +0 < P. 1:11(10) ack 1 win 257\n\
         +0 > . 1:1(0) ack 11\n\
         +0 read(4, NULL, 10) = -1 EFAULT (Bad address)\n\
         +0 read(4, ..., 10) = 10\n",
    );
    for line in [
        "+0 write(4, 0x1234, 10) = -1",
        "+0 read(4, buffer, 10) = -1",
    ] {
        let missing = common::missing(&after_opening(line));
        assert_eq!(missing, ["the address of a buffer"], "{line}");
    }
}

/// recvmsg(MSG_ERRQUEUE): a time stamp.
fn stamp(moment: &str, byte: u32, ms: u32) -> String {
    format!(
        "+0 recvmsg(4, {{msg_name(...)=..., msg_iov(1)=[{{...,0}}], msg_flags=MSG_ERRQUEUE,\n\
         msg_control=[{{cmsg_level=SOL_SOCKET, cmsg_type=SCM_TIMESTAMPING,\n\
         cmsg_data={{scm_sec=0,scm_nsec={ms}000000}}}}, {{cmsg_level=SOL_IP, cmsg_type=IP_RECVERR,\n\
         cmsg_data={{ee_errno=ENOMSG, ee_origin=SO_EE_ORIGIN_TIMESTAMPING, ee_type=0, ee_code=0,\n\
         ee_info={moment}, ee_data={byte}}}}}]}}, MSG_ERRQUEUE) = 0\n"
    )
}

/// Documentation/networking/timestamping.rst: what, which byte and when are all told; nothing is made up.
#[test]
fn a_time_stamp_is_of_what_happened_to_a_byte_and_when() {
    let opened = OPEN.replace(
        "+0 setsockopt(3, SOL_SOCKET, SO_ZEROCOPY, [1], 4) = 0\n",
        "",
    );
    let after = |flags: &str, rest: &str| {
        format!(
            "{opened}+0 setsockopt(4, SOL_SOCKET, SO_TIMESTAMPING, [{flags}], 4) = 0\n\
             +0 write(4, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 1\n\
             +.04 < . 1:1(0) ack 1001 win 257\n{rest}"
        )
    };
    let flags = "SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_TX_ACK | SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_OPT_ID";
    let sent = stamp("SCM_TSTAMP_SND", 999, 20);
    let acknowledged = stamp("SCM_TSTAMP_ACK", 999, 60);
    common::assert_passes(&after(
        flags,
        &format!("{sent}{acknowledged}{NONE_COMPLETED}"),
    ));
    for other in [
        acknowledged.clone(),
        stamp("SCM_TSTAMP_SCHED", 999, 20),
        stamp("SCM_TSTAMP_SND", 1000, 20),
        stamp("SCM_TSTAMP_SND", 999, 25),
        NONE_COMPLETED.to_owned(),
    ] {
        common::assert_fails(&after(flags, &other));
    }
    // Zero is any time, as in packetdrill.
    common::assert_passes(&after(flags, &stamp("SCM_TSTAMP_SND", 999, 0)));
    let only_reported = "SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_OPT_ID";
    common::assert_passes(&after(only_reported, NONE_COMPLETED));
}

/// What of time stamps is not simulated is named.
#[test]
fn other_time_stamps_are_named() {
    let set = |fd: u32, flags: &str| {
        format!("+0 setsockopt({fd}, SOL_SOCKET, SO_TIMESTAMPING, [{flags}], 4) = 0\n")
    };
    let software = "SOF_TIMESTAMPING_TX_ACK | SOF_TIMESTAMPING_SOFTWARE";
    let without_zero_copy = OPEN.replace("SO_ZEROCOPY", "SO_REUSEADDR");
    for (text, missing) in [
        (
            format!(
                "{without_zero_copy}{}",
                set(4, "SOF_TIMESTAMPING_TX_HARDWARE")
            ),
            "SOF_TIMESTAMPING_TX_HARDWARE",
        ),
        (
            format!("{without_zero_copy}{}", set(4, "SOF_TIMESTAMPING_TX_ACK")),
            "SO_TIMESTAMPING without SOF_TIMESTAMPING_SOFTWARE",
        ),
        (
            format!("{without_zero_copy}{}", set(3, software)),
            "SO_TIMESTAMPING before a connection",
        ),
        (
            after_opening(&set(4, software)),
            "SO_TIMESTAMPING with SO_ZEROCOPY",
        ),
        (
            format!(
                "{without_zero_copy}{}",
                stamp("SCM_TSTAMP_ACK", 0, 0).replace("[{...,0}]", "[{...,10}]")
            ),
            "what is read with a time stamp",
        ),
    ] {
        assert_eq!(common::missing(&text), [missing], "{text}");
    }
}
