// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kernmark.h"

#include "configuration.h"
#include "machine.h"
#include "order.h"

/* The runner is above all other tasks; the kernel's idle task is below. */
enum { LOW = 1, HIGH, RUNNER };

/*
 * Stack sizes in words. A user task's stack is an MPU region: a power of two.
 */
#define STACK_WORDS 160
#define STACK_WORDS_USER 256
#define STACK_WORDS_RUNNER 768
/* Longest order in bytes. */
#define ORDER_MAX 512

uint8_t ucHeap[configTOTAL_HEAP_SIZE] __attribute__((section(".bss.heap"), aligned(8)));

volatile uint32_t port_switches;

struct seat {
	void (*body)(struct km_run *r);
	struct km_run *run;
	TaskHandle_t task;
	bool user;
};

/* A kernel object of the part, by the call that deletes it. */
struct object {
	void *handle;
	enum kind { QUEUE, GROUP, STREAM, KEPT } kind;
};

static struct {
	struct seat seat[PORT_THREADS];
	volatile uint32_t left;		/* threads that have not ended */
	volatile uint32_t misplaced;	/* threads in the wrong mode */
	SemaphoreHandle_t ended;	/* given by the last of them */
	struct object object[PORT_OBJECTS + 4];
	uint32_t objects;
	bool full;			/* an object could not be created */
	struct port_irq *irq;
	SemaphoreHandle_t idled;	/* the awaited idle task gives it */
	volatile bool await_idle;
} port;

const struct km_bench *const port_tables[] = {
	KM_PORTABLE(KM_LISTED) KM_INTERRUPTS(KM_LISTED) KM_RTOS(KM_LISTED) NULL
};

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

_Noreturn void port_fault(const char *names, const uint32_t words[3])
{
	static const char digits[] = "0123456789abcdef";

	say("fault: ");
	say(names);
	for (uint32_t i = 0; i < 3; i++) {
		say(" ");
		for (uint32_t shift = 32; shift;)
			board_write(&digits[words[i] >> (shift -= 4) & 0xf], 1);
	}
	say("\n");
	board_end(1);
}

#ifdef CONFIG_ASSERTS
void port_assert_failed(const char *file, int line)
{
	char text[11], *at = text + sizeof(text) - 1;

	*at = '\0';
	for (*--at = '0'; line; line /= 10)
		*at-- = (char)('0' + line % 10);
	say(file);
	say(":");
	say(at + !*at);
	die(": a kernel assertion failed");
}
#endif

#if configCHECK_FOR_STACK_OVERFLOW
void vApplicationStackOverflowHook(TaskHandle_t task, char *name)
{
	(void)task, (void)name;
	die("the kernel found a stack overflow");
}
#endif

#ifdef __SSP_ALL__
#define CANARIES
#elif defined(__SSP_STRONG__)
#define CANARIES
#endif

#ifdef CANARIES
/* Constant, so that user tasks can read it too. */
const uintptr_t __stack_chk_guard = 0x5f0aa0ff;

_Noreturn void __stack_chk_fail(void);

_Noreturn void __stack_chk_fail(void)
{
	die("a stack canary was overwritten");
}
#endif

static void keep(void *handle, enum kind kind)
{
	if (!handle || port.objects == sizeof(port.object) / sizeof(*port.object))
		port.full = true;
	else
		port.object[port.objects++] = (struct object){ handle, kind };
}

QueueHandle_t port_keep_queue(QueueHandle_t queue)
{
	keep(queue, QUEUE);
	return queue;
}

EventGroupHandle_t port_keep_group(EventGroupHandle_t group)
{
	keep(group, GROUP);
	return group;
}

StreamBufferHandle_t port_keep_stream(StreamBufferHandle_t stream)
{
	keep(stream, STREAM);
	return stream;
}

static void delete_objects(void)
{
	while (port.objects) {
		const struct object *o = &port.object[--port.objects];

		switch (o->kind) {
		case QUEUE:
			vQueueDelete(o->handle);
			break;
		case GROUP:
			vEventGroupDelete(o->handle);
			break;
		case STREAM:
			vStreamBufferDelete(o->handle);
			break;
		case KEPT:
			break;
		}
	}
	port.full = false;
}

