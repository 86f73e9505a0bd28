// SPDX-License-Identifier: MIT OR Apache-2.0
#define _GNU_SOURCE
#include "linux.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "posix.h"

/* exit(0) is the smallest program: no library adds to the kernel's cost. */
static const unsigned char code[] = {
#if defined(__x86_64__)
	0xb8, 0x3c, 0x00, 0x00, 0x00,	/* mov $60, %eax */
	0x31, 0xff,			/* xor %edi, %edi */
	0x0f, 0x05,			/* syscall */
#define MACHINE EM_X86_64
#elif defined(__i386__)
	0xb8, 0x01, 0x00, 0x00, 0x00,	/* mov $1, %eax */
	0x31, 0xdb,			/* xor %ebx, %ebx */
	0xcd, 0x80,			/* int $0x80 */
#define MACHINE EM_386
#elif defined(__aarch64__)
	0xa8, 0x0b, 0x80, 0xd2,		/* mov x8, #93 */
	0x00, 0x00, 0x80, 0xd2,		/* mov x0, #0 */
	0x01, 0x00, 0x00, 0xd4,		/* svc #0 */
#define MACHINE EM_AARCH64
#elif defined(__ARM_EABI__)
	0x01, 0x70, 0xa0, 0xe3,		/* mov r7, #1 */
	0x00, 0x00, 0xa0, 0xe3,		/* mov r0, #0 */
	0x00, 0x00, 0x00, 0xef,		/* svc #0 */
#define MACHINE EM_ARM
#elif defined(__riscv)
	0x93, 0x08, 0xd0, 0x05,		/* li a7, 93 */
	0x13, 0x05, 0x00, 0x00,		/* li a0, 0 */
	0x73, 0x00, 0x00, 0x00,		/* ecall */
#define MACHINE EM_RISCV
#elif defined(__s390x__)
	0xa7, 0x19, 0x00, 0x01,		/* lghi %r1, 1 */
	0xa7, 0x29, 0x00, 0x00,		/* lghi %r2, 0 */
	0x0a, 0x00,			/* svc 0 */
#define MACHINE EM_S390
#else
	0,
#define MACHINE EM_NONE
#endif
};

#ifdef __ARM_EABI__
#define MACHINE_FLAGS EF_ARM_EABI_VER5
#else
#define MACHINE_FLAGS 0
#endif

#define LOADED_AT 0x400000
#define CLASS (sizeof(ElfW(Addr)) == 8 ? ELFCLASS64 : ELFCLASS32)
#define BYTE_ORDER_HERE (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? \
			 ELFDATA2LSB : ELFDATA2MSB)

struct program {
	ElfW(Ehdr) file;
	ElfW(Phdr) segment;
	unsigned char code[sizeof(code)];
};

static char path[32];
static int program = -1;
static char *const arguments[] = { path, NULL };
static char *const environment[] = { NULL };

/*
 * Memory that the parent and a forked child share until one of them writes to
 * it.
 */
static void *resident;
static size_t resident_size;

static void forget_program(struct km_run *r)
{
	(void)r;
	close(program);
	program = -1;
}

/* A vforked child uses this stack, and changes nothing on it. */
static __attribute__((noinline)) pid_t vfork_program(void)
{
	pid_t child = vfork();

	if (!child) {
		execve(path, arguments, environment);
		_exit(127);
	}
	return child;
}

/* Whether the child exited successfully. */
static bool wait_for(pid_t child)
{
	int status = 1;

	return child > 0 && waitpid(child, &status, 0) == child && !status;
}

static const char *make_program(struct km_run *r)
{
	struct program p = {
		.file = {
			.e_ident = {
				ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, CLASS,
				BYTE_ORDER_HERE, EV_CURRENT,
			},
			.e_type = ET_EXEC, .e_machine = MACHINE,
			.e_version = EV_CURRENT,
			.e_entry = LOADED_AT + offsetof(struct program, code),
			.e_phoff = offsetof(struct program, segment),
			.e_flags = MACHINE_FLAGS,
			.e_ehsize = sizeof(p.file),
			.e_phentsize = sizeof(p.segment), .e_phnum = 1,
		},
		.segment = {
			.p_type = PT_LOAD, .p_flags = PF_R | PF_X,
			.p_vaddr = LOADED_AT, .p_paddr = LOADED_AT,
			.p_filesz = sizeof(p), .p_memsz = sizeof(p),
			.p_align = 0x10000,
		},
	};

	if (MACHINE == EM_NONE)
		return "there is no test program for this architecture";
	memcpy(p.code, code, sizeof(code));
	program = memfd_create("kernmark", MFD_CLOEXEC);
	if (program < 0)
		return why("memfd_create");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", program);
	if (write(program, &p, sizeof(p)) != sizeof(p) ||
	    !wait_for(vfork_program())) {
		forget_program(r);
		return "cannot execute a program in memory: needs /proc, and "
		       "sysctl vm.memfd_noexec below 2";
	}
	return NULL;
}

