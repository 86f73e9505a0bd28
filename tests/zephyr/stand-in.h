/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Declarations with which the Zephyr port compiles where there is no Zephyr. They
 * stand in for all headers of Zephyr's that the port includes. Signatures as in
 * Zephyr 4.3's documentation; objects have only the members that the port uses.
 * Nothing here can run.
 */
#ifndef STAND_IN_H
#define STAND_IN_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof(*(a)))
#define STRINGIFY_(s) #s
#define STRINGIFY(s) STRINGIFY_(s)
#define BIT(n) (1ul << (n))
#define BIT_MASK(n) (BIT(n) - 1)
#define FUNC_NORETURN __attribute__((noreturn))
#define __aligned(n) __attribute__((aligned(n)))

/* 1 if the setting is defined as 1, 0 if it is not defined. */
#define STAND_IN_1 unused,
#define STAND_IN_SECOND(first, second, ...) second
#define STAND_IN_SET(comma) STAND_IN_SECOND(comma 1, 0, 0)
#define STAND_IN_PASTE(value) STAND_IN_SET(STAND_IN_##value)
#define IS_ENABLED(setting) STAND_IN_PASTE(setting)
#define STAND_IN_CODE(comma, code) STAND_IN_SECOND(comma STAND_IN_OPEN code, , 0)
#define STAND_IN_OPEN(...) __VA_ARGS__
#define STAND_IN_IF(value, code) STAND_IN_CODE(STAND_IN_##value, code)
#define IF_ENABLED(setting, code) STAND_IN_IF(setting, code)

#define KERNEL_VERSION_STRING "4.3.0"

/* Threads. */
typedef struct { int64_t ticks; } k_timeout_t;
#define K_FOREVER ((k_timeout_t){ -1 })
#define K_NO_WAIT ((k_timeout_t){ 0 })
#define K_TICKS(n) ((k_timeout_t){ n })
#define K_TIMEOUT_ABS_TICKS(n) ((k_timeout_t){ -2 - (n) })
#define K_PRIO_COOP(n) (-16 + (n))
#define K_PRIO_PREEMPT(n) (n)
#define K_HIGHEST_THREAD_PRIO (-16)
#define K_USER 4

struct k_thread {
	struct { uint32_t cpu_mask; } base;
};
typedef struct k_thread *k_tid_t;
typedef char k_thread_stack_t;
typedef void (*k_thread_entry_t)(void *one, void *two, void *three);
#define K_ANY NULL
#define K_THREAD_STACK_DEFINE(name, size) k_thread_stack_t name[size]
#define K_THREAD_STACK_DECLARE(name, size) extern k_thread_stack_t name[size]
#define K_THREAD_STACK_ARRAY_DEFINE(name, n, size) k_thread_stack_t name[n][size]
#define K_THREAD_STACK_SIZEOF(name) sizeof(name)
#define K_KERNEL_STACK_DEFINE K_THREAD_STACK_DEFINE
#define K_KERNEL_STACK_SIZEOF K_THREAD_STACK_SIZEOF

k_tid_t k_thread_create(struct k_thread *thread, k_thread_stack_t *stack,
			size_t size, k_thread_entry_t entry, void *one,
			void *two, void *three, int priority, uint32_t options,
			k_timeout_t delay);
void k_thread_start(k_tid_t thread);
void k_thread_suspend(k_tid_t thread);
void k_thread_resume(k_tid_t thread);
void k_thread_abort(k_tid_t thread);
int k_thread_priority_get(k_tid_t thread);
void k_thread_priority_set(k_tid_t thread, int priority);
void k_thread_system_pool_assign(struct k_thread *thread);
int k_thread_cpu_pin(k_tid_t thread, int cpu);
k_tid_t k_current_get(void);
extern struct k_thread *_current;
void k_yield(void);
int32_t k_sleep(k_timeout_t timeout);
int64_t k_uptime_ticks(void);
bool k_is_user_context(void);
void k_oops(void);
void k_object_access_grant(const void *object, struct k_thread *thread);

/* Objects. */
struct k_sem { int unused; };
#define K_SEM_MAX_LIMIT UINT_MAX
int k_sem_init(struct k_sem *sem, unsigned int count, unsigned int limit);
int k_sem_take(struct k_sem *sem, k_timeout_t timeout);
void k_sem_give(struct k_sem *sem);

struct k_mutex { int unused; };
int k_mutex_init(struct k_mutex *mutex);
int k_mutex_lock(struct k_mutex *mutex, k_timeout_t timeout);
int k_mutex_unlock(struct k_mutex *mutex);

struct k_condvar { int unused; };
int k_condvar_init(struct k_condvar *condvar);
int k_condvar_wait(struct k_condvar *condvar, struct k_mutex *mutex,
		   k_timeout_t timeout);
