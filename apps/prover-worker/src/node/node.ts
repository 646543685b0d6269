/** The node's life: register, ask for jobs and for segments to prove, beat while a job is held, collect what is owed. */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  collectAll,
  createHeldLeases,
  keepBeating,
  machine,
  note,
  offerOf,
  openNode,
  parseAcquired,
  parseProofAcquired,
  register,
  untilEnded,
  type HeldLeases,
  type RunningNode,
} from '#libs/node';
import { groth16KeysMax, pattern, type NodeRegistered } from '#libs/wire';
import { plansOf } from '../proving/key-folder.js';
import { collectionOf } from './collection.js';
import { openDrawnProofs } from './drawn-proofs.js';
import { openEscrow } from './escrow.js';
import { handOverLeft } from './deliveries.js';
import { createJobProcess } from './job-process.js';
import { openKeptJobs } from './kept-jobs.js';
import { openKeptWitness } from './kept-witness.js';
import type { NodeParts } from './parts.js';
import { runProof } from './proof-task.js';
import type { ProverSettings } from './settings.js';
import { runLease } from './training-lease.js';

const acquireWaitMs = 1000;
const acquirePatience = { attempts: 1, answerWithinMs: acquireWaitMs + 5000 };
const retryPauseMs = 1000;
/** Who has not been registered. */
const nobody = '00000000-0000-4000-8000-000000000000';

export async function startNode(settings: ProverSettings): Promise<RunningNode> {
  const opened = await openNode(settings, 'prover-worker', ['controlPlane']);
  const { watch, controlPlane, store } = opened;
  const folder = join(settings.dataDirectory, 'jobs');
  const kept = openKeptJobs(folder);
  const witness = openKeptWitness(folder, settings.hostRoot);
  kept.tidy();
  for (const former of kept.layAside()) note('kept job', former);
  const escrow = openEscrow(settings, kept);
  const keys = plansOf(settings.groth16Keys).slice(0, groth16KeysMax);
  const offer = offerOf(settings.name, escrow.account, {
    tee: 'none',
    cores: Math.min(settings.threads, machine.cores),
    memoryMiB: Math.min(settings.memoryMiB, machine.memoryMiB),
    ...(keys.length > 0 && { groth16Keys: keys }),
  });
  const [stopping, ended] = [new AbortController(), new AbortController()];
  const stop = stopping.signal;
  const jobProcess = createJobProcess(settings);
  const unregistered = { nodeId: nobody, leaseSeconds: 0 };
  const alone: NodeParts = { ...unregistered, settings, controlPlane, escrow, kept, witness, store, jobProcess, watch };
  const held = createHeldLeases(watch);
  // Before it is registered: the stake does not wait for the control plane.
  const collecting = collectAll(collectionOf(alone, held), stop);
  const node = await registered(() => register(opened, offer), alone, stopping);
  const { nodeId, leaseSeconds } = node;
  const parts: NodeParts = { ...alone, nodeId, leaseSeconds };
  const loops = [
    workLoop(parts, held, stop).finally(() => ended.abort()),
    keepBeating(node, offer, held, parts, ended.signal),
    handOverLeft(parts, stop),
    collecting,
  ];
  return {
    nodeId,
    done: untilEnded(loops, stopping, () => {
      jobProcess.clear();
      escrow.close();
      opened.close();
    }),
    stop: () => {
      watch.event('stopping', { leases: held.size });
      stopping.abort();
      jobProcess.clear();
    },
  };
}

/** Until the control plane takes a node that keeps jobs, it proves alone what its stake is for. @throws as `register` does, of others */
async function registered(
  ask: () => Promise<NodeRegistered>,
  alone: NodeParts,
  stopping: AbortController,
): Promise<NodeRegistered> {
  const drawnProofs = openDrawnProofs(alone, runProof);
  const keepsJobs = alone.kept.ids().length > 0;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (keepsJobs) note('register', error);
      else {
        stopping.abort();
        throw error;
      }
    }
    while ((await drawnProofs.proveNext(stopping.signal, true)) === 'proved');
    await sleep(retryPauseMs);
  }
}

/** One thing at a time: the computing process has the machine to itself. */
async function workLoop(parts: NodeParts, held: HeldLeases, stop: AbortSignal): Promise<void> {
  const { controlPlane, jobProcess, nodeId, settings } = parts;
  const drawnProofs = openDrawnProofs(parts, runProof);
  while (!stop.aborted) {
    try {
      const own = await drawnProofs.proveNext(stop);
      // Another job would keep this node from proofs that its stake is for.
      if (own === 'held') await sleep(retryPauseMs, null, { signal: stop }).catch(() => null);
      if (own !== 'free') continue;
      if (settings.trains) {
        const question = { nodeId, waitMs: settings.proves ? 0 : acquireWaitMs, holding: held.ids() };
        const grant = parseAcquired(await controlPlane.send(pattern.leaseAcquire, question, acquirePatience));
        if (grant !== null) {
          const cancelled = new AbortController();
          const cancel = (): void => {
            cancelled.abort();
            jobProcess.clear();
          };
          const work = () => runLease(grant, parts, AbortSignal.any([stop, cancelled.signal]));
          await held.hold(grant, cancel, work);
          continue;
        }
      }
      if (!settings.proves) continue;
      const answer = await controlPlane.send(pattern.proofAcquire, { nodeId, waitMs: acquireWaitMs });
      const { task } = parseProofAcquired(answer);
      // Another node may take the segment meanwhile.
      if (task !== null && !(await runProof(task, parts, stop))) await sleep(retryPauseMs);
    } catch (error) {
      if (stop.aborted) return;
      parts.watch.failure('work');
      note('work', error);
      await sleep(retryPauseMs);
    }
  }
}
