// SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only
/*
 * The kernel side: a device that runs a benchmark's kernel threads, performs
 * operations for its user threads, and shares the benchmarks' variables. Only
 * one process can open it at a time. When that process ends, for whatever
 * reason, the kernel threads end too. The module changes no setting.
 */
#include <linux/cpu.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/vmalloc.h>

#ifdef CONFIG_X86
#include <asm/tsc.h>
#endif

#include "call.h"
#include "shared.h"

/* Size in bytes of the largest object that an operation works on. */
#define OBJECT_MAX 256

struct seat {
	struct call_role part;		/* the role of a kernel thread */
	struct task_struct *task;
	bool kernel;
	bool entered;
};

static struct {
	unsigned long opened;
	struct seat seat[PORT_THREADS];
	uint32_t threads;
	atomic_t entered, left;
	enum { PART_GATHERS, PART_RUNS, PART_ABANDONED } part;
	wait_queue_head_t changed;	/* entered or left changed */
	const struct km_bench *set_up;	/* and not yet torn down */
} port = { .changed = __WAIT_QUEUE_HEAD_INITIALIZER(port.changed) };

void port_sem_init(struct port_sem *s, unsigned int count)
{
	BUILD_BUG_ON(sizeof(struct semaphore) > sizeof(s->room));
	sema_init(kernel_sem(s), count);
}

void port_mutex_init(struct port_mutex *m, enum port_mutex_kind kind)
{
	BUILD_BUG_ON(sizeof(struct mutex) > sizeof(m->room));
	BUILD_BUG_ON(sizeof(struct rt_mutex) > sizeof(m->room));
	m->inherits = kind == PORT_INHERIT;
	if (m->inherits) {
		rt_mutex_init(kernel_rt_mutex(m));
		kernel_own_class(kernel_rt_mutex(m));
	} else {
		mutex_init(kernel_mutex(m));
		kernel_own_class(kernel_mutex(m));
	}
}

void port_cond_init(struct port_cond *c)
{
	BUILD_BUG_ON(sizeof(struct kernel_waiters) > sizeof(c->room));
	kernel_waiters_init(kernel_cond(c));
}

void port_queue_init(struct port_queue *q, enum port_queue_order order)
{
	BUILD_BUG_ON(sizeof(struct kernel_queue) > sizeof(q->room));
	BUILD_BUG_ON(offsetof(struct port_item, room));
	kernel_waiters_init(&kernel_queue(q)->waiters);
	spin_lock_init(&kernel_queue(q)->lock);
	INIT_LIST_HEAD(&kernel_queue(q)->items);
}

void port_stack_init(struct port_stack *s, uintptr_t *word, uint32_t size)
{
	BUILD_BUG_ON(sizeof(struct kernel_stack) > sizeof(s->room));
	kernel_waiters_init(&kernel_stack(s)->waiters);
	spin_lock_init(&kernel_stack(s)->lock);
	kernel_stack(s)->word = word;
	kernel_stack(s)->used = 0;
}

void port_events_init(struct port_events *e)
{
	BUILD_BUG_ON(sizeof(struct kernel_events) > sizeof(e->room));
	kernel_waiters_init(&kernel_events(e)->waiters);
	atomic_set(&kernel_events(e)->bits, 0);
}

static struct port_irq *of_kernel_irq(struct kernel_irq *k)
{
	return container_of((void *)k, struct port_irq, room);
}

static void interrupt(struct kernel_irq *k)
{
	struct port_irq *irq = of_kernel_irq(k);

	irq->count++;
	irq->at = port_now();
	complete(&k->come);
}

static void on_irq_work(struct irq_work *work)
{
	interrupt(container_of(work, struct kernel_irq, work));
}

static enum hrtimer_restart on_timer(struct hrtimer *timer)
{
	interrupt(container_of(timer, struct kernel_irq, timer));
	return HRTIMER_NORESTART;
}

const char *port_irq_attach(struct port_irq *irq)
{
	struct kernel_irq *k = kernel_irq(irq);

	BUILD_BUG_ON(sizeof(struct kernel_irq) > sizeof(irq->room));
	BUILD_BUG_ON(sizeof(struct port_irq) > OBJECT_MAX);
	irq->count = irq->taken = 0;
	k->work = IRQ_WORK_INIT_HARD(on_irq_work);
	kernel_timer_init(&k->timer, on_timer);
	init_completion(&k->come);
	return NULL;
}

