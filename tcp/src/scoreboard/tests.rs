use super::*;
use proptest::prelude::*;

fn board(packets: u64) -> Scoreboard {
    let mut board = Scoreboard::new(1000);
    for number in 0..packets {
        let (seq, end) = (number * 1000, number * 1000 + 1000);
        board.push(seq, end, number, RateNote::default());
    }
    board
}

#[test]
fn a_hole_is_found_lost_and_sent_again() {
    let mut board = board(10);
    for number in 1..5 {
        assert!(board.sack(number).is_some());
    }
    assert_eq!((board.in_flight(), board.sacked_out()), (6, 4));
    assert_eq!(board.highest_sacked_end(), Some(5000));
    assert!(board.mark_lost(0));
    assert!(!board.mark_lost(0));
    assert_eq!((board.in_flight(), board.next_lost()), (5, Some(0)));
    board.retransmit(0, 100, RateNote::default(), true);
    assert_eq!((board.in_flight(), board.next_lost()), (6, None));
    // The copy is lost as well.
    assert!(board.mark_lost(0));
    assert_eq!((board.in_flight(), board.lost_out()), (5, 1));
    let sent = board.pop();
    assert!(sent.was_ever_retransmitted());
    assert_eq!((board.lost_out(), board.retrans_out()), (0, 0));
}

/// After an undo a packet may be taken for lost again while its copy is in flight.
#[test]
fn what_is_lost_beside_its_copy_waits_for_the_copy() {
    let mut board = board(3);
    board.mark_lost(0);
    board.retransmit(0, 100, RateNote::default(), true);
    board.unmark_lost();
    assert_eq!((board.in_flight(), board.retrans_out()), (4, 1));
    board.mark_lost_beside_copy(0);
    assert_eq!((board.in_flight(), board.next_lost()), (3, None));
    assert!(board.mark_lost(0));
    assert_eq!((board.in_flight(), board.next_lost()), (2, Some(0)));
}

#[test]
fn packets_of_any_size_are_found_by_their_sequence_number() {
    let mut board = Scoreboard::new(1000);
    let mut seq = 7;
    for size in [1000, 10, 1000, 500, 1000, 1] {
        board.push(seq, seq + size, 0, RateNote::default());
        seq += size;
    }
    for number in 0..6 {
        let seq = board.get(number).seq;
        assert_eq!(board.first_from(seq), number);
        assert_eq!(board.first_from(seq + 1), number + 1);
    }
    assert_eq!(board.first_from(0), 0);
}

#[derive(Debug, Clone)]
enum Step {
    Push,
    Pop,
    Sack(prop::sample::Index),
    Lose(prop::sample::Index),
    Retransmit,
    Undo,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Push),
        2 => Just(Step::Pop),
        3 => any::<prop::sample::Index>().prop_map(Step::Sack),
        3 => any::<prop::sample::Index>().prop_map(Step::Lose),
        3 => Just(Step::Retransmit),
        1 => Just(Step::Undo),
    ]
}

/// The counters, counted.
fn check(board: &Scoreboard) {
    let out = || (board.head()..board.tail()).map(|number| board.get(number));
    let count = |is: fn(&Outstanding) -> bool| out().filter(is).count() as u32;
    assert_eq!(board.sacked_out(), count(Outstanding::is_sacked));
    assert_eq!(board.lost_out(), count(Outstanding::is_lost));
    assert_eq!(board.retrans_out(), count(Outstanding::is_retransmitted));
    assert_eq!(count(|sent| sent.is_sacked() && sent.is_lost()), 0);
    let mut listed = Vec::new();
    let mut next = board.next_lost();
    while let Some(number) = next {
        assert!(board.get(number).is_lost() && !board.get(number).is_retransmitted());
        listed.push(number);
        let after = board.get(number).after;
        next = (after != NONE).then_some(after);
    }
    assert!(listed.is_sorted());
    let waiting = count(|sent| sent.is_lost() && !sent.is_retransmitted());
    assert_eq!(listed.len() as u32, waiting);
    let (mut next, mut last_us) = (board.oldest_in_flight(), 0);
    while let Some(number) = next {
        assert!(board.get(number).sent_us >= last_us);
        last_us = board.get(number).sent_us;
        next = board.next_in_flight(number);
    }
}

proptest! {
    #[test]
    fn counters_and_lists_agree_with_the_packets(steps in prop::collection::vec(step(), 1..200)) {
        let mut board = Scoreboard::new(1000);
        for (now_us, step) in (1u64..).zip(steps) {
            let out = board.packets_out() as usize;
            let pick = |index: prop::sample::Index| board.head() + index.index(out) as u64;
            match step {
                Step::Push => {
                    let seq = board.tail() * 1000;
                    board.push(seq, seq + 1000, now_us, RateNote::default());
                }
                Step::Pop if out > 0 => {
                    board.pop();
                }
                Step::Sack(index) if out > 0 => {
                    let number = pick(index);
                    board.sack(number);
                }
                Step::Lose(index) if out > 0 => {
                    let number = pick(index);
                    let sent = board.get(number);
                    if now_us % 2 == 0 && sent.is_retransmitted() && !sent.is_lost() && !sent.is_sacked() {
                        board.mark_lost_beside_copy(number);
                        board.forget_time(number);
                    } else {
                        board.mark_lost(number);
                    }
                }
                Step::Retransmit => {
                    if let Some(number) = board.next_lost() {
                        board.retransmit(number, now_us, RateNote::default(), true);
                    }
                }
                Step::Undo => board.unmark_lost(),
                _ => {}
            }
            check(&board);
        }
    }
}