static const char *make_resident(struct km_run *r)
{
	resident_size = (size_t)r->argument << 20;
	resident = mmap(NULL, resident_size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	return resident == MAP_FAILED ? why("mmap") : NULL;
}

static void forget_resident(struct km_run *r)
{
	(void)r;
	munmap(resident, resident_size);
}

static void fork_exit_wait(struct km_run *r)
{
	for_each_sample(r) {
		bool right;
		pid_t child;

		stamp(r, 0);
		child = fork();
		if (!child)
			_exit(0);
		stamp(r, 1);
		right = wait_for(child);
		stamp(r, 2);
		check(r, right);
		record(r);
	}
}

static void vfork_exec(struct km_run *r)
{
	for_each_sample(r) {
		bool right;

		stamp(r, 0);
		right = wait_for(vfork_program());
		stamp(r, 1);
		check(r, right);
		record(r);
	}
}

static void spawn(struct km_run *r)
{
	for_each_sample(r) {
		pid_t child = -1;
		bool right;

		stamp(r, 0);
		right = !posix_spawn(&child, path, NULL, NULL, arguments,
				     environment) && wait_for(child);
		stamp(r, 1);
		check(r, right);
		record(r);
	}
}

static void *return_argument(void *p)
{
	return p;
}

static void create_join(struct km_run *r)
{
	for_each_sample(r) {
		void *result = NULL;
		pthread_t thread;
		int wrong;

		stamp(r, 0);
		wrong = pthread_create(&thread, NULL, return_argument, r);
		stamp(r, 1);
		if (!wrong)
			wrong = pthread_join(thread, &result);
		stamp(r, 2);
		check(r, !wrong && result == r);
		record(r);
	}
}

static const uint32_t megabytes[] = { 1, 16, 64, 0 };

/*
 * The parent waits for its child once. Without real-time priority, a woken
 * thread may run at once, which can add a switch.
 */
#define WAITS .switches = 1, .switches_most = 2

/*
 * Runs in its own process, so that the end of a child does not wake the agent's
 * other thread, and stacks that the C library keeps do not slow later forks.
 */
#define ALONE KM_LOW, KM_OWN_PROCESS

#define FORK_VIA "fork of the agent, a static program; _exit, waitpid"
#define PROGRAM "a static program of three instructions in memory (memfd) " \
	"that exits"

KM_TABLE(process) = {
	{
		.object = "process",
		.about = "Fork a process that exits at once, and wait for it.",
		.via = FORK_VIA,
		.needs = KM_PROCESSES,
		.role = { { fork_exit_wait, ALONE } },
		.span = {
			{
				.name = "fork_exit_wait", .begin = 0, .end = 2,
				WAITS,
				.between = "from the fork to the return of "
					   "the wait",
			},
			{
				.name = "fork", .begin = 0, .end = 1,
				.between = "from the fork to its return in "
					   "the parent",
			},
		},
	},
	{
		.object = "process",
		.about = "Fork a process that exits at once, and wait for it; "
			 "it shares N megabytes of touched memory with its "
			 "parent.",
		.via = FORK_VIA,
		.needs = KM_PROCESSES,
		.argument = megabytes,
		.setup = make_resident, .teardown = forget_resident,
		.role = { { fork_exit_wait, ALONE } },
		.span = {
			{
				.name = "fork_exit_wait.resident",
				.begin = 0, .end = 2, WAITS,
				.between = "from the fork to the return of "
					   "the wait",
			},
			{
				.name = "fork.resident", .begin = 0, .end = 1,
				.between = "from the fork to its return in "
					   "the parent",
			},
		},
	},
	{
		.object = "process",
		.about = "Start a program in a process that borrows its "
			 "parent's memory, and wait until it ends.",
		.via = "vfork, execve, waitpid; " PROGRAM,
		.needs = KM_PROCESSES,
		.setup = make_program, .teardown = forget_program,
		.role = { { vfork_exec, ALONE } },
		.span = { {
			.name = "vfork_exec", WAITS,
			.between = "from the vfork to the return of the wait",
		} },
	},
	{
		.object = "process",
		.about = "Start a program with the C library's call, and wait "
			 "until it ends.",
		.via = "posix_spawn, waitpid; " PROGRAM,
		.needs = KM_PROCESSES,
		.setup = make_program, .teardown = forget_program,
		.role = { { spawn, ALONE } },
		.span = { {
			.name = "spawn", WAITS,
			.between = "from the posix_spawn to the return of the wait",
		} },
	},
	{
		.object = "pthread",
		.about = "Create a thread that returns at once, and wait for it.",
		.via = "pthread_create, pthread_join; default attributes, so "
		       "the C library may reuse a stack",
		.needs = KM_THREADS | KM_PROCESSES,
		.role = { { create_join, ALONE } },
		.span = {
			{
				.name = "create_join", .begin = 0, .end = 2,
				WAITS,
				.between = "from the create to the return of "
					   "the join",
			},
			{
				.name = "create", .begin = 0, .end = 1,
				.between = "from the create to its return",
			},
			{
				.name = "join", .begin = 1, .end = 2,
				.between = "from the join to its return",
			},
		},
	},
	{ 0 },
};
