# tool: kernmark 0.1.0
# started: 2026-03-01T09:31:00Z
# target: freertos:mps2-an386; variant canaries
# kernel: FreeRTOS V11.1.0; armv7e-m
# emulator: QEMU 7.2.22
# clock: instructions (counts instructions, not time)
# agent: freertos; real-time priority; -O2
# run: 2 replicates; identical in every sample; 40 samples per metric in each
# Each line of a benchmark is a replicate: a fresh process or boot.
replicate: process
port: freertos
arch: armv7e-m
real-time-priority: yes
board: mps2-an386
variant: canaries
flags: -O2
Unit instructions/op better=lower assume=exact

BenchmarkKernmark/semaphore.take.blocking.k_to_k 40 318 instructions/op
BenchmarkKernmark/semaphore.take.blocking.k_to_k 40 318 instructions/op
BenchmarkKernmark/semaphore.give.wake+ctx.k_to_k 40 402 instructions/op
BenchmarkKernmark/semaphore.give.wake+ctx.k_to_k 40 402 instructions/op
