// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kernmark.h"

#include <zephyr/app_memory/app_memdomain.h>
#include <zephyr/drivers/timer/system_timer.h>
#include <zephyr/fatal.h>
#include <zephyr/irq.h>
#include <zephyr/version.h>
#include <zephyr/sys/__assert.h>
#include <zephyr/sys/atomic.h>

#include "board.h"
#include "configuration.h"
#include "order.h"

/*
 * The runner is above all other threads. Below is the helper, which does what
 * user threads may not. Equals are cooperative threads: only a yield switches
 * between them. The others are preemptive threads.
 */
enum {
	RUNNER = K_HIGHEST_THREAD_PRIO,
	HELPER,
	EQUAL = K_PRIO_COOP(8),
	SLICED = K_PRIO_PREEMPT(6),
	HIGH = K_PRIO_PREEMPT(7),
	LOW = K_PRIO_PREEMPT(8),
};

/* Longest order in bytes. */
#define ORDER_MAX 512

/* Memory that user threads share. */
#ifdef CONFIG_USERSPACE
K_APPMEM_PARTITION_DEFINE(kernmark_partition);
#define SHARED K_APP_BMEM(kernmark_partition)
#else
#define SHARED
#endif

struct seat {
	void (*body)(struct km_run *r);
	struct km_run *run;
	bool user;
};

static SHARED struct {
	struct seat seat[PORT_THREADS];
	atomic_t left;			/* threads that have not ended */
	volatile uint32_t misplaced;	/* threads in the wrong mode */
	volatile uint32_t switches;	/* on this CPU */
} shared;

static SHARED struct km_memory memory;
SHARED struct port_made port_made;

static struct k_thread threads[PORT_THREADS];
K_THREAD_STACK_ARRAY_DEFINE(stacks, PORT_THREADS, CONFIG_KERNMARK_STACK_SIZE);
struct k_thread port_made_thread;
K_THREAD_STACK_DEFINE(port_made_stack, CONFIG_KERNMARK_STACK_SIZE);
static struct k_thread helper;
K_KERNEL_STACK_DEFINE(helper_stack, CONFIG_KERNMARK_STACK_SIZE);
static struct k_sem ended;	/* given by the last thread that ends, and the helper */
static struct k_sem asked;	/* for the helper */
static k_tid_t runner;
static struct km_run *made_run;
static SHARED void (*made_body)(struct km_run *r);

/*
 * Whether the idle thread may run: another CPU will wake a thread, or the agent
 * is done.
 */
static bool may_idle;

const struct km_bench *const port_tables[] = {
	KM_PORTABLE(KM_LISTED) KM_INTERRUPTS(KM_LISTED) KM_RTOS(KM_LISTED) NULL
};

uint8_t port_store[KM_STORE] __aligned(8);

void port_write(const char *bytes, size_t n)
{
	board_write(bytes, n);
}

static void say(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	board_write(s, n);
}

static void say_number(unsigned long value, unsigned int base)
{
	static const char digits[] = "0123456789abcdef";
	char text[sizeof(value) * CHAR_BIT + 1], *at = text + sizeof(text) - 1;

	*at = '\0';
	do
		*--at = digits[value % base];
	while (value /= base);
	say(at);
}

static void complain(const char *what, const char *about)
{
	say("kernmark-agent: ");
	say(what);
	say(about);
	say("\n");
}

static _Noreturn void die(const char *what)
{
	complain(what, "");
	board_end(1);
}

static unsigned long faulting_address(const struct arch_esf *esf)
{
#if defined(CONFIG_ARM)
	return esf->basic.pc;
#elif defined(CONFIG_RISCV)
	return esf->mepc;
#elif defined(CONFIG_X86_64)
	return esf->rip;
#elif defined(CONFIG_ARM64)
	return esf->elr;
#else
	return 0;
#endif
}

void k_sys_fatal_error_handler(unsigned int reason, const struct arch_esf *esf)
{
	static const char *const names[] = {
		[K_ERR_CPU_EXCEPTION] = "a fault of the processor",
		[K_ERR_SPURIOUS_IRQ] = "an interrupt without a handler",
		[K_ERR_STACK_CHK_FAIL] = "a stack overflow or an overwritten canary",
		[K_ERR_KERNEL_OOPS] = "a kernel oops: a forbidden system call, or "
			"a failed assertion in a user thread",
		[K_ERR_KERNEL_PANIC] = "a kernel panic",
	};

	say("kernmark-agent: ");
	if (reason < ARRAY_SIZE(names)) {
		say(names[reason]);
	} else {
		say("fatal error ");
		say_number(reason, 10);
	}
	if (esf) {
		say(", pc ");
		say_number(faulting_address(esf), 16);
	}
	say("\n");
	board_end(1);
}

