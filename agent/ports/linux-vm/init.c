// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The first process of a machine that has nothing in it but an agent: sets up
 * what the kernel leaves to user mode, runs /agent, and powers off. The agent
 * gets the words after `-- kernmark` on the kernel's command line, without those
 * for this program, which come first:
 *
 *	records=TTY	the agent's standard output, raw; default: the console
 *	seccomp=N	the agent's system calls pass a filter of N rules; 0: none
 *
 * If a tracer listens (agent/trace), it then tells the tracer the kernel's functions.
 * The agent has ended by then, and no word says that a tracer listens, so that a
 * machine measures the same with and without one.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#ifdef __x86_64__
#include <sys/io.h>
#endif

#include "../../mark.h"

/* The kernel's command line has our words after this one. */
#define MARK "kernmark"
#define AGENT "/agent"
/* As many rules as a filter has room for; no call has such a number. */
#define RULES_MOST 2000
#define CALLS_MOST 100000
#define KALLSYMS "/proc/kallsyms"

static void complain(const char *what)
{
	fprintf(stderr, "init: %s: %s\n", what, strerror(errno));
}

static void mount_at(const char *place, const char *kind)
{
	mkdir(place, 0755);
	if (mount(kind, place, kind, 0, NULL))
		complain(place);
}

static void raise_loopback(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (any < 0 || ioctl(any, SIOCSIFFLAGS, &lo))
		complain("the interface lo");
	close(any);
}

static _Noreturn void give_up(const char *what)
{
	complain(what);
	_exit(1);
}

static void print_to(const char *tty)
{
	struct termios line;
	char path[64];
	int file;

	snprintf(path, sizeof(path), "/dev/%s", tty);
	file = open(path, O_WRONLY | O_NOCTTY);
	if (file < 0 || tcgetattr(file, &line))
		give_up(path);
	cfmakeraw(&line);
	if (tcsetattr(file, TCSANOW, &line) || dup2(file, STDOUT_FILENO) < 0)
		give_up(path);
	close(file);
}

/*
 * A list of forbidden calls, none of which exists: each rule compares the number
 * of the call with one of them.
 */
static void install_filter(const char *rules)
{
	static struct sock_filter list[2 * RULES_MOST + 2];
	struct sock_fprog program = { .filter = list };
	struct sock_filter *at = list;
	unsigned long n;
	char *end;

	errno = EINVAL;
	n = strtoul(rules, &end, 10);
	if (end == rules || *end || n > RULES_MOST)
		give_up("the number of rules in seccomp=");
	if (!n)
		return;
	*at++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					     offsetof(struct seccomp_data, nr));
	for (unsigned int i = 0; i < n; i++) {
		*at++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
						     CALLS_MOST + i, 0, 1);
		*at++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
						     SECCOMP_RET_ERRNO | EPERM);
	}
	*at++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program.len = (unsigned short)(at - list);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		give_up("the seccomp filter");
}

/* Returns what follows `key=` in a word, or NULL. */
static const char *value_of(const char *word, const char *key)
{
	size_t n = strlen(key);

	return word && !strncmp(word, key, n) && word[n] == '=' ?
	       word + n + 1 : NULL;
}

static _Noreturn void be_agent(char **word)
{
	const char *value;

	for (;; word++) {
		if ((value = value_of(word[1], "records")))
			print_to(value);
		else if ((value = value_of(word[1], "seccomp")))
			install_filter(value);
		else
			break;
	}
	*word = AGENT;
	execv(AGENT, word);
	give_up(AGENT);
}

/*
 * Returns the mark. Before it, Linux puts the words of its command line that it
 * does not know, for example those that only the boot loader uses.
 */
static char **find_mark(char **word)
{
	while (*word && strcmp(*word, MARK))
		word++;
	return *word ? word : NULL;
}

