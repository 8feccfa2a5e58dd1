/*
 * What packetdrill needs beside itself inside the virtual-time kernel.
 *
 * Linked with it by the linker's --wrap, when a user builds it of a source of his own: packetdrill
 * (GPL-2.0) stays as it is, and nothing of it is in this file.
 *
 *   times       packetdrill calls it until a tick has passed. The guest's clock stands still while
 *               the guest computes, so somebody has to sleep. All scripts begin with the slots of
 *               the timer wheel.
 *   sched_yield also pthread_yield: likewise while a call of another thread is waited for.
 *   getsockopt  of TCP_INFO: older kernels give fewer fields than packetdrill knows; the others
 *               are zero.
 *   ioctl       a new tun device gets the offloads and the gso_max_segs that were asked for
 *               (DUMBBELL_OFFLOADS=off, DUMBBELL_GSO_MAX_SEGS=1).
 *   system      a route and plain settings are made without a shell: starting programs takes most
 *               of a script's time in the guest. Everything else goes to the shell.
 *   unlink      packetdrill's record of the assertions stays: they are judged on the host.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/if_tun.h>
#include <linux/netlink.h>
#include <linux/route.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

/* Microseconds of a nap while something is waited for. */
#define NAP_USECS 50
/* Ticks of the coarsest slots of the timer wheel that scripts of seconds come to. */
#define SLOT_TICKS 512
/* Longest shell line that is looked into, bytes. */
#define LONGEST_LINE 4096

int __wrap_sched_yield(void);
int __wrap_pthread_yield(void);
clock_t __real_times(struct tms *buffer);
int __real_getsockopt(int fd, int level, int name, void *value, socklen_t *length);
int __real_ioctl(int fd, unsigned long request, void *argument);
int __real_system(const char *command);
int __real_unlink(const char *path);

/* The kernel wakes a thread when it is due, not up to 50 microseconds later. */
__attribute__((constructor)) static void wake_on_time(void)
{
	prctl(PR_SET_TIMERSLACK, 1UL);
}

/* The value of times() just after it has changed, with naps of so many microseconds. */
static clock_t next_edge(struct tms *buffer, useconds_t nap_usecs)
{
	clock_t before = __real_times(buffer), now;

	do {
		usleep(nap_usecs);
		now = __real_times(buffer);
	} while (now == before);
	return now;
}

/*
 * Waits for a tick of the timer from which the slots of the kernel's timer wheel count: long
 * timers, which are rounded up to 8, 64 or 512 ticks, then run as long in every script.
 */
static clock_t wait_for_slot(struct tms *buffer)
{
	struct timespec tick;

	next_edge(buffer, NAP_USECS);
	usleep(1000000 / sysconf(_SC_CLK_TCK) - 2 * NAP_USECS);
	clock_t edge = next_edge(buffer, 1);
	/* A coarse clock is as fine as a tick. */
	if (clock_getres(CLOCK_REALTIME_COARSE, &tick) != 0 || tick.tv_nsec <= 0)
		return edge;
	long per_second = 1000000000L / tick.tv_nsec, units = sysconf(_SC_CLK_TCK);
	unsigned long ticks = ((unsigned long)edge * per_second + units - 1) / units;
	unsigned long missing = (SLOT_TICKS - ticks % SLOT_TICKS) % SLOT_TICKS;
	if (missing > 0)
		usleep(missing * (tick.tv_nsec / 1000));
	return __real_times(buffer);
}

clock_t __wrap_times(struct tms *buffer)
{
	/* One true edge is enough; those after it are told at once. */
	static clock_t told;
	static int calls;

	if (calls == 0)
		told = __real_times(buffer);
	else if (calls == 1)
		told = wait_for_slot(buffer);
	else
		told++;
	calls++;
	return told;
}

int __wrap_sched_yield(void)
{
	usleep(NAP_USECS);
	return 0;
}

int __wrap_pthread_yield(void)
{
	return __wrap_sched_yield();
}

int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *length)
{
	socklen_t asked = *length;
	int result = __real_getsockopt(fd, level, name, value, length);

	if (result == 0 && level == IPPROTO_TCP && name == TCP_INFO && *length < asked) {
		memset((char *)value + *length, 0, asked - *length);
		*length = asked;
	}
	return result;
}

/* rtnetlink(7): RTM_NEWLINK with one attribute. */
static int set_gso_max_segs(const char *device, unsigned int segments)
{
	struct {
		struct nlmsghdr header;
		struct ifinfomsg link;
		struct rtattr attribute;
		unsigned int value;
	} message = {
		.header = {
			.nlmsg_len = sizeof(message),
			.nlmsg_type = RTM_NEWLINK,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
		},
		.attribute = {
			.rta_len = RTA_LENGTH(sizeof(unsigned int)),
			.rta_type = IFLA_GSO_MAX_SEGS,
		},
		.value = segments,
	};
	struct {
		struct nlmsghdr header;
		struct nlmsgerr error;
		char rest[256];
	} answer;
	struct ifreq request;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	int result = -1;

	if (fd < 0)
		return -1;
	memset(&request, 0, sizeof(request));
	strncpy(request.ifr_name, device, IFNAMSIZ - 1);
	int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (any >= 0 && __real_ioctl(any, SIOCGIFINDEX, &request) == 0) {
		message.link.ifi_index = request.ifr_ifindex;
		if (send(fd, &message, sizeof(message), 0) == sizeof(message) &&
		    recv(fd, &answer, sizeof(answer), 0) > (ssize_t)sizeof(answer.header) &&
		    answer.header.nlmsg_type == NLMSG_ERROR)
			result = answer.error.error;
	}
	if (any >= 0)
		close(any);
	close(fd);
	return result;
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	va_list arguments;
	va_start(arguments, request);
	void *argument = va_arg(arguments, void *);
	va_end(arguments);

	const char *offloads = getenv("DUMBBELL_OFFLOADS");
	if (request == TUNSETOFFLOAD && offloads != NULL && strcmp(offloads, "off") == 0)
		argument = (void *)(unsigned long)TUN_F_CSUM;
	int result = __real_ioctl(fd, request, argument);
	const char *segments = getenv("DUMBBELL_GSO_MAX_SEGS");
	if (request == TUNSETIFF && result == 0 && segments != NULL) {
		const char *device = ((struct ifreq *)argument)->ifr_name;
		if (set_gso_max_segs(device, (unsigned int)atoi(segments)) != 0) {
			fprintf(stderr, "gso_max_segs %s of %s: refused\n", segments, device);
			errno = EINVAL;
			return -1;
		}
	}
	return result;
}

