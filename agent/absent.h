/*
 * Operations that a port lacks (they are not in its PORT_HAS). Benchmarks
 * compile against them and are never run: port_lacks() says why.
 */
#ifndef KM_ABSENT_H
#define KM_ABSENT_H

#if !(PORT_HAS & KM_THREADS)
#define PORT_VIA_THREAD "none"
#define PORT_VIA_YIELD "none"
struct port_thread {
	char absent;
};
int port_thread_create(struct port_thread *t, void (*body)(void *), void *arg);
int port_thread_start(struct port_thread *t);
void port_thread_suspend(struct port_thread *t);
void port_thread_resume(struct port_thread *t);
void port_thread_reap(struct port_thread *t);
void port_yield(void);
#endif

#endif
