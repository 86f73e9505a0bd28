/* What agent/bench/posix may use of this port, besides POSIX and Linux. */
#ifndef PORT_LINUX_H
#define PORT_LINUX_H

#include "kernmark.h"

extern const struct km_bench km_syscall[], km_time[], km_channel[], km_socket[],
	km_pipe[], km_event[], km_port[], km_vmo[], km_mmu[], km_filesystem[],
	km_process[], km_signal[], km_futex[], km_yield[], km_timer[],
	km_uring[], km_roundtrip[], km_network[];

#define KM_POSIX km_syscall, km_time, km_channel, km_socket, km_pipe, km_event, \
	km_port, km_vmo, km_mmu, km_filesystem, km_process, km_signal, km_futex, \
	km_yield, km_timer, km_uring, km_roundtrip, km_network

/* So many microseconds in ticks of port_now(). */
port_ticks port_ticks_of_us(uint32_t us);
/*
 * Whether it is a kernel with PREEMPT_RT: interrupts and what follows them run
 * in threads, some of them at the priority of KM_LOW.
 */
bool port_preempt_rt(void);

#endif
