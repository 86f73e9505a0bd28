// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The first process of a machine that has nothing in it but an agent: sets up
 * what the kernel leaves to user mode, runs /agent, and powers off. The agent
 * gets the words after `-- kernmark` on the kernel's command line, without those
 * for this program, which come first:
 *
 *	records=TTY	the agent's standard output, raw; default: the console
 *	seccomp=N	the agent's system calls pass a filter of N rules; 0: none
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <stddef.h>
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

/* The kernel's command line has our words after this one. */
#define MARK "kernmark"
#define AGENT "/agent"
/* As many rules as a filter has room for; no call has such a number. */
#define RULES_MOST 2000
#define CALLS_MOST 100000

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
	if (mark)
		run_agent(mark);
	else
		fputs("init: the kernel's command line does not end in `-- " MARK
		      " ORDER`; does it contain another `--`?\n", stderr);
	/* If this process ended, the kernel would panic. */
	reboot(RB_POWER_OFF);
	complain("cannot power off");
	for (;;)
		pause();
}