int k_condvar_signal(struct k_condvar *condvar);
int k_condvar_broadcast(struct k_condvar *condvar);

struct k_fifo { int unused; };
void k_fifo_init(struct k_fifo *fifo);
void k_fifo_put(struct k_fifo *fifo, void *item);
int32_t k_fifo_alloc_put(struct k_fifo *fifo, void *item);
void *k_fifo_get(struct k_fifo *fifo, k_timeout_t timeout);

struct k_lifo { int unused; };
void k_lifo_init(struct k_lifo *lifo);
void k_lifo_put(struct k_lifo *lifo, void *item);
int32_t k_lifo_alloc_put(struct k_lifo *lifo, void *item);
void *k_lifo_get(struct k_lifo *lifo, k_timeout_t timeout);

typedef uintptr_t stack_data_t;
struct k_stack { int unused; };
void k_stack_init(struct k_stack *stack, stack_data_t *buffer, uint32_t entries);
int k_stack_push(struct k_stack *stack, stack_data_t data);
int k_stack_pop(struct k_stack *stack, stack_data_t *data, k_timeout_t timeout);

struct k_event { int unused; };
void k_event_init(struct k_event *event);
uint32_t k_event_post(struct k_event *event, uint32_t events);
uint32_t k_event_set(struct k_event *event, uint32_t events);
uint32_t k_event_wait(struct k_event *event, uint32_t events, bool reset,
		      k_timeout_t timeout);
uint32_t k_event_wait_all(struct k_event *event, uint32_t events, bool reset,
			  k_timeout_t timeout);

void *k_malloc(size_t size);
void k_free(void *block);

struct k_msgq { int unused; };
void k_msgq_init(struct k_msgq *queue, char *buffer, size_t size, uint32_t count);
int k_msgq_put(struct k_msgq *queue, const void *message, k_timeout_t timeout);
int k_msgq_get(struct k_msgq *queue, void *message, k_timeout_t timeout);

struct k_pipe { int unused; };
void k_pipe_init(struct k_pipe *pipe, uint8_t *buffer, size_t size);
int k_pipe_write(struct k_pipe *pipe, const uint8_t *data, size_t size,
		 k_timeout_t timeout);
int k_pipe_read(struct k_pipe *pipe, uint8_t *data, size_t size,
		k_timeout_t timeout);

struct k_mbox { int unused; };
struct k_mbox_msg {
	size_t size;
	void *tx_data;
	k_tid_t rx_source_thread;
	k_tid_t tx_target_thread;
};
void k_mbox_init(struct k_mbox *mailbox);
int k_mbox_put(struct k_mbox *mailbox, struct k_mbox_msg *message,
	       k_timeout_t timeout);
int k_mbox_get(struct k_mbox *mailbox, struct k_mbox_msg *message, void *buffer,
	       k_timeout_t timeout);

struct k_poll_event {
	uint32_t state;
	struct k_sem *sem;
};
#define K_POLL_TYPE_SEM_AVAILABLE 2
#define K_POLL_MODE_NOTIFY_ONLY 0
#define K_POLL_STATE_SEM_AVAILABLE 2
#define K_POLL_STATE_NOT_READY 0
void k_poll_event_init(struct k_poll_event *event, uint32_t type, int mode,
		       void *object);
int k_poll(struct k_poll_event *events, int count, k_timeout_t timeout);

struct k_timer { int unused; };
typedef void (*k_timer_expiry_t)(struct k_timer *timer);
void k_timer_init(struct k_timer *timer, k_timer_expiry_t expiry,
		  void (*stop)(struct k_timer *timer));
void k_timer_start(struct k_timer *timer, k_timeout_t duration,
		   k_timeout_t period);
void k_timer_stop(struct k_timer *timer);
int64_t k_timer_remaining_ticks(const struct k_timer *timer);

struct k_work { int unused; };
typedef void (*k_work_handler_t)(struct k_work *work);
void k_work_init(struct k_work *work, k_work_handler_t handler);
int k_work_submit(struct k_work *work);

struct k_spinlock { int unused; };
typedef struct { int key; } k_spinlock_key_t;
k_spinlock_key_t k_spin_lock(struct k_spinlock *lock);
void k_spin_unlock(struct k_spinlock *lock, k_spinlock_key_t key);

struct k_mem_slab { int unused; };
int k_mem_slab_init(struct k_mem_slab *slab, void *buffer, size_t size,
		    uint32_t count);
int k_mem_slab_alloc(struct k_mem_slab *slab, void **block, k_timeout_t timeout);
void k_mem_slab_free(struct k_mem_slab *slab, void *block);

struct k_heap { int unused; };
void k_heap_init(struct k_heap *heap, void *memory, size_t size);
void *k_heap_alloc(struct k_heap *heap, size_t size, k_timeout_t timeout);
void k_heap_free(struct k_heap *heap, void *block);

