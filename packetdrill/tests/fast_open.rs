//! TCP Fast Open (RFC 7413), by scripts of our own.

mod common;

use common::{assert_fails, assert_passes};

/// A client without timestamps that has got a cookie and an MSS of 1200, and closed.
const CLIENT: &str = "`sysctl -q net.ipv4.tcp_timestamps=0`\n\
    0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
    +0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0\n\
    +0 sendto(3, ..., 0, MSG_FASTOPEN, ..., ...) = -1 EINPROGRESS (Operation now in progress)\n\
    +0 > S 0:0(0) <mss 1460,nop,nop,sackOK,nop,wscale 7,FO,nop,nop>\n\
    +.02 < S. 500:500(0) ack 1 win 8000 <mss 1200,nop,nop,sackOK,nop,wscale 6,FO c0c1c2c3c4c5>\n\
    +0 > . 1:1(0) ack 1\n\
    +.02 close(3) = 0\n\
    +0 > F. 1:1(0) ack 1\n\
    +.02 < F. 1:1(0) ack 2 win 100\n\
    +0 > . 2:2(0) ack 2\n\
    +.02 socket(..., SOCK_STREAM, IPPROTO_TCP) = 4\n\
    +0 fcntl(4, F_SETFL, O_RDWR|O_NONBLOCK) = 0\n";

/// With 700 bytes in its SYN.
const SYN_DATA: &str = "+0 sendto(4, ..., 700, MSG_FASTOPEN, ..., ...) = 700\n\
    +0 > S 0:700(700) <mss 1460,nop,nop,sackOK,nop,wscale 7,FO c0c1c2c3c4c5>\n";

/// RFC 7413 section 4.2.1: the cookie goes with the next SYN, and data with it; MSS less all the
/// room that options may take.
#[test]
fn a_cookie_lets_data_go_with_the_syn() {
    assert_passes(&format!(
        "{CLIENT}{SYN_DATA}\
         +.02 < S. 90:90(0) ack 701 win 8000 <mss 1200,nop,nop,sackOK,nop,wscale 6>\n\
         +0 > . 701:701(0) ack 1\n\
         +0 %{{ assert (tcpi_options & TCPI_OPT_SYN_DATA) != 0 }}%\n\
         +0 %{{ assert tcpi_delivered == 1; assert tcpi_unacked == 0; assert tcpi_snd_cwnd == 10 }}%\n\
         +0 %{{ assert 19000 <= tcpi_rtt <= 21000 }}%\n\
         +0 write(4, ..., 100) = 100\n\
         +0 > P. 701:801(100) ack 1\n"
    ));
    let large = format!(
        "{CLIENT}+0 sendto(4, ..., 5000, MSG_FASTOPEN, ..., ...) = 1160\n\
         +0 > S 0:1160(1160) <mss 1460,nop,nop,sackOK,nop,wscale 7,FO c0c1c2c3c4c5>\n"
    );
    assert_passes(&large);
    // Of the last, not of the one that was given.
    assert_fails(&large.replace("7,FO c0", "7,FO c1"));
    assert_fails(&large.replace("7,FO c0", "7,FOEXP c0"));
}

/// RFC 7413 section 4.2.1: what the answer does not acknowledge is sent again at once, and takes the
/// acknowledgement along; it was lost, and says nothing of the path.
#[test]
fn data_that_the_server_did_not_take_are_sent_again() {
    assert_passes(&format!(
        "{CLIENT}{SYN_DATA}\
         +.02 < S. 90:90(0) ack 1 win 8000 <mss 1200,nop,nop,sackOK,nop,wscale 6>\n\
         +0 > P. 1:701(700) ack 1\n\
         +0 %{{ assert (tcpi_options & TCPI_OPT_SYN_DATA) == 0; assert tcpi_retrans == 1 }}%\n\
         +0 %{{ assert tcpi_ca_state == TCP_CA_Open; assert tcpi_snd_cwnd == 10 }}%\n\
         +.02 < . 1:1(0) ack 701 win 200\n\
         +0 %{{ assert tcpi_unacked == 0 and tcpi_retrans == 0 }}%\n"
    ));
    assert_passes(&format!(
        "{CLIENT}{SYN_DATA}\
         +.02 < S. 90:90(0) ack 301 win 8000 <mss 1200,nop,nop,sackOK,nop,wscale 6>\n\
         +0 > P. 301:701(400) ack 1\n"
    ));
}