void port_irq_detach(struct port_irq *irq)
{
	irq_work_sync(&kernel_irq(irq)->work);
	hrtimer_cancel(&kernel_irq(irq)->timer);
}

void kernel_irq_arm(struct port_irq *irq)
{
	kernel_timer_start(&kernel_irq(irq)->timer);
}

static void run_handler(struct irq_work *work)
{
	struct kernel_handler *k = container_of(work, struct kernel_handler, work);

	k->body(k->run);
}

const char *port_handler_attach(struct port_handler *h,
				void (*body)(struct km_run *r),
				struct km_run *r)
{
	struct kernel_handler *k = kernel_handler(h);

	BUILD_BUG_ON(sizeof(struct kernel_handler) > sizeof(h->room));
	k->work = IRQ_WORK_INIT_HARD(run_handler);
	k->body = body;
	k->run = r;
	return NULL;
}

void port_handler_detach(struct port_handler *h)
{
	irq_work_sync(&kernel_handler(h)->work);
}

/* Context switches of all threads that have taken a seat. */
static uint32_t switches(void)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < port.threads; i++) {
		const struct task_struct *task = port.seat[i].task;

		if (READ_ONCE(port.seat[i].entered))
			sum += (uint32_t)(task->nvcsw + task->nivcsw);
	}
	return sum;
}

void port_count(struct km_counts *until_now)
{
	until_now->switches = switches();
}

/*
 * Takes a seat. Returns 0 when the part runs, or an error if this thread shall
 * not.
 */
static int enter(struct seat *s)
{
	int wrong = 0;

	s->task = get_task_struct(current);
	WRITE_ONCE(s->entered, true);
	atomic_inc(&port.entered);
	wake_up(&port.changed);
	for (;;) {
		set_current_state(TASK_KILLABLE);
		if (READ_ONCE(port.part)) {
			wrong = port.part == PART_RUNS ? 0 : -ECANCELED;
			break;
		}
		if (fatal_signal_pending(current)) {
			wrong = -EINTR;
			break;
		}
		schedule();
	}
	__set_current_state(TASK_RUNNING);
	return wrong;
}

static void leave(void)
{
	if (atomic_dec_and_test(&port.left))
		wake_up(&port.changed);
}

static const struct km_bench *bench(struct call_role which)
{
	return &port_tables[which.table][which.entry];
}

