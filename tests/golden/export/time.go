# tool: kernmark 0.1.0
# started: 2026-03-01T09:30:00Z
# kernel: Linux 6.1.0-18-amd64 #1 SMP PREEMPT_DYNAMIC; x86_64
# machine: Model 7, 2.50 GHz; 4 CPUs; virtual (KVM); governor performance; load 0.52 0.61 0.40
# clock: tsc 2.5 GHz; reading it costs 9.89 ns
# agent: linux-user; pinned to CPU 3; real-time priority; built by cc (Debian 12.2.0-14) 12.2.0; -O2
# run: 7 replicates; 40 samples of a metric in each; seed 1234
# Each line of a benchmark is a replicate: a fresh process or boot.
replicate: process
cpu-model: Model 7, 2.50 GHz
hypervisor: KVM
container: none
governor: performance
port: linux-user
arch: x86_64
real-time-priority: yes
flags: -O2

BenchmarkKernmark/clock.read 20480 9.8828125 ns/op
BenchmarkKernmark/clock.read 20480 9.892964792814082 ns/op
BenchmarkKernmark/clock.read 20480 9.8828125 ns/op
BenchmarkKernmark/clock.read 20480 9.903117077506337 ns/op
BenchmarkKernmark/clock.read 20480 9.892964792814082 ns/op
BenchmarkKernmark/clock.read 20480 9.913269354076775 ns/op
BenchmarkKernmark/clock.read 20480 9.892964792814082 ns/op
BenchmarkKernmark/semaphore.take.blocking.u_to_u 40 1580 ns/op
BenchmarkKernmark/semaphore.take.blocking.u_to_u 40 1584.9993660002535 ns/op
BenchmarkKernmark/semaphore.take.blocking.u_to_u 40 1580 ns/op
BenchmarkKernmark/semaphore.take.blocking.u_to_u 40 1599.998720001024 ns/op
BenchmarkKernmark/semaphore.take.blocking.u_to_u 40 1589.9993640002544 ns/op
BenchmarkKernmark/semaphore.take.blocking.u_to_u 40 1609.9980680023184 ns/op
BenchmarkKernmark/semaphore.take.blocking.u_to_u 40 1589.9993640002544 ns/op
BenchmarkKernmark/semaphore.give.wake+ctx.u_to_u 40 1960 ns/op
BenchmarkKernmark/semaphore.give.wake+ctx.u_to_u 40 1969.9992120003153 ns/op
BenchmarkKernmark/semaphore.give.wake+ctx.u_to_u 40 1960 ns/op
BenchmarkKernmark/semaphore.give.wake+ctx.u_to_u 40 1979.9984160012673 ns/op
BenchmarkKernmark/semaphore.give.wake+ctx.u_to_u 40 1969.9992120003153 ns/op
BenchmarkKernmark/semaphore.give.wake+ctx.u_to_u 40 1989.9976120028657 ns/op
BenchmarkKernmark/semaphore.give.wake+ctx.u_to_u 40 1969.9992120003153 ns/op
BenchmarkKernmark/channel.write.64 2560 369.375 ns/op 173.26565143824027 MB/s
BenchmarkKernmark/channel.write.64 2560 369.62485215005916 ns/op 173.14853053770713 MB/s
BenchmarkKernmark/channel.write.64 2560 369.375 ns/op 173.26565143824027 MB/s
BenchmarkKernmark/channel.write.64 2560 369.8747041002367 ns/op 173.03156796214938 MB/s
BenchmarkKernmark/channel.write.64 2560 369.62485215005916 ns/op 173.14853053770713 MB/s
BenchmarkKernmark/channel.write.64 2560 370.124555850533 ns/op 172.91476339074637 MB/s
BenchmarkKernmark/channel.write.64 2560 369.62485215005916 ns/op 173.14853053770713 MB/s
# thread.yield.preemptive.ctx.u_to_u skipped: needs real-time priority (the limit is 0): run as root, or allow it by: "ulimit -r 50"
# mutex.lock.contended.u_to_u failed: switches: counted 3, must be 40 to 44
# futex.wake.cross_cpu failed: a\u{9}b"c\d