/// RFC 7413 section 4.2.1 and RFC 6298 section 5.7: a SYN that is sent again has no data and no option;
/// Linux gives the connection up after `TCP_SYNCNT` of them.
#[test]
fn a_syn_that_is_sent_again_has_neither_data_nor_option() {
    let text = format!(
        "{CLIENT}{SYN_DATA}\
         +0 setsockopt(4, IPPROTO_TCP, TCP_SYNCNT, [1], 4) = 0\n\
         +1 > S 0:0(0) <mss 1460,nop,nop,sackOK,nop,wscale 7>\n"
    );
    assert_passes(&format!(
        "{text}+.02 < S. 90:90(0) ack 1 win 8000 <mss 1200,nop,nop,sackOK,nop,wscale 6>\n\
         +0 > P. 1:701(700) ack 1\n"
    ));
    assert_passes(&format!(
        "{text}+3 write(4, ..., 9) = -1 ETIMEDOUT (Connection timed out)\n\
         +0 write(4, ..., 9) = -1 EPIPE (Broken pipe)\n"
    ));
}

/// RFC 9293 section 3.10.7.3: an answer that acknowledges more than was sent is none; RFC 7323 section
/// 3.2: nor is one that echoes what was never sent.
#[test]
fn an_answer_to_something_else_is_reset() {
    assert_passes(&format!(
        "{CLIENT}{SYN_DATA}\
         +.02 < S. 90:90(0) ack 702 win 8000 <mss 1200>\n\
         +0 > R 702:702(0) win 0\n\
         +.02 < R. 0:0(0) ack 701 win 0\n\
         +0 write(4, ..., 9) = -1 ECONNREFUSED (Connection refused)\n"
    ));
    assert_passes(
        "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
         +0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0\n\
         +0 connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)\n\
         +0 > S 0:0(0) <mss 1460,sackOK,TS val 100 ecr 0,nop,wscale 7>\n\
         +.02 < S. 0:0(0) ack 1 win 8000 <mss 1200,TS val 9 ecr 7777>\n\
         +0 > R 1:1(0) win 0\n",
    );
}

/// Linux, `__inet_stream_connect`: a program that waits to write more than the SYN took has its
/// acknowledgement go with that; one that has written all is told at once.
#[test]
fn a_write_that_waits_takes_the_acknowledgement_along() {
    let waits = CLIENT.replace("+0 fcntl(4, F_SETFL, O_RDWR|O_NONBLOCK) = 0\n", "");
    assert_passes(&format!(
        "{waits}+0...0.02 sendto(4, ..., 2000, MSG_FASTOPEN, ..., ...) = 2000\n\
         +0 > S 0:1160(1160) <mss 1460,nop,nop,sackOK,nop,wscale 7,FO c0c1c2c3c4c5>\n\
         +.02 < S. 90:90(0) ack 1161 win 8000 <mss 1200,nop,nop,sackOK,nop,wscale 6>\n\
         +0 > P. 1161:2001(840) ack 1\n"
    ));
    assert_passes(&format!(
        "{waits}+0...0.02 sendto(4, ..., 20, MSG_FASTOPEN, ..., ...) = 20\n\
         +0 > S 0:20(20) <mss 1460,nop,nop,sackOK,nop,wscale 7,FO c0c1c2c3c4c5>\n\
         +.02 < S. 90:90(0) ack 21 win 8000 <mss 1200,nop,nop,sackOK,nop,wscale 6>\n\
         +0 > . 21:21(0) ack 1\n"
    ));
}