static UBaseType_t priority(const struct km_role *role)
{
	return role->priority == KM_HIGH ? HIGH : LOW;
}

#ifdef CONFIG_MPU
/*
 * Memory that user tasks share (see arm.lds), and the stacks. The last stack is
 * for the thread that a benchmark creates.
 */
extern uint32_t shared_start[], shared_end[];
static StackType_t stacks[PORT_THREADS + 1][STACK_WORDS_USER]
	__attribute__((section(".stacks"), aligned(STACK_WORDS_USER * 4)));

/* Creates a user task that may use the part's objects. NULL: out of memory. */
static TaskHandle_t make_user_task(void (*body)(void *), void *argument,
				   UBaseType_t level, StackType_t *stack)
{
	TaskParameters_t p = {
		.pvTaskCode = body,
		.pcName = "user",
		.usStackDepth = STACK_WORDS_USER,
		.pvParameters = argument,
		.uxPriority = level,
		.puxStackBuffer = stack,
		.xRegions = { {
			.pvBaseAddress = shared_start,
			.ulLengthInBytes = (uint32_t)shared_end - (uint32_t)shared_start,
			.ulParameters = portMPU_REGION_READ_WRITE |
				portMPU_REGION_EXECUTE_NEVER |
				portMPU_REGION_CACHEABLE_BUFFERABLE,
		} },
	};
	TaskHandle_t task;

	if (xTaskCreateRestricted(&p, &task) != pdPASS)
		return NULL;
	for (uint32_t i = 0; i < port.objects; i++)
		vGrantAccessToKernelObject(task, (int32_t)port.object[i].handle);
	return task;
}

/* Lets every user task of the part notify every task. */
static void introduce(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; port.seat[i].user && k < n; k++)
			vGrantAccessToKernelObject(port.seat[i].task,
						   (int32_t)port.seat[k].task);
}

#define STACK_OF(i) stacks[i]
#else
/*
 * Without the MPU there are no user threads, so the runner never asks for one.
 */
static TaskHandle_t make_user_task(void (*body)(void *), void *argument,
				   UBaseType_t level, StackType_t *stack)
{
	(void)body, (void)argument, (void)level, (void)stack;
	return NULL;
}

static void introduce(uint32_t n)
{
	(void)n;
}

#define STACK_OF(i) NULL
#endif

/* Creates a privileged task. NULL: out of memory. */
static TaskHandle_t make_kernel_task(void (*body)(void *), void *argument,
				     UBaseType_t level)
{
	TaskHandle_t task;

	return xTaskCreate(body, "kern", STACK_WORDS, argument,
			   level | portPRIVILEGE_BIT, &task) == pdPASS ?
	       task : NULL;
}

static void sit(void *argument)
{
	struct seat *s = argument;

	port.misplaced += board_user() != s->user;
	s->body(s->run);
	/* No interrupt can wake another thread in between. */
	if (!--port.left)
		xSemaphoreGive(port.ended);
	vTaskSuspend(NULL);
}

static const char *run_seats(const struct km_thread *threads, uint32_t n,
			     struct km_run *r)
{
	port.ended = port_keep_queue(xSemaphoreCreateBinary());
	port.idled = port_keep_queue(xSemaphoreCreateBinary());
	if (port.full)
		return "the kernel's heap has no room for the objects";
	port.left = n;
	for (uint32_t i = 0; i < n; i++) {
		struct seat *s = &port.seat[i];
		UBaseType_t level = priority(threads[i].role);

		s->body = threads[i].role->body;
		s->run = r;
		s->user = threads[i].user;
		s->task = threads[i].user ?
			  make_user_task(sit, s, level, STACK_OF(i)) :
			  make_kernel_task(sit, s, level);
		if (!s->task)
			return "the kernel's heap has no room for the threads";
	}
	introduce(n);
	xSemaphoreTake(port.ended, portMAX_DELAY);
	return NULL;
}

void port_count(struct km_counts *until_now)
{
	until_now->switches = port_switches;
}

