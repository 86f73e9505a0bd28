/* What agent/bench/posix may use of this port, besides POSIX and Linux. */
#ifndef PORT_LINUX_H
#define PORT_LINUX_H

#include "kernmark.h"

extern const struct km_bench km_syscall[];

#define KM_POSIX km_syscall

/* The CPU that is measured on, and the second one or -1. */
int port_cpu(void);
int port_other_cpu(void);
/* So many microseconds in ticks of port_now(). */
port_ticks port_ticks_of_us(uint32_t us);

#endif