/// tcp(7), TCP_FASTOPEN_CONNECT: with a cookie connect(2) returns at once, and the first write opens.
#[test]
fn connect_may_wait_for_the_first_write() {
    let text = format!(
        "{CLIENT}+0 setsockopt(4, SOL_TCP, TCP_FASTOPEN_CONNECT, [1], 4) = 0\n\
         +0 connect(4, ..., ...) = 0\n\
         +0 read(4, ..., 10) = -1 EAGAIN (Resource temporarily unavailable)\n\
         +0 connect(4, ..., ...) = -1 EISCONN (Transport endpoint is already connected)\n"
    );
    assert_passes(&format!(
        "{text}+.3 write(4, ..., 10) = 10\n\
         +0 > S 0:10(10) <mss 1460,nop,nop,sackOK,nop,wscale 7,FO c0c1c2c3c4c5>\n"
    ));
    assert_passes(&format!("{text}+.3 close(4) = 0\n+.3 close(9) = -1\n"));
    assert_passes(&format!(
        "{CLIENT}+0 `sysctl -q net.ipv4.tcp_fastopen=0`\n\
         +0 setsockopt(4, SOL_TCP, TCP_FASTOPEN_CONNECT, [1], 4) = -1 EOPNOTSUPP (Operation not supported)\n\
         +0 sendto(4, ..., 9, MSG_FASTOPEN, ..., ...) = -1 EOPNOTSUPP (Operation not supported)\n"
    ));
}

/// Linux, `tcp_fastopen_cache_set`: a server that gives no cookie is asked once by the experimental option
/// (RFC 6994), then by that of RFC 7413 again.
#[test]
fn the_experimental_option_is_tried_once() {
    let mut text = "`sysctl -q net.ipv4.tcp_timestamps=0`\n".to_owned();
    for (fd, option) in [
        (3, "FO,nop,nop"),
        (4, "FOEXP"),
        (5, "FO,nop,nop"),
        (6, "FO,nop,nop"),
    ] {
        text += &format!(
            "+0 socket(..., SOCK_STREAM, IPPROTO_TCP) = {fd}\n\
             +0 fcntl({fd}, F_SETFL, O_RDWR|O_NONBLOCK) = 0\n\
             +0 sendto({fd}, ..., 9, MSG_FASTOPEN, ..., ...) = -1 EINPROGRESS (Operation now in progress)\n\
             +0 > S 0:0(0) <mss 1460,nop,nop,sackOK,nop,wscale 7,{option}>\n\
             +.02 < S. 0:0(0) ack 1 win 8000 <mss 1200,nop,nop,sackOK,nop,wscale 6>\n\
             +0 > . 1:1(0) ack 1\n"
        );
    }
    assert_passes(&text);
    assert_passes(&format!(
        "{CLIENT}+0 `ip tcp_metrics flush all`\n\
         +0 sendto(4, ..., 9, MSG_FASTOPEN, ..., ...) = -1 EINPROGRESS (Operation now in progress)\n\
         +0 > S 0:0(0) <mss 1460,nop,nop,sackOK,nop,wscale 7,FO,nop,nop>\n"
    ));
}

/// RFC 1191 section 6.4 and Linux, `tcp_simple_retransmit`: a SYN that is too large for the way is sent again
/// without data, at once.
#[test]
fn a_syn_that_is_too_large_is_sent_again_without_data() {
    assert_passes(&format!(
        "{CLIENT}{SYN_DATA}\
         +.02 < icmp unreachable frag_needed mtu 700 [0:700(700)]\n\
         +0 > S 0:0(0) <mss 660,nop,nop,sackOK,nop,wscale 7>\n\
         +.02 < S. 90:90(0) ack 1 win 8000 <mss 1200,nop,nop,sackOK,nop,wscale 6>\n\
         +0 > P. 1:701(700) ack 1\n"
    ));
    assert_passes(&format!(
        "{CLIENT}{SYN_DATA}\
         +.02 `nstat > /dev/null`\n\
         +0 < icmp unreachable frag_needed mtu 700 [7000:7700(700)]\n\
         +0 `nstat | grep TcpExtOutOfWindowIcmps`\n"
    ));
    assert_fails(&format!(
        "{CLIENT}{SYN_DATA}+.02 `nstat | grep TcpExtOutOfWindowIcmps`\n"
    ));
}