struct k_ipi_work { int unused; };
typedef void (*k_ipi_func_t)(struct k_ipi_work *work);
void k_ipi_work_init(struct k_ipi_work *work);
int k_ipi_work_add(struct k_ipi_work *work, uint32_t cpus, k_ipi_func_t function);
void k_ipi_work_signal(void);
int k_ipi_work_wait(struct k_ipi_work *work, k_timeout_t timeout);

struct k_obj_core { int unused; };
#define K_OBJ_CORE(object) ((struct k_obj_core *)(object))
void k_obj_core_unlink(struct k_obj_core *core);

/* Memory that user threads share. */
struct k_mem_partition { int unused; };
struct k_mem_domain { int unused; };
extern struct k_mem_domain k_mem_domain_default;
int k_mem_domain_add_partition(struct k_mem_domain *domain,
			       struct k_mem_partition *partition);
#define K_APPMEM_PARTITION_DEFINE(name) struct k_mem_partition name
#define K_APP_BMEM(name)

/* Atomic variables. */
typedef long atomic_t;
typedef long atomic_val_t;
atomic_val_t atomic_set(atomic_t *target, atomic_val_t value);
atomic_val_t atomic_dec(atomic_t *target);

/* Interrupts and the processor. */
typedef void (*irq_offload_routine_t)(const void *parameter);
void irq_offload(irq_offload_routine_t routine, const void *parameter);
unsigned int irq_lock(void);
void irq_unlock(unsigned int key);
void irq_enable(unsigned int line);
void irq_disable(unsigned int line);
#define IRQ_CONNECT(line, priority, routine, parameter, flags) \
	((void)(line), (void)(priority), (void)(routine), (void)(flags))
#define DT_CHOSEN(name) 0
#define DT_INST(i, name) 0
#define DT_IRQN(node) 7
#define ARM_ARCH_TIMER_IRQ 27
#define DT_REG_ADDR(node) 0x2000000
struct _cpu { uint8_t id; };
struct _cpu *arch_curr_cpu(void);
struct device;
extern const struct device stand_in_device;
#define DEVICE_DT_GET(node) (&stand_in_device)

struct arch_esf {
	struct { uint32_t pc; } basic;
	unsigned long mepc, rip, elr;
};
#define K_ERR_CPU_EXCEPTION 0
#define K_ERR_SPURIOUS_IRQ 1
#define K_ERR_STACK_CHK_FAIL 2
#define K_ERR_KERNEL_OOPS 3
#define K_ERR_KERNEL_PANIC 4
void k_sys_fatal_error_handler(unsigned int reason, const struct arch_esf *esf);
#if CONFIG_ASSERT
#define __ASSERT_ON 1
#else
#define __ASSERT_ON 0
#endif
#ifdef CONFIG_ASSERT_NO_FILE_INFO
void assert_post_action(void);
#else
void assert_post_action(const char *file, unsigned int line);
#endif

typedef struct {
	volatile uint32_t CTRL, LOAD, VAL;
} stand_in_systick;
#define SysTick ((stand_in_systick *)0xe000e010)
#define SysTick_CTRL_TICKINT_Msk 2
typedef struct {
	volatile uint32_t CCR;
} stand_in_scb;
#define SCB ((stand_in_scb *)0xe000ed00)
#define SCB_CCR_USERSETMPEND_Msk 2
typedef struct {
	volatile uint32_t STIR;
} stand_in_nvic;
#define NVIC ((stand_in_nvic *)0xe000e100)
void NVIC_SetPendingIRQ(int line);
void __DSB(void);
void z_loapic_ipi(uint8_t apic, uint32_t ipi, uint8_t vector);
#define Z_IRQ_TO_INTERRUPT_VECTOR(line) (32 + (line))
void gic_raise_sgi(unsigned int id, uint64_t affinity, uint16_t list);
void sys_clock_disable(void);
void sys_clock_announce(int32_t ticks);
void sys_out16(uint16_t data, uint16_t port);
void sys_out32(uint32_t data, uint16_t port);
uint16_t sys_be16_to_cpu(uint16_t value);
uint32_t sys_be32_to_cpu(uint32_t value);
#define SYS_REBOOT_COLD 1
FUNC_NORETURN void sys_reboot(int type);

typedef uint64_t timing_t;
void timing_init(void);
void timing_start(void);
timing_t timing_counter_get(void);
uint64_t timing_freq_get(void);

/* The console. */
int uart_poll_in(const struct device *device, unsigned char *byte);
void uart_poll_out(const struct device *device, unsigned char byte);
enum semihost_instr { SEMIHOST_GET_CMDLINE = 0x15 };
enum semihost_open_mode { SEMIHOST_OPEN_W = 4 };
long semihost_open(const char *path, long mode);
long semihost_write(long file, const void *bytes, long n);
long semihost_exec(enum semihost_instr call, void *block);

#endif