#if __ASSERT_ON
/* A user thread cannot use the console, but the handler above can. */
#ifdef CONFIG_ASSERT_NO_FILE_INFO
void assert_post_action(void)
{
	if (k_is_user_context())
		k_oops();
	die("a kernel assertion failed");
}
#else
void assert_post_action(const char *file, unsigned int line)
{
	if (k_is_user_context())
		k_oops();
	say(file);
	say(":");
	say_number(line, 10);
	say(": ");
	die("a kernel assertion failed");
}
#endif
#endif

/* Whether the caller, which is not preempted, runs where the threads run. */
static bool on_cpu(void)
{
#ifdef CONFIG_SMP
	return arch_curr_cpu()->id == PORT_CPU;
#else
	return true;
#endif
}

#ifdef CONFIG_KERNMARK_COUNT
void __real_z_thread_mark_switched_in(void);
void __wrap_z_thread_mark_switched_in(void);

/* The kernel calls this at the end of each context switch. */
void __wrap_z_thread_mark_switched_in(void)
{
	if (!on_cpu())
		return;
#ifdef CONFIG_X86_64
	/* Here also when an interrupt returns to the same thread. */
	static const struct k_thread *last;

	if (last == _current)
		return;
	last = _current;
#endif
	shared.switches++;
	if (IS_ENABLED(CONFIG_TRACING) || IS_ENABLED(CONFIG_SCHED_THREAD_USAGE))
		__real_z_thread_mark_switched_in();
}
#endif

void __real_arch_cpu_idle(void);
void __wrap_arch_cpu_idle(void);

/* Nothing will wake a thread: no benchmark waits for time to pass. */
void __wrap_arch_cpu_idle(void)
{
	if (!may_idle && on_cpu())
		die("all threads are waiting: a wake-up was lost");
	__real_arch_cpu_idle();
}

/*
 * The pools: each(type, the type's name in CONFIG_OBJ_CORE_..., how many). What
 * user threads cannot use is in memory of theirs, where Zephyr's build does not
 * find it: with each object that it finds, the end of a thread takes longer.
 */
#define SEMAPHORES (IS_ENABLED(CONFIG_POLL) ? KM_POLLED : 4)
#define USER_POOLS(each) \
	each(sem, SEM, SEMAPHORES) each(mutex, MUTEX, PORT_OBJECTS) \
	each(condvar, CONDVAR, 1) each(fifo, FIFO, 1) each(lifo, LIFO, 1) \
	each(stack, STACK, 1) each(event, EVENT, 1) each(msgq, MSGQ, 1) \
	each(pipe, PIPE, 1) each(timer, TIMER, 1)
#define KERNEL_POOLS(each) each(mbox, MAILBOX, 1) each(mem_slab, MEM_SLAB, 1)

