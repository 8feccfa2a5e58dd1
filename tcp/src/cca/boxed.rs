//! A controller in a box is that controller: those with a large state are kept so.

use super::{
    Ack, AckArrival, CaState as SenderState, Controller, LostPacket, Options, Phase, PktsAcked,
    RttSample, SentPacket, Snapshot, Window,
};
use dumbbell_core::time::Time;

impl<Inner: Controller> Controller for Box<Inner> {
    const WANTS_PACING: bool = Inner::WANTS_PACING;
    const NEEDS_ECN: bool = Inner::NEEDS_ECN;
    const SENDS_ECT1: bool = Inner::SENDS_ECT1;
    const REACTS_TO_LOSSES: bool = Inner::REACTS_TO_LOSSES;
    const IS_COMPARED_WITH_LINUX: bool = Inner::IS_COMPARED_WITH_LINUX;
    const NEEDS_EVERY_ACK: bool = Inner::NEEDS_EVERY_ACK;
    const NEEDS_PACKETS: bool = Inner::NEEDS_PACKETS;

    fn on_sent(&mut self, packet: &SentPacket) {
        (**self).on_sent(packet);
    }

    fn on_packet_lost(&mut self, window: &mut Window, packet: &LostPacket) {
        (**self).on_packet_lost(window, packet);
    }

    fn on_arrival(&mut self, window: &mut Window, arrival: &AckArrival) {
        (**self).on_arrival(window, arrival);
    }

    fn on_pkts_acked(&mut self, window: &mut Window, cleaned: &PktsAcked) {
        (**self).on_pkts_acked(window, cleaned);
    }

    fn new(options: &Options, now: Time) -> Box<Inner> {
        Box::new(Inner::new(options, now))
    }
    fn init(&mut self, window: &mut Window, snapshot: &Snapshot) {
        (**self).init(window, snapshot);
    }
    fn on_rtt(&mut self, window: &mut Window, sample: &RttSample) {
        (**self).on_rtt(window, sample);
    }
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        (**self).on_ack(window, ack);
    }
    fn on_loss(&mut self, window: &mut Window, snapshot: &Snapshot) {
        (**self).on_loss(window, snapshot);
    }
    fn on_rto(&mut self, window: &mut Window, snapshot: &Snapshot) {
        (**self).on_rto(window, snapshot);
    }
    fn on_enter_loss(&mut self, window: &mut Window, snapshot: &Snapshot) {
        (**self).on_enter_loss(window, snapshot);
    }
    fn on_state(&mut self, window: &mut Window, state: SenderState, snapshot: &Snapshot) {
        (**self).on_state(window, state, snapshot);
    }

    fn on_ecn(&mut self, window: &mut Window, snapshot: &Snapshot) {
        (**self).on_ecn(window, snapshot);
    }
    fn on_exit_recovery(&mut self, window: &mut Window, snapshot: &Snapshot) {
        (**self).on_exit_recovery(window, snapshot);
    }
    fn on_undo(&mut self, window: &mut Window) {
        (**self).on_undo(window);
    }
    fn on_transmit_start(
        &mut self,
        window: &mut Window,
        last_sent: Option<Time>,
        snapshot: &Snapshot,
    ) {
        (**self).on_transmit_start(window, last_sent, snapshot);
    }
    fn on_idle_restart(&mut self, window: &mut Window, snapshot: &Snapshot) {
        (**self).on_idle_restart(window, snapshot);
    }
    fn owns_recovery(&self) -> bool {
        (**self).owns_recovery()
    }
    fn wants_pacing(&self) -> bool {
        (**self).wants_pacing()
    }
    fn phase(&self) -> Option<Phase> {
        (**self).phase()
    }
    fn has_drawn(&self) -> bool {
        (**self).has_drawn()
    }
    fn limits_itself(&self) -> bool {
        (**self).limits_itself()
    }

    fn send_buffer_windows(&self) -> u32 {
        (**self).send_buffer_windows()
    }

    fn least_burst_pkts(&self, window: &Window) -> Option<u32> {
        (**self).least_burst_pkts(window)
    }

    fn most_burst_pkts(&self, window: &Window) -> Option<u32> {
        (**self).most_burst_pkts(window)
    }
}