const char *port_run(const struct km_thread *threads, uint32_t n,
		     struct km_run *r, struct km_counts *counts)
{
	const char *wrong;

	port.misplaced = 0;
	for (uint32_t i = 0; i < n; i++)
		port.seat[i].task = NULL;
	wrong = run_seats(threads, n, r);
	counts->demoted += port.misplaced;
	/* They have suspended themselves, or have not started. */
	for (uint32_t i = 0; i < n; i++) {
		TaskHandle_t task = port.seat[i].task;

		if (!task)
			continue;
		if (uxTaskPriorityGet(task) != priority(threads[i].role))
			counts->demoted++;
		vTaskDelete(task);
	}
	delete_objects();
	return wrong;
}

static void live(void *argument)
{
	struct port_thread *t = argument;

	t->body(t->run);
	vTaskDelete(NULL);
}

/* A user task cannot delete itself, only stop. */
static void live_as_user(void *argument)
{
	struct port_thread *t = argument;

	t->body(t->run);
	port.misplaced += !board_user();
	vTaskSuspend(NULL);
}

int port_thread_create(struct port_thread *t, void (*body)(struct km_run *r),
		       struct km_run *r)
{
	t->body = body;
	t->run = r;
	t->task = r->made_user ?
		  make_user_task(live_as_user, t, tskIDLE_PRIORITY,
				 STACK_OF(PORT_THREADS)) :
		  make_kernel_task(live, t, tskIDLE_PRIORITY);
	return !t->task;
}

int port_thread_start(struct port_thread *t)
{
	vTaskPrioritySet(t->task, HIGH);
	return 0;
}

/* The idle task frees what a task leaves behind that deleted itself. */
void port_thread_reap(struct port_thread *t)
{
	uint32_t before = port_switches;

	if (t->run->made_user) {
		vTaskDelete(t->task);
		return;
	}
	port.await_idle = true;
	xSemaphoreTake(port.idled, portMAX_DELAY);
	/* The switches to the idle task and back are not the benchmark's. */
	port_switches = before;
}

void vApplicationIdleHook(void);

/*
 * The idle task runs when it is awaited, or when nothing will ever run again.
 */
void vApplicationIdleHook(void)
{
	if (!port.await_idle)
		die("all threads are waiting: a wake-up was lost");
	port.await_idle = false;
	xSemaphoreGive(port.idled);
}

static void ignore(struct km_run *r)
{
	(void)r;
}

/* What the interrupt runs. */
static struct port_handler handler = { ignore, NULL };

void port_irq_handler(void)
{
	handler.body(handler.run);
}

const char *port_handler_attach(struct port_handler *h,
				void (*body)(struct km_run *r),
				struct km_run *r)
{
	(void)h;
	handler = (struct port_handler){ body, r };
	return NULL;
}

void port_handler_detach(struct port_handler *h)
{
	port_handler_attach(h, ignore, NULL);
}

static void give_from_irq(struct km_run *r)
{
	struct port_irq *irq = port.irq;
	BaseType_t woken = pdFALSE;

	(void)r;
	irq->count++;
	irq->at = port_now();
	xSemaphoreGiveFromISR(irq->come, &woken);
	portYIELD_FROM_ISR(woken);
}

const char *port_irq_attach(struct port_irq *irq)
{
	irq->count = 0;
	irq->come = port_keep_queue(xSemaphoreCreateBinary());
	port.irq = irq;
	return port_handler_attach(NULL, give_from_irq, NULL);
}

void port_irq_detach(struct port_irq *irq)
{
	(void)irq;
	port_handler_detach(NULL);
}

#if configUSE_QUEUE_SETS
void port_poll_init(struct port_poll *p, uint32_t count)
{
	p->set = port_keep_queue(xQueueCreateSet(count));
	for (uint32_t i = 0; i < count; i++) {
		p->semaphore[i] = port_keep_queue(xSemaphoreCreateBinary());
		if (!port.full)
			xQueueAddToSet(p->semaphore[i], p->set);
	}
}

