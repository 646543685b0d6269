/**
 * Task ring in shared memory. Words: TICKET next task to take, END tasks handed in so far, DONE tasks finished, FAILED
 * flag, then SLOTS slots of SLOT_WORDS words (task number, argument count, arguments). The counters only
 * grow (modulo 2^32), a ticket is taken by compare and exchange below END, so a late worker cannot take a task twice.
 */
import { runTask, TASK_NAMES, type Kernels, type Task } from './kernels.js';

const TICKET = 0;
export const END = 1;
export const DONE = 2;
export const FAILED = 3;
const HEADER_WORDS = 16;
const SLOT_WORDS = 16;
export const SLOTS = 2_048;
export const RING_BYTES = 4 * (HEADER_WORDS + SLOTS * SLOT_WORDS);

const slotAt = (ticket: number): number => HEADER_WORDS + (ticket & (SLOTS - 1)) * SLOT_WORDS;

/** Hands in at most SLOTS tasks; all earlier ones must be done. */
export function handIn(ring: Int32Array, tasks: readonly Task[]): void {
  const end = Atomics.load(ring, END);
  tasks.forEach(([name, ...args], i) => {
    const slot = slotAt(end + i);
    ring[slot] = TASK_NAMES.indexOf(name);
    ring[slot + 1] = args.length;
    ring.set(args, slot + 2);
  });
  Atomics.store(ring, END, (end + tasks.length) | 0);
  Atomics.notify(ring, END);
}

/** Takes and runs tasks until none is left. */
export function drain(ring: Int32Array, kernels: Kernels): void {
  for (;;) {
    const ticket = Atomics.load(ring, TICKET);
    if (((Atomics.load(ring, END) - ticket) | 0) <= 0) return;
    if (Atomics.compareExchange(ring, TICKET, ticket, (ticket + 1) | 0) !== ticket) continue;
    const slot = slotAt(ticket);
    const args = ring.subarray(slot + 2, slot + 2 + ring[slot + 1]!);
    try {
      runTask(kernels, [TASK_NAMES[ring[slot]!]!, ...args]);
    } catch {
      Atomics.store(ring, FAILED, 1);
    }
    const done = (Atomics.add(ring, DONE, 1) + 1) | 0;
    if (done === Atomics.load(ring, END)) Atomics.notify(ring, DONE);
  }
}