/// A server with a key of its own that accepts Fast Open; the cookie is SipHash-2-4 of the addresses.
const SERVER: &str = "--local_ip=192.168.0.1\n--remote_ip=192.0.2.1\n`sysctl -q net.ipv4.tcp_timestamps=0 net.ipv4.tcp_fastopen=3 \
    net.ipv4.tcp_fastopen_key=a1a1a1a1-b2b2b2b2-c3c3c3c3-d4d4d4d4`\n\
    0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
    +0 bind(3, ..., ...) = 0\n\
    +0 listen(3, 1) = 0\n\
    +0 setsockopt(3, SOL_TCP, TCP_FASTOPEN, [5], 4) = 0\n";

/// Its SYN has brought ten bytes.
const EARLY: &str = "+0 < S 7000:7010(10) win 20000 <mss 1000,sackOK,nop,nop,FO 3021b9d889017eeb,nop,nop>\n\
    +0 > S. 3:3(0) ack 7011 <mss 1460,nop,nop,sackOK>\n";

/// RFC 7413 section 4.2.2: with a valid cookie data are read and sent before the handshake is over.
#[test]
fn a_valid_cookie_opens_early() {
    assert_passes(&format!(
        "{SERVER}{EARLY}\
         +.01 accept(3, ..., ...) = 4\n\
         +0 %{{ assert (tcpi_options & TCPI_OPT_SYN_DATA) != 0; assert tcpi_delivered == 0 }}%\n\
         +0 read(4, ..., 100) = 10\n\
         +0 write(4, ..., 2000) = 2000\n\
         +0 > P. 1:2001(2000) ack 11\n\
         +.02 < . 11:11(0) ack 1 win 20000\n\
         +0 %{{ assert tcpi_delivered == 1; assert tcpi_state == TCP_ESTABLISHED }}%\n\
         +0 %{{ assert 29000 <= tcpi_rtt <= 31000 }}%\n\
         +.02 < . 11:11(0) ack 2001 win 20000\n\
         +0 %{{ assert tcpi_delivered == 3 }}%\n"
    ));
    // RFC 6298 section 5.7: the SYN-ACK is sent again until it is acknowledged.
    assert_passes(&format!(
        "{SERVER}{EARLY}+1 > S. 3:3(0) ack 7011 <mss 1460,nop,nop,sackOK>\n"
    ));
}

/// RFC 7413 section 4.1.2: a request, and a cookie that is none of this server's, are answered by a cookie, and
/// the data are not taken.
#[test]
fn another_cookie_is_answered_by_the_right_one() {
    for offered in ["FO", "FO 1111222233334444", "FO 3021b9d889017eeb3021"] {
        assert_passes(&format!(
            "{SERVER}+0 < S 0:10(10) win 20000 <mss 1000,sackOK,nop,nop,{offered}>\n\
             +0 > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK,FO 3021b9d889017eeb>\n\
             +.02 < . 1:1(0) ack 1 win 20000\n\
             +0 accept(3, ..., ...) = 4\n\
             +0 %{{ assert (tcpi_options & TCPI_OPT_SYN_DATA) == 0 }}%\n"
        ));
    }
    // Of an odd length, or another than there may be: it says nothing.
    for offered in [
        "FO 112233",
        "FO 1122",
        "FO 00112233445566778899aabbccddeeff0011",
        "nop,nop",
    ] {
        assert_passes(&format!(
            "{SERVER}+0 < S 0:10(10) win 20000 <mss 1000,sackOK,nop,nop,{offered}>\n\
             +0 > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK>\n"
        ));
    }
}

/// Linux, ip-sysctl, `tcp_fastopen`: 0x2 servers may, 0x200 no cookie is needed, 0x400 nor `TCP_FASTOPEN`.
#[test]
fn flags_say_who_accepts() {
    let plain = "+0 < S 0:10(10) win 20000 <mss 1000,sackOK,nop,nop>\n";
    let early = "+0 > S. 0:0(0) ack 11 <mss 1460,nop,nop,sackOK>\n";
    let late = "+0 > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK>\n";
    let with_flags =
        |flags: &str| SERVER.replace("tcp_fastopen=3", &format!("tcp_fastopen={flags}"));
    let without_queue = |flags: &str| {
        let option = "+0 setsockopt(3, SOL_TCP, TCP_FASTOPEN, [5], 4) = 0\n";
        with_flags(flags).replace(option, "")
    };
    assert_passes(&format!("{}{plain}{early}", with_flags("0x202")));
    assert_passes(&format!("{}{plain}{late}", with_flags("0x201")));
    assert_passes(&format!("{}{plain}{late}", without_queue("0x202")));
    assert_passes(&format!("{}{plain}{early}", without_queue("0x602")));
    assert_passes(&format!("{}{plain}{late}", with_flags("1")));
}

