//! Draws shares and the loss models of netem.

use dumbbell_tc::qdisc::{ALL_PPB, Loss};
use proptest::prelude::*;

/// Parts per billion, none and all among them.
pub fn shares_ppb() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0), Just(ALL_PPB), 0..=ALL_PPB]
}

/// A loss model, or none.
pub fn losses() -> impl Strategy<Value = Option<Loss>> {
    let five = || prop::array::uniform5(shares_ppb());
    let random = five().prop_map(|ppb| Loss::Random {
        probability_ppb: ppb[0],
        correlation_ppb: ppb[1],
    });
    let state = five().prop_map(|ppb| Loss::State {
        p13_ppb: ppb[0],
        p31_ppb: ppb[1],
        p32_ppb: ppb[2],
        p23_ppb: ppb[3],
        p14_ppb: ppb[4],
    });
    let gemodel = five().prop_map(|ppb| Loss::Gemodel {
        p_ppb: ppb[0],
        r_ppb: ppb[1],
        loss_in_bad_ppb: ppb[2],
        loss_in_good_ppb: ppb[3],
    });
    prop::option::of(prop_oneof![random, state, gemodel])
}
