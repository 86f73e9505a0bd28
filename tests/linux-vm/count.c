// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Runs the agent for each of its words CASE:CALL, with few and with many samples,
 * and prints how often the agent's threads and processes made the system call with
 * that number: "count: CASE SAMPLES CALLS". The kernel stops them at each call.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define AGENT "/kernmark-agent"

static pid_t start(char *name, char *samples)
{
	char *words[] = { AGENT, "debugcon=233", "icount=3", "run", samples, name, NULL };
	pid_t agent = fork();

	if (agent)
		return agent;
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(126);
	raise(SIGSTOP);
	execv(AGENT, words);
	_exit(127);
}

/* Whether the thread has stopped at the entry of this call. */
static int enters(pid_t thread, unsigned long call)
{
	struct __ptrace_syscall_info info;

	return ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof(info), &info) > 0 &&
	       info.op == PTRACE_SYSCALL_INFO_ENTRY && info.entry.nr == call;
}

/* The signal to hand on to a thread that has stopped with this status. */
static long signal_of(int status)
{
	int number = WSTOPSIG(status);

	/* A call, an event such as a fork, or a new thread. */
	if (number == (SIGTRAP | 0x80) || status >> 16 || number == SIGSTOP ||
	    number == SIGTRAP)
		return 0;
	return number;
}

/* Returns how often the call was made; -1 if the agent failed. */
static long count(char *name, char *samples, unsigned long call)
{
	const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE |
			     PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
			     PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
	pid_t agent = start(name, samples), thread;
	int status, result = 1;
	long calls = 0;

	waitpid(agent, &status, 0);
	ptrace(PTRACE_SETOPTIONS, agent, NULL, options);
	ptrace(PTRACE_SYSCALL, agent, NULL, 0);
	while ((thread = waitpid(-1, &status, __WALL)) > 0) {
		if (!WIFSTOPPED(status)) {
			if (thread == agent)
				result = status;
			continue;
		}
		if (WSTOPSIG(status) == (SIGTRAP | 0x80))
			calls += enters(thread, call);
		ptrace(PTRACE_SYSCALL, thread, NULL, signal_of(status));
	}
	return result ? -1 : calls;
}

int main(int argc, char **argv)
{
	char *samples[] = { "samples=20", "samples=70" };

	for (int i = 1; i < argc; i++) {
		char *call = strchr(argv[i], ':');

		if (!call)
			continue;
		*call++ = '\0';
		for (int k = 0; k < 2; k++)
			printf("count: %s %s %ld\n", argv[i], samples[k],
			       count(argv[i], samples[k], strtoul(call, NULL, 10)));
	}
	return 0;
}