static int sit(void *argument)
{
	struct seat *s = argument;
	struct call_seat *found = &port_shared.seat[s->part.seat];

	allow_signal(SIGKILL);
	if (!enter(s)) {
		bench(s->part)->role[s->part.role].body(&port_shared.kernel);
		found->cpu = raw_smp_processor_id();
		leave();
	}
	/* The other side inspects the thread before it ends. */
	for (;;) {
		set_current_state(TASK_KILLABLE);
		if (kthread_should_stop() || fatal_signal_pending(current))
			break;
		schedule();
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

static long make_kernel_thread(struct call_role which)
{
	struct seat *s = &port.seat[which.seat];
	struct task_struct *task;

	if (which.seat >= port.threads || s->kernel || s->entered ||
	    which.role >= KM_ROLES)
		return -EINVAL;
	s->part = which;
	task = kthread_run(sit, s, "kernmark/%u", which.seat);
	if (IS_ERR(task))
		return PTR_ERR(task);
	s->kernel = true;
	if (wait_event_killable(port.changed, READ_ONCE(s->entered)))
		return -EINTR;
	return task_pid_vnr(task);
}

/* With kill, threads that block in their body end too. */
static void end_threads(bool kill)
{
	for (uint32_t i = 0; i < port.threads; i++) {
		struct seat *s = &port.seat[i];

		if (s->kernel) {
			wait_event(port.changed, READ_ONCE(s->entered));
			if (kill)
				send_sig(SIGKILL, s->task, 1);
			kthread_stop(s->task);
		}
		if (s->entered)
			put_task_struct(s->task);
	}
	port.threads = 0;
}

void kernel_failed(const char *why)
{
	if (!port_shared.wrong[0])
		strscpy(port_shared.wrong, why, sizeof(port_shared.wrong));
}

void user_only(struct km_run *r)
{
	kernel_failed("this benchmark runs in user mode only");
}

/* Sets up the part as the kernel's threads see it. */
static void view(void)
{
	port_shared.kernel = port_shared.memory.run;
	port_shared.kernel.row = port_shared.memory.stamp;
}

static long setup(const struct km_bench *b)
{
	const char *wrong;

	view();
	wrong = b->setup ? b->setup(&port_shared.kernel) : NULL;
	if (!wrong) {
		port.set_up = b;
		return 0;
	}
	strscpy(port_shared.wrong, wrong, sizeof(port_shared.wrong));
	return -ENOMEM;
}

static long teardown(const struct km_bench *b)
{
	if (b->teardown)
		b->teardown(&port_shared.kernel);
	port.set_up = NULL;
	return 0;
}

static long begin(uint64_t threads)
{
	if (port.threads || !threads || threads > PORT_THREADS)
		return -EINVAL;
	memset(port.seat, 0, sizeof(port.seat));
	memset(port_shared.seat, 0, sizeof(port_shared.seat));
	view();
	port.threads = (uint32_t)threads;
	atomic_set(&port.entered, 0);
	atomic_set(&port.left, (int)threads);
	port.part = PART_GATHERS;
	port_shared.wrong[0] = '\0';
	return 0;
}

/* Lets threads continue that have entered, or will enter later. */
static void let_go(int part)
{
	smp_store_mb(port.part, part);
	for (uint32_t i = 0; i < port.threads; i++)
		if (READ_ONCE(port.seat[i].entered))
			wake_up_process(port.seat[i].task);
}

/*
 * The caller has a higher priority than all of them, so none runs before it
 * blocks.
 */
static long run(void)
{
	long wrong;

	wrong = wait_event_killable(port.changed,
				    atomic_read(&port.entered) == port.threads);
	if (wrong)
		return wrong;
	/* No CPU goes offline while the threads use it. */
	cpus_read_lock();
	let_go(PART_RUNS);
	wrong = wait_event_killable(port.changed, !atomic_read(&port.left));
	cpus_read_unlock();
	return wrong;
}

/*
 * Returns the object at this offset in the shared section, and never beyond it.
 */
static void *object(uint32_t distance)
{
	uint32_t last = port_shared_end - port_shared_start - OBJECT_MAX;

	return port_shared_start + min(distance, last);
}

static long take_item(struct port_queue *q)
{
	struct port_item *item = kernel_queue_get(q);

	return item ? (char *)item - port_shared_start : -EINTR;
}

static long pop(struct port_stack *s)
{
	uintptr_t word;
	int wrong = kernel_stack_pop(s, &word);

	return wrong ? wrong : (long)word;
}

static long wait_events(struct port_events *e, uint32_t bits)
{
	uint32_t come;
	int wrong = kernel_events_wait(e, bits, &come);

	return wrong ? wrong : (long)come;
}

static long wait_irq(struct port_irq *irq)
{
	uint32_t come;
	int wrong = kernel_irq_wait(irq, &come);

	return wrong ? wrong : (long)come;
}

static struct call_role role_of(uint32_t packed)
{
	return (struct call_role){
		.seat = packed & 0xff, .table = packed >> 8 & 0xff,
		.entry = packed >> 16 & 0xff, .role = packed >> 24,
	};
}

static bool is_role(struct call_role which)
{
	uint32_t tables = 0, entries = 0;

	while (port_tables[tables])
		tables++;
	if (which.table >= tables)
		return false;
	while (port_tables[which.table][entries].object)
		entries++;
	return which.entry < entries && which.role < KM_ROLES &&
		bench(which)->role[which.role].body;
}

static long take_seat(uint32_t number)
{
	struct seat *s = &port.seat[number];

	if (number >= port.threads || s->kernel || s->entered)
		return -EINVAL;
	return enter(s);
}

#ifdef CONFIG_X86
static long khz(void)
{
	if (boot_cpu_has(X86_FEATURE_XENPV))
		return -EOPNOTSUPP;
	return check_tsc_unstable() ? 0 : tsc_khz;
}
#else
/* The counter's rate is constant, and the kernel's clock is always this counter. */
static long khz(void)
{
	return read_sysreg(cntfrq_el0) / 1000;
}
#endif

static long call(struct file *file, unsigned int number, unsigned long argument)
{
	uint32_t value = (uint32_t)(argument >> 32);
	void *o = object((uint32_t)argument);

	switch (number) {
	case CALL_SEM_TAKE:
		return kernel_sem_take(o);
	case CALL_SEM_GIVE:
		kernel_sem_give(o);
		return 0;
	case CALL_MUTEX_LOCK:
		return kernel_mutex_lock(o);
	case CALL_MUTEX_UNLOCK:
		kernel_mutex_unlock(o);
		return 0;
	case CALL_COND_WAIT:
		return kernel_cond_wait(o, object(value));
	case CALL_COND_SIGNAL:
		kernel_cond_signal(o);
		return 0;
	case CALL_COND_BROADCAST:
		kernel_cond_broadcast(o);
		return 0;
	case CALL_QUEUE_GET:
		return take_item(o);
	case CALL_FIFO_PUT:
		kernel_fifo_put(o, object(value));
		return 0;
	case CALL_LIFO_PUT:
		kernel_lifo_put(o, object(value));
		return 0;
	case CALL_STACK_POP:
		return pop(o);
	case CALL_STACK_PUSH:
		kernel_stack_push(o, value);
		return 0;
	case CALL_EVENTS_WAIT:
		return wait_events(o, value);
	case CALL_EVENTS_WAIT_ALL:
		return kernel_events_wait_all(o, value);
	case CALL_EVENTS_POST:
		kernel_events_post(o, value);
		return 0;
	case CALL_EVENTS_SET:
		kernel_events_set(o, value);
		return 0;
	case CALL_IRQ_WAIT:
		return wait_irq(o);
	case CALL_IRQ_ARM:
		kernel_irq_arm(o);
		return 0;
	case CALL_KHZ:
		return khz();
	case CALL_SETUP:
		return is_role(role_of(value)) ? setup(bench(role_of(value))) : -EINVAL;
	case CALL_TEARDOWN:
		return is_role(role_of(value)) ? teardown(bench(role_of(value))) : -EINVAL;
	case CALL_BEGIN:
		return begin(value);
	case CALL_SIT:
		return is_role(role_of(value)) ? make_kernel_thread(role_of(value)) :
		       -EINVAL;
	case CALL_ENTER:
		return take_seat(value);
	case CALL_CROSSING:
		return kernel_crossing_file(value);
	case CALL_LEAVE:
		leave();
		return 0;
	case CALL_COUNT:
		return switches();
	case CALL_ABANDON:
		let_go(PART_ABANDONED);
		return 0;
	case CALL_RUN:
		return run();
	case CALL_END:
		end_threads(false);
		return 0;
	}
	return -ENOTTY;
}

static int share(struct file *file, struct vm_area_struct *area)
{
	size_t size = port_shared_end - port_shared_start;

	if (area->vm_end - area->vm_start != size || area->vm_pgoff ||
	    !(area->vm_flags & VM_SHARED))
		return -EINVAL;
	for (size_t at = 0; at < size; at += PAGE_SIZE) {
		struct page *page = vmalloc_to_page(port_shared_start + at);
		int wrong = vm_insert_page(area, area->vm_start + at, page);

		if (wrong)
			return wrong;
	}
	return 0;
}

/*
 * The variables contain the kernel's own objects, so only those who may load
 * modules can open the device.
 */
static int open(struct inode *inode, struct file *file)
{
	if (!capable(CAP_SYS_MODULE))
		return -EPERM;
	return test_and_set_bit(0, &port.opened) ? -EBUSY : 0;
}

static int release(struct inode *inode, struct file *file)
{
	end_threads(true);
	if (port.set_up)
		teardown(port.set_up);
	clear_bit(0, &port.opened);
	return 0;
}

static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.open = open,
	.release = release,
	.unlocked_ioctl = call,
	.mmap = share,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = CALL_DEVICE,
	.fops = &operations,
	.mode = 0600,
};

module_misc_device(device);

MODULE_DESCRIPTION("kernmark's agent in kernel mode");
MODULE_LICENSE("Dual MIT/GPL");