/// RFC 7413 section 4.2.2 and Linux: what becomes of a connection that was open early and fails.
#[test]
fn a_connection_that_was_open_early_fails() {
    // Reset before it is accepted: what came can be read, then the error.
    assert_passes(&format!(
        "{SERVER}{EARLY}+.01 < R. 11:11(0) ack 1 win 20000\n\
         +0 accept(3, ..., ...) = 4\n\
         +0 read(4, ..., 100) = 10\n\
         +0 read(4, ..., 100) = -1 ECONNRESET (Connection reset by peer)\n\
         +0 read(4, ..., 100) = 0\n"
    ));
    // A message about its SYN-ACK (RFC 1122 section 4.2.3.9); the next segment is for nobody.
    assert_passes(&format!(
        "{SERVER}{EARLY}+.01 < icmp unreachable host_unreachable [0:1(1)]\n\
         +0 accept(3, ..., ...) = 4\n\
         +0 read(4, ..., 100) = 10\n\
         +0 read(4, ..., 100) = -1 EHOSTUNREACH (No route to host)\n\
         +0 write(4, ..., 100) = -1 EPIPE (Broken pipe)\n\
         +0 < . 11:11(0) ack 1 win 20000\n\
         +0 > R 1:1(0)\n"
    ));
    // Closed with unread data, and a listener closed with a connection that nobody accepted.
    assert_passes(&format!(
        "{SERVER}{EARLY}+.01 accept(3, ..., ...) = 4\n+0 close(4) = 0\n+0 > R. 1:1(0) ack 11\n"
    ));
    assert_passes(&format!(
        "{SERVER}{EARLY}+.01 close(3) = 0\n+0 > R. 1:1(0) ack 11\n"
    ));
}

/// `TCP_FASTOPEN_KEY` has the bytes of the key, in their order; a listener's own goes before the host's.
#[test]
fn a_listener_may_have_a_key_of_its_own() {
    let text = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
        +0 `sysctl -q net.ipv4.tcp_timestamps=0 net.ipv4.tcp_fastopen=0x402`\n\
        +0 setsockopt(3, SOL_TCP, TCP_FASTOPEN_KEY, \"\\xa1\\xa1\\xa1\\xa1\\xb2\\xb2\\xb2\\xb2\
        \\xc3\\xc3\\xc3\\xc3\\xd4\\xd4\\xd4\\xd4\", 16) = 0\n\
        +0 setsockopt(3, SOL_TCP, TCP_FASTOPEN_KEY, \"\\xa1\", 1) = -1 EINVAL (Invalid argument)\n\
        +0 bind(3, ..., ...) = 0\n\
        +0 listen(3, 1) = 0\n";
    assert_passes(&format!("{text}{EARLY}"));
    assert_fails(&format!("--remote_ip=192.0.2.2\n{text}{EARLY}"));
}

/// A SYN after another `listen` begins another connection; calls of the first go on.
#[test]
fn connections_follow_each_other() {
    assert_passes(&format!(
        "{SERVER}{EARLY}+.01 accept(3, ..., ...) = 4\n\
         +.02 < . 11:11(0) ack 1 win 20000\n\
         +0 close(3) = 0\n\
         +.02 socket(..., SOCK_STREAM, IPPROTO_TCP) = 5\n\
         +0 bind(5, ..., ...) = 0\n\
         +0 listen(5, 1) = 0\n\
         +0 < S 4294967295:4294967295(0) win 20000 <mss 1000,sackOK,nop,nop>\n\
         +0 > S. 9:9(0) ack 0 <mss 1460,nop,nop,sackOK>\n\
         +.02 < . 1:1(0) ack 1 win 20000\n\
         +0 accept(5, ..., ...) = 6\n\
         +0 read(4, ..., 100) = 10\n\
         +0 write(6, ..., 30) = 30\n\
         +0 > P. 1:31(30) ack 1\n"
    ));
}