static void set_address(struct sockaddr *place, in_addr_t address)
{
	struct sockaddr_in *in = (struct sockaddr_in *)place;

	in->sin_family = AF_INET;
	in->sin_addr.s_addr = address;
}

/* The line with which packetdrill gives its device a route; 0 when the route is there. */
static int add_route(const char *command)
{
	char old[64], prefix[64], device[IFNAMSIZ], gateway[64];
	struct rtentry route;
	struct in_addr network, via;
	int bits, end = -1;

	if (sscanf(command,
		   "ip -4 route del %63s > /dev/null 2>&1 ; "
		   "ip -4 route add %63s dev %15s via %63s > /dev/null 2>&1%n",
		   old, prefix, device, gateway, &end) != 4 ||
	    end < 0 || command[end] != '\0' || strcmp(old, prefix) != 0)
		return -1;
	char *slash = strchr(prefix, '/');
	if (slash == NULL)
		return -1;
	*slash = '\0';
	bits = atoi(slash + 1);
	if (bits < 1 || bits > 32 || inet_aton(prefix, &network) == 0 ||
	    inet_aton(gateway, &via) == 0)
		return -1;
	memset(&route, 0, sizeof(route));
	set_address(&route.rt_dst, network.s_addr);
	set_address(&route.rt_genmask, htonl(0xffffffffu << (32 - bits)));
	set_address(&route.rt_gateway, via.s_addr);
	route.rt_flags = RTF_UP | RTF_GATEWAY;
	route.rt_dev = device;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int result = fd < 0 ? -1 : __real_ioctl(fd, SIOCADDRT, &route);
	if (fd >= 0)
		close(fd);
	return result;
}

/* One NAME=VALUE of sysctl(8); 0 when it is set. */
static int set_one(const char *setting)
{
	char path[256] = "/proc/sys/";
	const char *equals = strchr(setting, '=');
	size_t at = strlen(path);

	if (equals == NULL || equals == setting || at + (equals - setting) >= sizeof(path))
		return -1;
	for (const char *from = setting; from < equals; ++from)
		path[at++] = *from == '.' ? '/' : *from;
	path[at] = '\0';
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ssize_t length = (ssize_t)strlen(equals + 1);
	ssize_t written = write(fd, equals + 1, (size_t)length);
	close(fd);
	return written == length ? 0 : -1;
}

/* The next word of a line, which ends at a blank outside double quotes; they are taken off. */
static char *next_word(char **rest)
{
	bool is_quoted = false;
	char *word, *to;

	while (**rest == ' ' || **rest == '\t')
		++*rest;
	if (**rest == '\0')
		return NULL;
	word = to = *rest;
	for (; **rest != '\0' && (is_quoted || (**rest != ' ' && **rest != '\t')); ++*rest) {
		if (**rest == '"')
			is_quoted = !is_quoted;
		else
			*to++ = **rest;
	}
	if (**rest != '\0')
		++*rest;
	*to = '\0';
	return word;
}

/* One line of `sysctl -q NAME=VALUE ...`; 0 when all are set. */
static int set_line(char *line)
{
	char *word = next_word(&line);

	if (word == NULL)
		return 0;
	if (strcmp(word, "sysctl") != 0)
		return -1;
	word = next_word(&line);
	if (word == NULL || strcmp(word, "-q") != 0)
		return -1;
	while ((word = next_word(&line)) != NULL) {
		if (set_one(word) != 0)
			return -1;
	}
	return 0;
}

/* Lines of sysctl(8) in which nothing but quotes is for a shell; 0 when all are set. */
static int set_all(const char *command)
{
	char text[LONGEST_LINE];
	char *rest, *line;

	if (strlen(command) >= sizeof(text) || strpbrk(command, "'`$;&|<>(){}*?[]#~\\") != NULL)
		return -1;
	strcpy(text, command);
	for (line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
		if (set_line(line) != 0)
			return -1;
	}
	return 0;
}

int __wrap_system(const char *command)
{
	/* The command that packetdrill gives its assertions to. */
	if (command != NULL && strncmp(command, ": ", 2) == 0)
		return 0;
	if (command != NULL && (add_route(command) == 0 || set_all(command) == 0))
		return 0;
	return __real_system(command);
}

int __wrap_unlink(const char *path)
{
	if (strncmp(path, "/tmp/code_", strlen("/tmp/code_")) == 0)
		return 0;
	return __real_unlink(path);
}