/// An sk_buff of three, of which the middle is SACKed: three of them then.
#[test]
fn what_is_sent_together_is_one_until_something_parts_it() {
    let mut board = board(1);
    for number in 1..4 {
        board.push(number * 1000, number * 1000 + 1000, 0, RateNote::default());
        if number > 1 {
            board.continue_last();
        }
    }
    assert_eq!((board.packets_out(), board.buffers_out()), (4, 2));
    assert_eq!((board.end_of_buffer(0), board.end_of_buffer(1)), (1, 4));
    board.sack(2);
    board.join_sacked(2);
    assert_eq!((board.buffers_out(), board.end_of_buffer(1)), (4, 2));
    // A SACKed neighbour becomes one with it.
    board.sack(3);
    board.join_sacked(3);
    assert_eq!(board.buffers_out(), 3);
    board.mark_lost(1);
    assert_eq!(board.end_of_lost_buffer(1), 2);
    // What is left of an sk_buff when its beginning is acknowledged is one.
    for _ in 0..3 {
        board.pop();
    }
    assert_eq!((board.packets_out(), board.buffers_out()), (1, 1));
}

/// A hole is filled from its left: what is SACKed behind one that is not waits for that.
#[test]
fn what_is_sacked_joins_what_is_sacked_before_it() {
    let mut board = board(4);
    for number in [2, 1] {
        board.sack(number);
        board.join_sacked(number);
    }
    let ends = |board: &Scoreboard| [1, 2, 3].map(|number| board.end_of_buffer(number));
    assert_eq!(ends(&board), [2, 3, 4]);
    board.sack(3);
    board.join_sacked(3);
    assert_eq!(ends(&board), [2, 4, 4]);
    assert_eq!(board.buffers_out(), 3);
}

/// With the hole all three are one, and a duplicate of one of them is of what was sent again.
#[test]
fn a_filled_hole_joins_both_sides() {
    let mut board = board(4);
    board.mark_lost(2);
    board.retransmit(2, 10, RateNote::default(), true);
    for number in [1, 3, 2] {
        board.sack(number);
        board.join_sacked(number);
    }
    assert_eq!(board.end_of_buffer(1), 4);
    assert!((1..4).all(|number| board.was_one_of_its_buffer_retransmitted(number)));
    assert!(!board.was_one_of_its_buffer_retransmitted(0));
}

#[test]
fn a_small_packet_takes_the_next_one_in() {
    let mut board = Scoreboard::new(1000);
    for (seq, end) in [
        (0, 1000),
        (1000, 1300),
        (1300, 2000),
        (2000, 3000),
        (3000, 4000),
    ] {
        board.push(seq, end, seq, RateNote::default());
    }
    for number in 1..4 {
        board.mark_lost(number);
    }
    board.sack(4);
    board.collapse_next(1);
    assert_eq!((board.packets_out(), board.lost_out()), (4, 2));
    assert_eq!((board.get(1).seq, board.get(1).end()), (1000, 2000));
    assert_eq!((board.get(2).seq, board.get(3).is_sacked()), (2000, true));
    // The lists go on behind it.
    assert_eq!(board.next_lost(), Some(1));
    board.retransmit(1, 9000, RateNote::default(), true);
    assert_eq!(board.next_lost(), Some(2));
    assert_eq!(board.oldest_in_flight(), Some(0));
    assert_eq!(board.next_in_flight(0), Some(1));
    let ends: Vec<u64> = (0..4).map(|_| board.pop().end()).collect();
    assert_eq!(ends, [1000, 2000, 3000, 4000]);
    assert_eq!(
        (board.lost_out(), board.sacked_out(), board.retrans_out()),
        (0, 0, 0)
    );
}

/// The end of what is joined is pushed when one of the two was, and stays so when it is parted.
#[test]
fn what_joins_a_pushed_packet_is_pushed_at_its_end() {
    let pushed = |board: &Scoreboard| -> Vec<u64> {
        let out = board.head()..board.tail();
        out.filter(|number| board.get(*number).is_pushed())
            .collect()
    };
    let mut board = Scoreboard::new(1000);
    for number in 0..6 {
        board.push(number * 1000, number * 1000 + 1000, 0, RateNote::default());
        if number == 2 {
            board.push_last();
        }
    }
    for number in [1, 2] {
        board.sack(number);
        board.join_sacked(number);
    }
    assert_eq!(pushed(&board), [2]);
    // A hole that is filled joins both sides.
    for number in [4, 3] {
        board.sack(number);
        board.join_sacked(number);
    }
    assert_eq!(pushed(&board), [4]);
    board.split(4);
    assert_eq!(pushed(&board), [4]);
    // Of an sk_buff of which only the beginning is SACKed the rest has its own.
    let mut board = Scoreboard::new(1000);
    for number in 0..5 {
        board.push(number * 1000, number * 1000 + 1000, 0, RateNote::default());
        if number == 1 {
            board.push_last();
        }
        if number > 2 {
            board.continue_last();
        }
    }
    board.push_last();
    for number in [1, 2] {
        board.sack(number);
        board.join_sacked(number);
    }
    assert_eq!(pushed(&board), [2, 4]);
}