static void run_agent(char **mark)
{
	pid_t agent = fork();
	int status;

	if (!agent)
		be_agent(mark);
	if (agent < 0 || waitpid(agent, &status, 0) != agent)
		complain(AGENT);
	else if (WIFSIGNALED(status))
		fprintf(stderr, "init: signal %d killed the agent\n",
			WTERMSIG(status));
	else if (status)
		fprintf(stderr, "init: the agent ended with status %d\n",
			WEXITSTATUS(status));
}

/* Two characters of a text for the tracer are the low bits of an address here. */
static char words[1 << 16] __attribute__((aligned(1 << 16)));

static void say_word(const char *at)
{
	__asm__ volatile(
#ifdef __x86_64__
		KM_MARK(".words") "movb %0, %%al" : : "m"(*at) : "al"
#else
		KM_MARK(".words") "ldrb w0, %0" : : "Q"(*at) : "x0"
#endif
	);
}

static void say(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i += 2) {
		size_t second = i + 1 < size ? (unsigned char)text[i + 1] : 0;

		say_word(words + ((unsigned char)text[i] | second << 8));
	}
}

/*
 * The emulator has another debug console next to that of the records, or a command
 * line for semihosting.
 */
#ifdef __x86_64__
static bool tracer_listens(unsigned int console)
{
	if (ioperm(console + 1, 1, 1))
		return false;
	/* A debug console returns this value. */
	return inb((unsigned short)(console + 1)) == 0xe9;
}
#else
static bool tracer_listens(unsigned int console)
{
	char line[16] = "";
	uint64_t block[] = { (uintptr_t)line, sizeof(line) };
	register uint64_t call __asm__("x0") = 0x15;
	register uint64_t *at __asm__("x1") = block;

	(void)console;
	__asm__ volatile("hlt #0xf000" : "+r"(call) : "r"(at) : "memory");
	return !strcmp(line, "tracer");
}
#endif

/* Says the lines of the kernel's functions, whose type is t, T, w or W. */
static void say_functions(void)
{
	static char text[1 << 16];
	size_t used = 0;
	ssize_t n;
	int file = open(KALLSYMS, O_RDONLY | O_CLOEXEC);

	if (file < 0)
		return complain(KALLSYMS);
	while ((n = read(file, text + used, sizeof(text) - used)) > 0) {
		char *line = text, *end;

		used += (size_t)n;
		while ((end = memchr(line, '\n', used - (size_t)(line - text)))) {
			const char *type = memchr(line, ' ', (size_t)(end - line));

			if (type && strchr("tTwW", type[1]))
				say(line, (size_t)(end + 1 - line));
			line = end + 1;
		}
		used -= (size_t)(line - text);
		memmove(text, line, used);
	}
	if (n < 0)
		complain(KALLSYMS);
	close(file);
}

/* Without an emulator's debug console there is no tracer. */
static void tell_tracer(char **word)
{
	const char *console = NULL;

	for (; *word && !console; word++)
		console = value_of(*word, "debugcon");
	if (!console || !tracer_listens((unsigned int)strtoul(console, NULL, 10)))
		return;
	/* From here on, the tracer follows nothing else. */
	say("\n", 1);
	say_functions();
}

int main(int argc, char **argv)
{
	char **mark = find_mark(argv);

	(void)argc;
	mount_at("/dev", "devtmpfs");
	mount_at("/proc", "proc");
	mount_at("/sys", "sysfs");
	mount_at("/dev/shm", "tmpfs");
	mount_at("/tmp", "tmpfs");
	mount_at("/run", "tmpfs");
	raise_loopback();
	if (mark) {
		run_agent(mark);
		tell_tracer(mark);
	} else {
		fputs("init: the kernel's command line does not end in `-- " MARK
		      " ORDER`; does it contain another `--`?\n", stderr);
	}
	/* If this process ended, the kernel would panic. */
	reboot(RB_POWER_OFF);
	complain("cannot power off");
	for (;;)
		pause();
}
