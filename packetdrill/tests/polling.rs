//! poll(2) and epoll(7) in scripts of our own.

mod common;

const OPEN: &str = "`sysctl -q net.ipv4.tcp_timestamps=0`\n\
    0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
    +0 bind(3, ..., ...) = 0\n\
    +0 listen(3, 1) = 0\n\
    +0 poll([{fd=3, events=POLLIN, revents=0}], 1, 0) = 0\n\
    +0 < S 0:0(0) win 32792 <mss 1000,sackOK,nop,nop,nop,wscale 7>\n\
    +0 > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK,nop,wscale 7>\n\
    +.02 < . 1:1(0) ack 1 win 257\n\
    +0 poll([{fd=3, events=POLLIN, revents=POLLIN}], 1, 0) = 1\n\
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

/// poll(2): what is there, what was asked for, and ERR and HUP in any case (Linux, `tcp_poll`).
#[test]
fn poll_tells_what_is_there() {
    assert_passes(
        "+0 poll([{fd=4, events=POLLIN|POLLOUT, revents=POLLOUT}], 1, 0) = 1\n\
         +0 poll([{fd=4, events=POLLIN, revents=0}], 1, 0) = 0\n\
         +0 < P. 1:101(100) ack 1 win 257\n\
         +0 > . 1:1(0) ack 101\n\
         +0 poll([{fd=4, events=POLLIN|POLLOUT, revents=POLLIN|POLLOUT}], 1, 0) = 1\n\
         +0 read(4, ..., 100) = 100\n\
         +0 poll([{fd=4, events=POLLIN|POLLRDHUP, revents=0}], 1, 0) = 0\n\
         +.3 < R. 101:101(0) ack 1 win 257\n\
         +0 poll([{fd=4, events=POLLOUT, revents=POLLOUT|POLLERR|POLLHUP}], 1, 0) = 1\n\
         +0 read(4, ..., 100) = -1 ECONNRESET (Connection reset by peer)\n\
         +0 poll([{fd=4, events=0, revents=POLLHUP}], 1, 0) = 1\n",
    );
    assert_passes(
        "+0 < F. 1:1(0) ack 1 win 257\n\
         +.001 > . 1:1(0) ack 2\n\
         +0 poll([{fd=4, events=POLLIN|POLLRDHUP, revents=POLLIN|POLLRDHUP}], 1, 0) = 1\n",
    );
}

/// poll(2): it waits for its timeout at most; -1 is for ever.
#[test]
fn poll_waits() {
    let data = "+.1 < P. 1:101(100) ack 1 win 257\n+0 > . 1:1(0) ack 101\n";
    let waits = |returns: &str, revents: &str, timeout: i64, count: u32| {
        format!(
            "+0...{returns} poll([{{fd=4, events=POLLIN, revents={revents}}}], 1, {timeout}) = {count}\n{data}"
        )
    };
    assert_passes(&waits("0.1", "POLLIN", 500, 1));
    assert_passes(&waits("0.1", "POLLIN", -1, 1));
    assert_passes(&waits("0.05", "0", 50, 0));
    assert_fails(&waits("0.05", "POLLIN", 500, 1));
    assert_fails(&waits("0.1", "0", 500, 1));
    assert_fails(&waits("0.1", "POLLIN", 50, 1));
}

/// epoll(7): an edge is told when something new comes, a level while it is there.
#[test]
fn epoll_tells_edges_and_levels() {
    let script = |how: &str, again: &str, count: u32| {
        format!(
            "+0 epoll_create(1) = 5\n\
             +0 epoll_ctl(5, EPOLL_CTL_ADD, 4, {{events=EPOLLIN{how}, fd=4}}) = 0\n\
             +0 epoll_wait(5, {{events=0, ptr=0}}, 1, 0) = 0\n\
             +0 < P. 1:101(100) ack 1 win 257\n\
             +0 > . 1:1(0) ack 101\n\
             +0 epoll_wait(5, {{events=EPOLLIN, fd=4}}, 1, 0) = 1\n\
             +0 epoll_wait(5, {{events={again}}}, 1, 0) = {count}\n"
        )
    };
    assert_passes(&script("|EPOLLET", "0, ptr=0", 0));
    assert_passes(&script("|EPOLLONESHOT", "0, ptr=0", 0));
    assert_passes(&script("", "EPOLLIN, fd=4", 1));
    assert_fails(&script("", "0, ptr=0", 0));
    assert_fails(&script("|EPOLLET", "EPOLLIN, fd=4", 1));
    let next = "+.1 < P. 101:201(100) ack 1 win 257\n+0 > . 1:1(0) ack 201\n";
    let told = "+0 epoll_wait(5, {events=EPOLLIN, fd=4}, 1, 0) = 1\n";
    let untold = "+0 epoll_wait(5, {events=0, ptr=0}, 1, 0) = 0\n";
    let options = |how: &str| script(how, "0, ptr=0", 0);
    assert_passes(&format!("{}{next}{told}", options("|EPOLLET")));
    assert_passes(&format!("{}{next}{untold}", options("|EPOLLONESHOT")));
    // EPOLL_CTL_MOD looks again.
    assert_passes(&format!(
        "{}+0 epoll_ctl(5, EPOLL_CTL_MOD, 4, {{events=EPOLLIN|EPOLLET, fd=4}}) = 0\n{told}",
        options("|EPOLLET")
    ));
    assert_passes(&format!(
        "{}+0 epoll_ctl(5, EPOLL_CTL_DEL, 4, {{events=0, fd=4}}) = 0\n{next}{untold}\
         +0 epoll_ctl(5, EPOLL_CTL_MOD, 4, {{events=EPOLLIN, fd=4}}) = -1 ENOENT (No such file)\n\
         +0 epoll_ctl(5, EPOLL_CTL_ADD, 9, {{events=EPOLLIN, fd=9}}) = -1 EBADF (Bad file)\n",
        options("|EPOLLET")
    ));
}

/// epoll_wait(2) waits as poll(2) does.
#[test]
fn epoll_waits() {
    assert_passes(
        "+0 epoll_create(1) = 5\n\
         +0 epoll_ctl(5, EPOLL_CTL_ADD, 4, {events=EPOLLIN, fd=4}) = 0\n\
         +0...0.1 epoll_wait(5, {events=EPOLLIN, fd=4}, 1, -1) = 1\n\
         +.1 < P. 1:101(100) ack 1 win 257\n\
         +0 > . 1:1(0) ack 101\n\
         +0 read(4, ..., 100) = 100\n\
         +0...0.02 epoll_wait(5, {events=0, ptr=0}, 1, 20) = 0\n",
    );
}

/// What is not simulated is named.
#[test]
fn other_events_are_named() {
    for (line, name) in [
        (
            "+0 poll([{fd=4, events=POLLPRI, revents=0}], 1, 0) = 0",
            "events of poll",
        ),
        (
            "+0 epoll_ctl(5, EPOLL_CTL_ADD, 4, {events=EPOLLIN|EPOLLEXCLUSIVE, fd=4}) = 0",
            "events of epoll_ctl",
        ),
        (
            "+0 poll([{fd=4, events=POLLIN, revents=0}], 2, 0) = 0",
            "arguments of poll",
        ),
        ("+0 epoll_wait(5, ..., 1, 0) = 0", "arguments of epoll_wait"),
    ] {
        let missing = common::missing(&after_opening(line));
        assert_eq!(missing, [name], "{line}");
    }
}
