# tool: kernmark 0.1.0
# started: 2026-03-01T09:30:00Z
# kernel: Linux 6.1.0-18-amd64 #1 SMP PREEMPT_DYNAMIC; x86_64
# machine: Model 7, 2.50 GHz; 4 CPUs; virtual (KVM); governor performance; load 0.52 0.61 0.40
# clock: tsc 2.5 GHz; reading it costs 9.89 ns
# agent: linux-user; pinned to CPU 3; real-time priority; built by cc (Debian 12.2.0-14) 12.2.0; -O2
# run: 7 replicates; 40 samples per metric in each; seed 1234
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

BenchmarkKernmark/clock.read 20480 9.882855902777777 ns/op
BenchmarkKernmark/clock.read 20480 9.892938751157834 ns/op
BenchmarkKernmark/clock.read 20480 9.88271484375 ns/op
BenchmarkKernmark/clock.read 20480 9.902921765162588 ns/op
BenchmarkKernmark/clock.read 20480 9.893020596363192 ns/op
BenchmarkKernmark/clock.read 20480 9.913446910681888 ns/op
BenchmarkKernmark/clock.read 20480 9.89317512926841 ns/op
BenchmarkKernmark/semaphore.take.blocking.u_to_u 40 1580.111111111111 ns/op
BenchmarkKernmark/semaphore.take.blocking.u_to_u 40 1584.9993660002535 ns/op
BenchmarkKernmark/semaphore.take.blocking.u_to_u 40 1579.991304347826 ns/op
BenchmarkKernmark/semaphore.take.blocking.u_to_u 40 1599.8714473755692 ns/op
BenchmarkKernmark/semaphore.take.blocking.u_to_u 40 1590.0175458111635 ns/op
BenchmarkKernmark/semaphore.take.blocking.u_to_u 40 1610.1365293746262 ns/op
BenchmarkKernmark/semaphore.take.blocking.u_to_u 40 1590.1378254833314 ns/op
BenchmarkKernmark/semaphore.give.wake+ctx.u_to_u 40 1959.88 ns/op
BenchmarkKernmark/semaphore.give.wake+ctx.u_to_u 40 1969.932545360315 ns/op
BenchmarkKernmark/semaphore.give.wake+ctx.u_to_u 40 1960.0153846153848 ns/op
BenchmarkKernmark/semaphore.give.wake+ctx.u_to_u 40 1979.9522621920364 ns/op
BenchmarkKernmark/semaphore.give.wake+ctx.u_to_u 40 1969.9742120103151 ns/op
BenchmarkKernmark/semaphore.give.wake+ctx.u_to_u 40 1990.0198341984212 ns/op
BenchmarkKernmark/semaphore.give.wake+ctx.u_to_u 40 1969.8992120403152 ns/op
BenchmarkKernmark/channel.write.64 2560 369.376875 ns/op 173.26477192163154 MB/s
BenchmarkKernmark/channel.write.64 2560 369.62589381630914 ns/op 173.1480425768161 MB/s
BenchmarkKernmark/channel.write.64 2560 369.3733173076923 ns/op 173.26644075561975 MB/s
BenchmarkKernmark/channel.write.64 2560 369.8747041002367 ns/op 173.03156796214938 MB/s
BenchmarkKernmark/channel.write.64 2560 369.62529857845203 ns/op 173.1483214112742 MB/s
BenchmarkKernmark/channel.write.64 2560 370.1253782179672 ns/op 172.91437919804122 MB/s
BenchmarkKernmark/channel.write.64 2560 369.6232896506841 ns/op 173.14926248420056 MB/s
# thread.yield.preemptive.ctx.u_to_u skipped: needs real-time priority (the limit is 0): run as root, or allow it by: "ulimit -r 50"
# mutex.lock.contended.u_to_u failed: switches: counted 3, must be 40 to 44
# futex.wake.cross_cpu failed: a\u{9}b"c\d