uint32_t port_poll_take(struct port_poll *p)
{
	uint32_t i = 0;

	while (i < KM_POLLED && p->semaphore[i] != p->found)
		i++;
	if (i < KM_POLLED)
		xSemaphoreTake(p->semaphore[i], 0);
	return i;
}
#endif

#if configUSE_TIMERS
/*
 * The kernel with the MPU never reuses the place of a deleted timer, so all
 * parts use the same one. That works because only one benchmark file has one.
 */
void port_timer_init(struct port_timer *t, void (*expired)(PORT_TIMER_TAKES))
{
	static TimerHandle_t only;
	static void (*calls)(PORT_TIMER_TAKES);

	if (!only) {
		only = xTimerCreate("km", 1, pdFALSE, NULL, expired);
		calls = expired;
	}
	if (calls != expired)
		die("a second function for the timer");
	keep(only, KEPT);
	t->handle = only;
	if (only)
		xTimerStop(only, portMAX_DELAY);
}
#endif

const char *port_lacks(const struct km_bench *b, uint32_t user)
{
	if (b->needs & PORT_WITHOUT & KM_POLL)
		return "this configuration has no queue sets; use the variant "
		       "queuesets";
	if (b->needs & PORT_WITHOUT)
		return "this configuration has no timer task; use the variant "
		       "timers";
	for (uint32_t i = 0; i < KM_ROLES && b->role[i].body; i++) {
		const struct km_role *role = &b->role[i];

		if (role->priority == KM_SLICED && !configUSE_TIME_SLICING)
			return "this configuration has no time slicing; use "
			       "the variant timeslicing";
		if (role->flags & KM_MADE && user & ~(1u << i))
			return "privileged only: a user task cannot create tasks";
		if (role->flags & KM_ENDS && user & 1u << i)
			return "privileged only: a user task cannot delete itself";
		if (role->flags & KM_TICKS && user & 1u << i)
			return "privileged only: a user task cannot request the tick";
	}
	if (user && b->needs & KM_IRQ_LOCK)
		return "privileged only: a user task cannot lock interrupts";
	if (user && b->needs & KM_HEAP)
		return "privileged only: a user task cannot use the kernel's heap";
	if (user && b->needs & KM_WORK)
		return "privileged only: a user task cannot pend a function";
	return NULL;
}

void port_rest(void)
{
}

static void session(const struct order *o)
{
	static struct km_memory memory;

	km_hello(&(struct km_hello){
		.port = "freertos",
		.arch = BOARD_ARCH,
		.mode = o->list ? "list" : "run",
		.clock = BOARD_CLOCK,
		.unit = board_emulated() ? "instructions" : "cycles",
		.hz = board_emulated() ? 0 : BOARD_HZ,
		.realtime = true,
	});
	km_info("kernel", "FreeRTOS " tskKERNEL_VERSION_NUMBER);
	km_info("kernel_port", PORT_KERNEL_PORT);
	km_info("compiler", PORT_COMPILER);
	km_info("flags", PORT_FLAGS);
	km_info("configuration", PORT_CONFIGURATION);
	km_info("tick", "off");
	km_info("instrumentation", "each context switch increments a counter");
	if (o->list)
		km_catalog();
	else
		km_measure(NULL, &memory, &o->options);
	km_bye();
}

static void run_orders(void *argument)
{
	static char text[ORDER_MAX];
	const char *wrong;
	struct order order;

	(void)argument;
	do {
		if (!board_order(text, sizeof(text)))
			die("the order is too long");
		wrong = order_read(&order, text, board_emulated() ? 0 : BOARD_HZ);
		if (!wrong) {
			session(&order);
			continue;
		}
		complain("wrong order: ", wrong);
		if (board_emulated())
			board_end(1);
	} while (!board_emulated());
	board_end(0);
}

int main(void)
{
	board_start();
	if (xTaskCreate(run_orders, "run", STACK_WORDS_RUNNER, NULL,
			RUNNER | portPRIVILEGE_BIT, NULL) != pdPASS)
		die("the kernel's heap has no room for the runner");
	vTaskStartScheduler();
	die("the kernel did not start");
}
