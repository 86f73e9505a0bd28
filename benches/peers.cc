// SPDX-License-Identifier: MIT OR Apache-2.0
// The operations of benches/spread.rs as a Google Benchmark user would write
// them: the peer that kernmark's spread is compared with.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace {

void null_syscall(benchmark::State &state)
{
	for (auto _ : state)
		benchmark::DoNotOptimize(syscall(SYS_getppid));
}

void clock_vdso(benchmark::State &state)
{
	timespec t;

	for (auto _ : state)
		benchmark::DoNotOptimize(clock_gettime(CLOCK_MONOTONIC, &t));
}

void clock_syscall(benchmark::State &state)
{
	timespec t;

	for (auto _ : state)
		benchmark::DoNotOptimize(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t));
}

volatile bool stop;

void *yielder(void *)
{
	while (!stop)
		sched_yield();
	return nullptr;
}

// Two threads yield to each other on one CPU; one iteration is one yield.
void yield_threads(benchmark::State &state)
{
	cpu_set_t all, one;
	pthread_t other;

	sched_getaffinity(0, sizeof(all), &all);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	stop = false;
	pthread_create(&other, nullptr, yielder, nullptr);
	for (auto _ : state)
		sched_yield();
	stop = true;
	pthread_join(other, nullptr);
	sched_setaffinity(0, sizeof(all), &all);
}

void swap_byte(int in, int out)
{
	char c = 0;

	if (write(out, &c, 1) != 1 || read(in, &c, 1) != 1)
		abort();
}

// A child process that sends every byte back until its input ends.
pid_t echo(int in, int out, int close_first, int close_second)
{
	pid_t child = fork();
	char c;

	if (child)
		return child;
	close(close_first);
	close(close_second);
	while (read(in, &c, 1) == 1)
		if (write(out, &c, 1) != 1)
			break;
	_exit(0);
}

void pipe_processes(benchmark::State &state)
{
	int there[2], back[2];

	if (pipe(there) || pipe(back))
		abort();
	pid_t child = echo(there[0], back[1], there[1], back[0]);
	for (auto _ : state)
		swap_byte(back[0], there[1]);
	close(there[1]);
	waitpid(child, nullptr, 0);
	close(there[0]);
	close(back[0]);
	close(back[1]);
}

void unix_socket_processes(benchmark::State &state)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair))
		abort();
	pid_t child = echo(pair[1], pair[1], pair[0], -1);
	for (auto _ : state)
		swap_byte(pair[0], pair[0]);
	close(pair[0]);
	waitpid(child, nullptr, 0);
	close(pair[1]);
}

uint32_t turn;

void pass_turn(uint32_t to)
{
	__atomic_store_n(&turn, to, __ATOMIC_RELEASE);
	syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

uint32_t await_turn(uint32_t not_this)
{
	uint32_t seen;

	while ((seen = __atomic_load_n(&turn, __ATOMIC_ACQUIRE)) == not_this)
		syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, not_this, nullptr, nullptr, 0);
	return seen;
}

// 0: nobody has asked, 1: asked, 2: over.
void *answerer(void *)
{
	while (await_turn(0) != 2)
		pass_turn(0);
	return nullptr;
}

void futex_threads(benchmark::State &state)
{
	pthread_t other;

	turn = 0;
	pthread_create(&other, nullptr, answerer, nullptr);
	for (auto _ : state) {
		pass_turn(1);
		await_turn(1);
	}
	pass_turn(2);
	pthread_join(other, nullptr);
}

void mutex_uncontended(benchmark::State &state)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

	for (auto _ : state) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
}

void semaphore_post_wait(benchmark::State &state)
{
	sem_t sem;

	sem_init(&sem, 0, 0);
	for (auto _ : state) {
		sem_post(&sem);
		sem_wait(&sem);
	}
}

void *nothing(void *)
{
	return nullptr;
}

void thread_create_join(benchmark::State &state)
{
	pthread_t thread;

	for (auto _ : state) {
		pthread_create(&thread, nullptr, nothing, nullptr);
		pthread_join(thread, nullptr);
	}
}

void fork_exit_wait(benchmark::State &state)
{
	for (auto _ : state) {
		pid_t child = fork();

		if (!child)
			_exit(0);
		waitpid(child, nullptr, 0);
	}
}

void map_unmap(benchmark::State &state)
{
	for (auto _ : state) {
		void *p = mmap(nullptr, 4096, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		munmap(p, 4096);
	}
}

// One iteration is the first touch of one fresh page.
void page_fault(benchmark::State &state)
{
	const size_t pages = 256, size = pages * 4096;
	char *p = static_cast<char *>(mmap(nullptr, size, PROT_READ | PROT_WRITE,
					   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	size_t i = 0;

	madvise(p, size, MADV_NOHUGEPAGE);
	for (auto _ : state) {
		p[i++ * 4096] = 1;
		if (i == pages) {
			state.PauseTiming();
			madvise(p, size, MADV_DONTNEED);
			i = 0;
			state.ResumeTiming();
		}
	}
	munmap(p, size);
}

void handler(int)
{
}

void signal_delivery(benchmark::State &state)
{
	struct sigaction action = {};

	action.sa_handler = handler;
	sigaction(SIGUSR1, &action, nullptr);
	for (auto _ : state)
		kill(getpid(), SIGUSR1);
}

} // namespace

BENCHMARK(null_syscall);
BENCHMARK(clock_vdso);
BENCHMARK(clock_syscall);
BENCHMARK(yield_threads)->UseRealTime();
BENCHMARK(pipe_processes)->UseRealTime();
BENCHMARK(futex_threads)->UseRealTime();
BENCHMARK(mutex_uncontended);
BENCHMARK(semaphore_post_wait);
BENCHMARK(thread_create_join)->UseRealTime();
BENCHMARK(fork_exit_wait)->UseRealTime();
BENCHMARK(map_unmap);
BENCHMARK(page_fault);
BENCHMARK(signal_delivery);
BENCHMARK(unix_socket_processes)->UseRealTime();
BENCHMARK_MAIN();
