/*
 * Records of the events of a controller, with their input and effect. The caller of a controller
 * writes one record per event, so that two callers of the same controller can be compared
 * (`dumbbell controller compare`).
 *
 * Licence: Apache-2.0, as dumbbell's.
 */
#ifndef DUMBBELL_CC_RECORD_H
#define DUMBBELL_CC_RECORD_H

#include <dumbbell_cc.h>

enum dumbbell_cc_event {
	DUMBBELL_CC_INIT = 0,
	DUMBBELL_CC_ON_ACK = 1,
	DUMBBELL_CC_ON_LOSS = 2,
	DUMBBELL_CC_ON_RTT = 3,
	DUMBBELL_CC_ON_RTO = 4,
	DUMBBELL_CC_ON_ENTER_LOSS = 5,
	DUMBBELL_CC_ON_ECN = 6,
	DUMBBELL_CC_ON_EXIT_RECOVERY = 7,
	DUMBBELL_CC_ON_UNDO = 8,
	DUMBBELL_CC_ON_TRANSMIT_START = 9,
	DUMBBELL_CC_ON_IDLE_RESTART = 10,
};

struct dumbbell_cc_record {
	uint32_t event;      /* enum dumbbell_cc_event */
	uint32_t connection; /* in the order of the first events, from 0 */
	struct dumbbell_cc_window before, after;
	union {
		struct dumbbell_cc_ack ack;           /* on_ack */
		struct dumbbell_cc_rtt_sample rtt;    /* on_rtt */
		struct dumbbell_cc_snapshot snapshot; /* the others; none for on_undo */
	} told;
};

#endif
