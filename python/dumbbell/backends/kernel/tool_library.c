/*
 * A library for LD_PRELOAD (ld.so(8)) that lets a program be loaded once and started often.
 *
 * The dynamic loader calls `wait_for_requests` when everything is loaded and before the program's
 * `main`. At each request it forks, and the child goes on to `main` in another network namespace, as
 * a process that has just been started. Process 1 of a guest sends the requests
 * (guest/src/sys/loaded.rs). Names of variables and the format of a request are written in both.
 *
 * Licence: Apache-2.0, as dumbbell's.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Arguments of madvise(2); the last entry of a request has an address of 0. */
struct entry {
	uint64_t address, length, advice;
};

static char *taken(const char *name)
{
	char *value = getenv(name);

	unsetenv(name); /* programs that the child starts must not wait */
	return value;
}

__attribute__((constructor)) static void wait_for_requests(void)
{
	char *requests = taken("DUMBBELL_TOOL_REQUESTS"), *answers = taken("DUMBBELL_TOOL_ANSWERS");
	char *network = taken("DUMBBELL_TOOL_NETWORK");
	struct entry request[20];
	int32_t child = 0; /* the first answer says that it waits */

	if (!requests || !answers || !network)
		return;
	unsetenv("LD_PRELOAD");
	do {
		if (write(atoi(answers), &child, sizeof child) != sizeof child ||
		    read(atoi(requests), request, sizeof request) < (ssize_t)sizeof *request)
			_exit(126);
		/* CLONE_PARENT: process 1, which waits for the child, is its parent; fork(3) cannot say so. */
		child = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
		child = child < 0 ? -errno : child;
	} while (child);
	for (struct entry *each = request; each->address; each++)
		madvise((void *)each->address, each->length, each->advice);
	int place = open(network, O_RDONLY | O_CLOEXEC);
	if (place < 0 || setns(place, CLONE_NEWNET) || syscall(SYS_close_range, 3, ~0U, 0))
		_exit(126);
}
