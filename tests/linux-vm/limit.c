// SPDX-License-Identifier: MIT OR Apache-2.0
/* Runs the agent, which a signal ends when the machine's clock has gone on a minute. */
#include <unistd.h>

int main(int argc, char **argv)
{
	(void)argc;
	alarm(60);
	execv("/kernmark-agent", argv);
	return 1;
}