#define POOL(type, TYPE, n) \
	static struct k_##type type##_pool[n]; \
	static uint32_t type##s_taken; \
	struct k_##type *port_take_##type(void) \
	{ \
		if (type##s_taken == (n)) \
			die("a benchmark needs more objects of type k_" #type); \
		return &type##_pool[type##s_taken++]; \
	}
#define KERNEL_POOL(type, TYPE, n) SHARED POOL(type, TYPE, n)

USER_POOLS(POOL)
KERNEL_POOLS(KERNEL_POOL)

/* Lets a user thread use the objects that were taken. */
static void grant(struct k_thread *to)
{
#define GRANT(type, TYPE, n) \
	for (uint32_t i = 0; i < type##s_taken; i++) \
		k_object_access_grant(&type##_pool[i], to);

	USER_POOLS(GRANT)
	k_object_access_grant(&ended, to);
	k_object_access_grant(&asked, to);
	k_object_access_grant(&port_made_thread, to);
	k_object_access_grant(port_made_stack, to);
}

/* Otherwise the kernel's list of objects would have them twice. */
#define UNLINK(type, TYPE, n) \
	IF_ENABLED(CONFIG_OBJ_CORE_##TYPE, ( \
		for (uint32_t i = 0; i < type##s_taken; i++) \
			k_obj_core_unlink(K_OBJ_CORE(&type##_pool[i])); \
	))

static void return_objects(void)
{
#define RETURN(type, TYPE, n) \
	UNLINK(type, TYPE, n) \
	type##s_taken = 0;

	USER_POOLS(RETURN) KERNEL_POOLS(RETURN)
	may_idle = false;
}

/* Keeps a thread that is not running on one CPU. */
static void pin(struct k_thread *t)
{
	IF_ENABLED(CONFIG_SCHED_CPU_MASK, (k_thread_cpu_pin(t, PORT_CPU);))
	(void)t;
}

/* Whether a thread that has run can run on one CPU only. */
static bool pinned(const struct k_thread *t)
{
#ifdef CONFIG_SCHED_CPU_MASK
	return t->base.cpu_mask == BIT(PORT_CPU);
#else
	(void)t;
	return !IS_ENABLED(CONFIG_SMP);
#endif
}

static int priority(const struct km_role *role)
{
	switch (role->priority) {
	case KM_HIGH:
		return HIGH;
	case KM_EQUAL:
		return EQUAL;
	case KM_SLICED:
		return SLICED;
	default:
		return LOW;
	}
}

static void sit(void *seat, void *unused, void *unused_too)
{
	struct seat *s = seat;

	(void)unused, (void)unused_too;
	if (k_is_user_context() != s->user)
		shared.misplaced++;
	s->body(s->run);
	if (atomic_dec(&shared.left) == 1)
		k_sem_give(&ended);
}

void port_live(void *body, void *run, void *unused)
{
	struct km_run *r = run;

	(void)unused;
	((void (*)(struct km_run *))body)(r);
	if (k_is_user_context() != r->made_user)
		shared.misplaced++;
}

/*
 * The kernel accounts for each thread from its creation on, and for each CPU
 * from the start on. Both can be switched off while it runs.
 */
#ifdef CONFIG_KERNMARK_STATISTICS_OFF
static void stop_statistics(struct k_thread *t)
{
	k_thread_runtime_stats_disable(t);
}

static void stop_all_statistics(void)
{
	stop_statistics(runner);
	stop_statistics(&helper);
	k_sys_runtime_stats_disable();
}
#else
static void stop_statistics(struct k_thread *t)
{
	(void)t;
}

static void stop_all_statistics(void)
{
}
#endif

/* What the kernel says, not what it was asked for. */
static void say_statistics(void)
{
#ifdef CONFIG_SCHED_THREAD_USAGE
	km_info("statistics", runner->base.usage.track_usage ? "on" : "off");
#endif
}

static void make(uint32_t options)
{
	k_thread_create(&port_made_thread, port_made_stack,
			K_THREAD_STACK_SIZEOF(port_made_stack), port_live,
			(void *)made_body, made_run, NULL, HIGH,
			options, K_FOREVER);
	pin(&port_made_thread);
}

/* The switches to the helper and back are not the benchmark's. */
static void help(void *unused, void *unused_too, void *unused_as_well)
{
	(void)unused, (void)unused_too, (void)unused_as_well;
	/* It waits, so it can be pinned. */
	pin(runner);
	k_sem_give(&ended);
	for (;;) {
		k_sem_take(&asked, K_FOREVER);
		if (made_run->made_user) {
			k_thread_priority_set(&port_made_thread, HIGH);
		} else {
			k_thread_abort(&port_made_thread);
			make(0);
		}
		shared.switches -= 2;
	}
}

/* Kernel threads create what they want; see port_run(). */
void port_thread_arm(struct port_thread *t)
{
	made_body = t->body;
	if (k_is_user_context())
		k_sem_give(&asked);
	else
		pin(&port_made_thread);
}

void port_count(struct km_counts *until_now)
{
	until_now->switches = shared.switches;
}

const char *port_run(const struct km_thread *list, uint32_t n,
		     struct km_run *r, struct km_counts *counts)
{
	bool user = list[0].user;

	atomic_set(&shared.left, n);
	shared.misplaced = 0;
	made_run = r;
	port_made.priority = user ? LOW : HIGH;
	port_made.options = user || r->made_user ? K_USER : 0;
	for (uint32_t i = 0; i < n; i++) {
		struct seat *s = &shared.seat[i];

		s->body = list[i].role->body;
		s->run = r;
		s->user = list[i].user;
		k_thread_create(&threads[i], stacks[i],
				K_THREAD_STACK_SIZEOF(stacks[i]), sit, s, NULL,
				NULL, priority(list[i].role),
				s->user ? K_USER : 0, K_FOREVER);
		pin(&threads[i]);
		stop_statistics(&threads[i]);
		k_thread_system_pool_assign(&threads[i]);
		if (s->user)
			grant(&threads[i]);
	}
	for (uint32_t i = 0; i < n; i++)
		k_thread_start(&threads[i]);
	k_sem_take(&ended, K_FOREVER);
	counts->demoted += shared.misplaced;
	for (uint32_t i = 0; i < n; i++) {
		if (k_thread_priority_get(&threads[i]) != priority(list[i].role))
			counts->demoted++;
		counts->strayed += !pinned(&threads[i]);
		k_thread_abort(&threads[i]);
	}
	return_objects();
	return NULL;
}

const char *port_irq_attach(struct port_irq *irq)
{
	irq->count = 0;
	irq->come = port_take_sem();
	k_sem_init(irq->come, 0, K_SEM_MAX_LIMIT);
	return NULL;
}

void port_irq_detach(struct port_irq *irq)
{
	(void)irq;
}

void port_irq_handler(const void *argument)
{
	struct port_irq *irq = (struct port_irq *)argument;

	irq->count++;
	irq->at = port_now();
	k_sem_give(irq->come);
}

#if LINE_EXISTS
static void ignore(struct km_run *r)
{
	(void)r;
}

/* What the interrupt runs. */
static struct {
	void (*body)(struct km_run *r);
	struct km_run *run;
} line = { ignore, NULL };

static void line_handler(const void *unused)
{
	(void)unused;
	line_taken();
	line.body(line.run);
}

static void line_start(void)
{
#if LINE_USER
	SCB->CCR |= SCB_CCR_USERSETMPEND_Msk;
#endif
	IRQ_CONNECT(CONFIG_KERNMARK_LINE, 0, line_handler, NULL, 0);
	irq_enable(CONFIG_KERNMARK_LINE);
}

const char *port_handler_attach(struct port_handler *h,
				void (*body)(struct km_run *r),
				struct km_run *r)
{
	(void)h;
	line.body = body;
	line.run = r;
	return NULL;
}

void port_handler_detach(struct port_handler *h)
{
	port_handler_attach(h, ignore, NULL);
}
#else
static void line_start(void)
{
}
#endif

#ifdef CONFIG_POLL
void port_poll_init(struct port_poll *p, uint32_t count)
{
	p->count = count;
	for (uint32_t i = 0; i < count; i++) {
		struct k_sem *semaphore = port_take_sem();

		k_sem_init(semaphore, 0, 1);
		k_poll_event_init(&p->event[i], K_POLL_TYPE_SEM_AVAILABLE,
				  K_POLL_MODE_NOTIFY_ONLY, semaphore);
	}
}

uint32_t port_poll_take(struct port_poll *p)
{
	uint32_t found = KM_POLLED;

	for (uint32_t i = 0; i < p->count; i++) {
		struct k_poll_event *e = &p->event[i];

		if (e->state == K_POLL_STATE_SEM_AVAILABLE &&
		    !k_sem_take(e->sem, K_NO_WAIT))
			found = i;
		e->state = K_POLL_STATE_NOT_READY;
	}
	return found;
}
#endif

#if PORT_TICKS
void port_tick_handler(const void *unused)
{
	(void)unused;
	sys_clock_announce(1);
}
#endif

#if PORT_IPIS
struct k_ipi_work port_ipi_work;

void port_ipi_init(struct port_ipi *i, k_ipi_func_t body)
{
	i->body = body;
	may_idle = true;
}
#endif

/* Why the kernel, as configured, cannot run this; or NULL. */
static const char *configured_without(const struct km_bench *b)
{
	if (b->needs & PORT_WITHOUT & KM_HANDLER)
		return "no known line for interrupts is free; on a Cortex-M, "
		       "name one with CONFIG_KERNMARK_LINE";
	if (b->needs & PORT_WITHOUT & KM_POLL)
		return "this configuration has no k_poll; use the variant poll";
	if (b->needs & PORT_WITHOUT & KM_TICK)
		return IS_ENABLED(CONFIG_KERNMARK_ICOUNT) ?
		       "this configuration is tickless; use the variant tick" :
		       "the tick of this board cannot be stopped";
	if (b->needs & PORT_WITHOUT & KM_WORK)
		return "any CPU may run the thread of the system's work queue";
	if (b->needs & PORT_WITHOUT & KM_IPI)
		return "one CPU: needs CONFIG_SMP on a board with two CPUs";
	if (b->needs & KM_WORK && CONFIG_SYSTEM_WORKQUEUE_PRIORITY >= HIGH)
		return "the system's work queue is not above the benchmark: "
		       "CONFIG_SYSTEM_WORKQUEUE_PRIORITY";
	return NULL;
}

/* Groups of calls that are not system calls. */
static const struct {
	uint32_t needs;
	const char *why;
} privileged[] = {
	{ KM_IRQ_LOCK, "privileged only: irq_lock is not a system call" },
	{ KM_IPI, "privileged only: k_ipi_work_add and k_ipi_work_signal are "
		  "not system calls" },
	{ KM_MAILBOX, "privileged only: k_mbox_put and k_mbox_get are not "
		      "system calls" },
	{ KM_WORK, "privileged only: k_work_submit is not a system call" },
	{ KM_SLAB, "privileged only: k_mem_slab_alloc and k_mem_slab_free are "
		   "not system calls" },
	{ KM_PRIVATE_HEAP, "privileged only: k_heap_alloc and k_heap_free are "
			   "not system calls" },
};

/*
 * With -icount, QEMU's clock counts the instructions of all CPUs together, and
 * a CPU runs until it waits or its turn is over. Only then does the next run.
 */
static const char *lacks_time(const struct km_span *s)
{
	return s->remote && IS_ENABLED(CONFIG_KERNMARK_ICOUNT) ?
	       "boards only: an emulator runs one CPU after the other" : NULL;
}

const char *port_lacks(const struct km_bench *b, uint32_t user)
{
	/* The role that puts, or raises: the last one. */
	uint32_t last = b->role[1].body ? 1 : 0;
	bool active = user & 1u << last;
	const char *why = configured_without(b);

	if (why)
		return why;
	if (user && !IS_ENABLED(CONFIG_KERNMARK_ICOUNT))
		return "privileged only: a user thread cannot read this "
		       "board's clock";
	if (lacks_time(&b->span[0]))
		return lacks_time(&b->span[0]);
	if (active && (b->needs & KM_IRQ || b->role[last].flags & KM_TICKS))
		return "privileged only: irq_offload is not a system call";
	if (user && b->needs & KM_HANDLER && !(b->needs & KM_IRQ) && !LINE_USER)
		return "privileged only: a user thread cannot raise the "
		       "interrupt";
	for (uint32_t i = 0; user && i < ARRAY_SIZE(privileged); i++)
		if (b->needs & privileged[i].needs)
			return privileged[i].why;
	if (user && b->needs & KM_HEAP && !(b->needs & KM_QUEUE))
		return "privileged only: k_malloc is not a system call";
	if (active && b->needs & KM_QUEUE && !(b->needs & KM_HEAP))
		return "privileged only: k_fifo_put and k_lifo_put are not "
		       "system calls";
	return NULL;
}

const char *port_lacks_span(const struct km_bench *b, uint32_t user,
			    uint32_t span)
{
	const struct km_span *s = &b->span[span];
	bool creates = b->role[1].flags & KM_MADE && s->begin == 0 && s->end == 1;

	/* In the other spans of this case, the helper creates the thread. */
	if (creates && user == 1 && !(b->needs & KM_ABORT))
		return "privileged only: a user thread cannot create a kernel "
		       "thread";
	return lacks_time(s);
}

void port_rest(void)
{
}

/*
 * The interrupt of a timer that sys_clock_disable() does not stop. The timing
 * functions may read the timer of the tick, so it stays on if they are used.
 */
#if !defined(CONFIG_KERNMARK_ICOUNT)
#elif defined(CONFIG_RISCV_MACHINE_TIMER)
#define TICK_IRQ DT_IRQN(DT_INST(0, riscv_machine_timer))
#elif defined(CONFIG_ARM_ARCH_TIMER)
#define TICK_IRQ ARM_ARCH_TIMER_IRQ
#elif defined(CONFIG_HPET_TIMER)
#define TICK_IRQ DT_IRQN(DT_INST(0, intel_hpet))
#endif

/* Stops the tick if it can be stopped. Says whether it was. */
static const char *stop_tick(void)
{
#if defined(CONFIG_KERNMARK_ICOUNT) && defined(CONFIG_CORTEX_M_SYSTICK)
	/* It must count: the kernel asks it how much time has passed. */
	SysTick->CTRL &= ~SysTick_CTRL_TICKINT_Msk;
	return "off";
#elif defined(CONFIG_KERNMARK_ICOUNT) && defined(CONFIG_SYSTEM_TIMER_HAS_DISABLE_SUPPORT)
	sys_clock_disable();
	return "off";
#elif defined(TICK_IRQ)
	irq_disable(TICK_IRQ);
	return "off";
#else
	return STRINGIFY(CONFIG_SYS_CLOCK_TICKS_PER_SEC) " a second at most";
#endif
}

/* The other CPUs have interrupts of their own for the timer. */
#if PORT_WITHOUT & KM_IPI
static void stop_ticks_elsewhere(void)
{
}
#else
static void stop_tick_here(struct k_ipi_work *sent)
{
	(void)sent;
	stop_tick();
}

static void stop_ticks_elsewhere(void)
{
	k_ipi_work_init(&port_ipi_work);
	may_idle = true;
	k_ipi_work_add(&port_ipi_work, BIT_MASK(CONFIG_MP_MAX_NUM_CPUS),
		       stop_tick_here);
	k_ipi_work_signal();
	k_ipi_work_wait(&port_ipi_work, K_FOREVER);
	may_idle = false;
}
#endif

/* What the kernel was compiled with may not be what CONFIG_ASSERT says. */
#if __ASSERT_ON
#define ASSERTS "on"
#elif defined(CONFIG_ASSERT)
#define ASSERTS "off: CONFIG_FORCE_NO_ASSERT overrides CONFIG_ASSERT"
#else
#define ASSERTS "off"
#endif

static void session(const struct order *o, const char *tick)
{
	km_hello(&(struct km_hello){
		.port = "zephyr",
		.arch = CONFIG_ARCH,
		.mode = o->list ? "list" : "run",
		.clock = PORT_CLOCK,
		.unit = CLOCK_UNIT,
		.hz = CLOCK_HZ,
		.realtime = true,
	});
	km_info("kernel", "Zephyr " KERNEL_VERSION_STRING);
	km_info("board", PORT_BOARD);
	km_info("compiler", PORT_COMPILER);
	km_info("configuration", PORT_CONFIGURATION);
	km_info("asserts", ASSERTS);
	km_info("tick", tick);
	say_statistics();
	km_info("instrumentation", IS_ENABLED(CONFIG_KERNMARK_COUNT) ?
		"each context switch increments a counter" : "none");
	if (o->list)
		km_catalog();
	else
		km_measure(NULL, &memory, &o->options);
	km_bye();
}

int main(void)
{
	static char text[ORDER_MAX];
	struct order order;
	const char *wrong, *tick = stop_tick();

	clock_start();
	line_start();
#ifdef CONFIG_USERSPACE
	k_mem_domain_add_partition(&k_mem_domain_default, &kernmark_partition);
#endif
	k_sem_init(&ended, 0, 1);
	k_sem_init(&asked, 0, 1);
	runner = k_current_get();
	k_thread_create(&helper, helper_stack, K_KERNEL_STACK_SIZEOF(helper_stack),
			help, NULL, NULL, NULL, HELPER, 0, K_FOREVER);
	pin(&helper);
	k_thread_start(&helper);
	k_sem_take(&ended, K_FOREVER);
	stop_all_statistics();
	stop_ticks_elsewhere();
	do {
		if (IS_ENABLED(CONFIG_KERNMARK_ORDERS) &&
		    !board_order(text, sizeof(text)))
			die("the order is too long");
		wrong = order_read(&order, text, CLOCK_HZ);
		if (!wrong) {
			session(&order, tick);
			continue;
		}
		complain("wrong order: ", wrong);
		if (IS_ENABLED(CONFIG_KERNMARK_EMULATOR))
			board_end(1);
	} while (IS_ENABLED(CONFIG_KERNMARK_ORDERS) &&
		 !IS_ENABLED(CONFIG_KERNMARK_EMULATOR));
	if (IS_ENABLED(CONFIG_KERNMARK_EMULATOR))
		board_end(0);
	may_idle = true;
	return 0;
}
