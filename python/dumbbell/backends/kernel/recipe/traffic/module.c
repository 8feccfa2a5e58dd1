// SPDX-License-Identifier: GPL-2.0
/*
 * Reads and writes of flows and probes inside the guest's kernel. Process 1 draws the traffic and keeps the
 * records. This module does the work per packet while process 1 waits in an ioctl(2): see ends.c,
 * connections.c, datagrams.c, sources.c, due.c and taps.c.
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/uaccess.h>

#include "traffic.h"

void *zeros;

static long control(struct file *file, unsigned int command, unsigned long argument)
{
	void __user *user = (void __user *)argument;
	union {
		struct dumbbell_traffic_end end;
		struct dumbbell_traffic_more more;
		struct dumbbell_traffic_count count;
		struct dumbbell_traffic_last last;
		struct dumbbell_traffic_turn turn;
		struct dumbbell_traffic_watch watch;
		struct dumbbell_traffic_plan plan;
		struct dumbbell_traffic_fetch fetch;
		struct dumbbell_traffic_inlet inlet;
		struct dumbbell_traffic_source source;
		struct dumbbell_traffic_schedule schedule;
		struct dumbbell_traffic_due due;
		struct dumbbell_traffic_transfers transfers;
		struct dumbbell_traffic_transfer_schedule transfer_schedule;
		struct dumbbell_traffic_tap tap;
		struct dumbbell_traffic_missed missed;
		u64 order;
		u32 fd;
	} asked;
	long result;

	if (_IOC_SIZE(command) > sizeof(asked) || copy_from_user(&asked, user, _IOC_SIZE(command)))
		return -EFAULT;
	switch (command) {
	case DUMBBELL_TRAFFIC_ADD:
		result = add_connection(&asked.end);
		break;
	case DUMBBELL_TRAFFIC_MORE:
		result = add_more(&asked.more);
		break;
	case DUMBBELL_TRAFFIC_COUNT:
		result = count(&asked.count);
		break;
	case DUMBBELL_TRAFFIC_REMOVE:
		result = take_back(&asked.last);
		break;
	case DUMBBELL_TRAFFIC_POLL:
		result = wait_by(asked.fd);
		break;
	case DUMBBELL_TRAFFIC_WAIT:
		result = wait_without_fs(&asked.turn);
		if (!result)
			tell_done(&asked.turn);
		break;
	case DUMBBELL_TRAFFIC_SERVE:
		result = 0;
		serve_turns(&asked.turn, asked.turn.token);
		break;
	case DUMBBELL_TRAFFIC_WATCH:
		result = watch(&asked.watch);
		break;
	case DUMBBELL_TRAFFIC_PLAN:
		result = 0;
		set_plan(&asked.plan);
		break;
	case DUMBBELL_TRAFFIC_FETCH:
		result = fetch_items(&asked.fetch);
		break;
	case DUMBBELL_TRAFFIC_INLET:
		result = add_inlet(&asked.inlet);
		break;
	case DUMBBELL_TRAFFIC_SOURCE:
		result = add_source(&asked.source);
		break;
	case DUMBBELL_TRAFFIC_SCHEDULE:
		result = add_schedule(&asked.schedule);
		break;
	case DUMBBELL_TRAFFIC_SEND:
		result = send_before(&asked.due);
		break;
	case DUMBBELL_TRAFFIC_TELL:
		result = 0;
		tell_done(&asked.turn);
		break;
	case DUMBBELL_TRAFFIC_TAP:
		result = add_tap(&asked.tap);
		break;
	case DUMBBELL_TRAFFIC_RECORDS:
		result = fetch_records(&asked.fetch);
		break;
	case DUMBBELL_TRAFFIC_MISSED:
		result = count_missed(&asked.missed);
		break;
	case DUMBBELL_TRAFFIC_TRANSFERS:
		result = add_transfers(&asked.transfers);
		break;
	case DUMBBELL_TRAFFIC_TRANSFER_SCHEDULE:
		result = add_transfer_schedule(&asked.transfer_schedule);
		break;
	case DUMBBELL_TRAFFIC_ABORT:
		result = abort_connections(asked.order);
		break;
	case DUMBBELL_TRAFFIC_LOOK:
		result = look_at_transfers(asked.order);
		break;
	default:
		result = -ENOTTY;
	}
	if (!result && (command & IOC_OUT) && copy_to_user(user, &asked, _IOC_SIZE(command)))
		return -EFAULT;
	return result;
}

/* Only one open: programs that run in hosts may be root there. */
static int open_once(struct inode *inode, struct file *file)
{
	static bool is_open;

	if (is_open)
		return -EBUSY;
	is_open = true;
	return 0;
}

static const struct proc_ops proc_ops = {
	.proc_open = open_once,
	.proc_ioctl = control,
	.proc_lseek = noop_llseek,
};

/*
 * Starts the module when process 1 loads it with the parameter "start". There is no init function:
 * do_one_initcall() (init/main.c), which calls those, mixes the time into the kernel's random numbers, and
 * RED, PIE, netem and BBR would draw others than without the module.
 */
static int start(const char *value, const struct kernel_param *parameter)
{
	if (zeros)
		return -EBUSY;
	zeros = kvzalloc(CHUNK, GFP_KERNEL);
	if (!zeros)
		return -ENOMEM;
	prepare_timer();
	if (!proc_create(DUMBBELL_TRAFFIC_NAME, 0600, NULL, &proc_ops))
		return -ENOMEM;
	/* Never unloaded: a guest lives for one run. */
	__module_get(THIS_MODULE);
	return 0;
}

static const struct kernel_param_ops start_ops = { .set = start };

module_param_cb(start, &start_ops, NULL, 0);
MODULE_INFO(intree, "Y");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Reads and writes of dumbbell's flows and probes");
