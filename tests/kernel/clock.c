/*
 * What a program sees of its clock and of its registers, in a guest: clock HOW WHAT.
 *
 * HOW is "library", as programs read the clock, or "by-call", whatever the library would do. Both are as
 * long, so that a guest has the same history with either.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int by_call;
static volatile int alarms;

static int64_t clock_ns(clockid_t clock)
{
	struct timespec at = { 0, 0 };

	if (by_call)
		syscall(SYS_clock_gettime, clock, &at);
	else
		clock_gettime(clock, &at);
	return at.tv_sec * 1000000000LL + at.tv_nsec;
}

static int64_t day_us(void)
{
	struct timeval at = { 0, 0 };

	if (by_call)
		syscall(SYS_gettimeofday, &at, NULL);
	else
		gettimeofday(&at, NULL);
	return at.tv_sec * 1000000LL + at.tv_usec;
}

static int64_t read_as(int turn)
{
	switch (turn % 5) {
	case 0: return clock_ns(CLOCK_REALTIME);
	case 1: return clock_ns(CLOCK_MONOTONIC);
	case 2: return day_us();
	case 3: return by_call ? syscall(SYS_time, NULL) : time(NULL);
	default: return clock_ns(CLOCK_MONOTONIC_COARSE);
	}
}

/* Readings of all kinds over several ticks. */
static void readings(void)
{
	uint64_t digest = 1469598103934665603ULL;
	int64_t first = clock_ns(CLOCK_MONOTONIC), at = 0;
	int i;

	for (i = 0; i < 60000; i++) {
		at = read_as(i);
		digest = (digest ^ (uint64_t)at) * 1099511628211ULL;
	}
	printf("readings %lld %016llx\n", (long long)(clock_ns(CLOCK_MONOTONIC) - first),
	       (unsigned long long)digest);
}

static void on_alarm(int number)
{
	volatile double other = number;

	alarms++;
	other = other * 3.5 + clock_ns(CLOCK_MONOTONIC);
	(void)other;
}

/* Whoever waits for the clock to move is interrupted in time, and others come to run. */
static void waiting(void)
{
	struct itimerval every = { { 0, 3000 }, { 0, 3000 } };
	int64_t end = clock_ns(CLOCK_MONOTONIC) + 20000000;
	pid_t child;

	signal(SIGALRM, on_alarm);
	child = fork();
	if (!child) {
		int i;

		for (i = 0; i < 5; i++) {
			usleep(2000);
			printf("other %lld\n", (long long)clock_ns(CLOCK_REALTIME));
			fflush(stdout);
		}
		_exit(0);
	}
	setitimer(ITIMER_REAL, &every, NULL);
	while (clock_ns(CLOCK_MONOTONIC) < end)
		;
	setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL);
	while (waitpid(child, NULL, 0) < 0)
		;
	printf("waited until %lld, %d alarms\n", (long long)clock_ns(CLOCK_REALTIME), alarms);
}

/* How many calls a thousand readings are. */
static void calls(void)
{
	int stops = 0, status;
	pid_t child = fork();

	if (!child) {
		int i;

		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		for (i = 0; i < 1000; i++)
			clock_ns(CLOCK_MONOTONIC);
		_exit(0);
	}
	waitpid(child, &status, 0);
	while (WIFSTOPPED(status)) {
		stops++;
		ptrace(PTRACE_SYSCALL, child, 0, 0);
		waitpid(child, &status, 0);
	}
	printf("calls %d\n", stops / 2);
}

static volatile uint64_t *clock_page(void)
{
	return (volatile uint64_t *)(getauxval(AT_SYSINFO_EHDR) - 4096);
}

static int64_t asked_ns(void)
{
	struct timespec at;

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &at);
	return at.tv_sec * 1000000000LL + at.tv_nsec;
}

/* Lies about the time on the page: what the kernel says moves by its own events alone. */
static void lies(void)
{
	volatile uint64_t *page = clock_page();
	uint64_t now = page[1];
	int64_t before = asked_ns(), longest = 0, last = before;
	int i, word;

	const uint64_t said[] = { 0, now - 1000000, now + 3600000000000ULL, UINT64_MAX, 1ULL << 63 };

	for (i = 0; i < 5; i++)
		for (word = 0; word < 10; word++) {
			int64_t at;

			page[word] = said[i];
			at = asked_ns();
			if (at <= last)
				printf("went back\n");
			if (at - last > longest)
				longest = at - last;
			last = at;
		}
	for (word = 0; word < 512; word++)
		page[word] = ~0ULL;
	if (!fork()) {
		/* Another finds what the kernel says, although the page lies when it begins. */
		by_call = 0;
		_exit(llabs(clock_ns(CLOCK_MONOTONIC) - asked_ns()) > 2000000);
	}
	wait(&i);
	printf("lies %lld %d\n", (long long)longest, i);
}

static int keeps(double seed)
{
	double held[16] __attribute__((aligned(64))), found[16] __attribute__((aligned(64)));
	int i, turn, wrong = 0;

	for (turn = 0; turn < 300; turn++) {
		long call = turn % 3 ? SYS_getppid : SYS_sched_yield, result;
		char *fresh = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		for (i = 0; i < 16; i++)
			held[i] = seed * (turn + 1) + i;
		/* Between what is put into registers and what is found there: a call and a page fault. */
		asm volatile(
			"movupd (%[h]), %%xmm0\n\tmovupd 16(%[h]), %%xmm1\n\tmovupd 32(%[h]), %%xmm7\n\t"
			"movupd 48(%[h]), %%xmm15\n\tsyscall\n\tmovb $1, (%[p])\n\t"
			"movupd %%xmm0, (%[f])\n\tmovupd %%xmm1, 16(%[f])\n\tmovupd %%xmm7, 32(%[f])\n\t"
			"movupd %%xmm15, 48(%[f])\n\t"
			: "=a" (result)
			: "0" (call), [h] "r" (held), [f] "r" (found), [p] "r" (fresh)
			: "rcx", "r11", "memory", "xmm0", "xmm1", "xmm7", "xmm15");
		(void)result;
		wrong += memcmp(held, found, 64) != 0;
		munmap(fresh, 4096);
	}
	return wrong;
}

static void *in_a_thread(void *seed)
{
	return (void *)(intptr_t)keeps(*(double *)seed);
}

/* Processes, threads and a handler, each with floating-point numbers of its own. */
static void registers(void)
{
	struct itimerval every = { { 0, 1000 }, { 0, 1000 } };
	double other = 7.25;
	void *wrong_there;
	pthread_t thread;
	int wrong, status;
	pid_t child;

	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &every, NULL);
	child = fork();
	if (!child)
		_exit(keeps(3.5) > 0);
	pthread_create(&thread, NULL, in_a_thread, &other);
	wrong = keeps(1.25);
	pthread_join(thread, &wrong_there);
	while (waitpid(child, &status, 0) < 0)
		;
	printf("registers %d %d %d\n", wrong, (int)(intptr_t)wrong_there, status);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	by_call = !strcmp(argv[1], "by-call");
	setvbuf(stdout, NULL, _IONBF, 0);
	if (!strcmp(argv[2], "readings"))
		readings();
	else if (!strcmp(argv[2], "waiting"))
		waiting();
	else if (!strcmp(argv[2], "calls"))
		calls();
	else if (!strcmp(argv[2], "lies"))
		lies();
	else if (!strcmp(argv[2], "registers"))
		registers();
	else
		return 2;
	return 0;
}
