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
import { groth16KeysMax, pattern } from '#libs/wire';
import { plansOf } from '../proving/key-folder.js';
import { openDrawnProofs } from './drawn-proofs.js';
import { openEscrow } from './escrow.js';
import { handOverLeft, openProofTeller } from './deliveries.js';
import { createJobProcess } from './job-process.js';
import { openKeptJobs } from './kept-jobs.js';
import type { NodeParts } from './parts.js';
import { runProof } from './proof-task.js';
import type { ProverSettings } from './settings.js';
import { runLease } from './training-lease.js';

const acquireWaitMs = 1000;
const acquirePatience = { attempts: 1, answerWithinMs: acquireWaitMs + 5000 };
const retryPauseMs = 1000;

export async function startNode(settings: ProverSettings): Promise<RunningNode> {
  const opened = await openNode(settings, 'prover-worker', ['controlPlane']);
  const { watch, controlPlane, store } = opened;
  const kept = openKeptJobs(join(settings.dataDirectory, 'jobs'));
  for (const former of kept.layAside()) note('kept job', former);
  const escrow = openEscrow(settings, kept);
  const keys = plansOf(settings.groth16Keys).slice(0, groth16KeysMax);
  const offer = offerOf(settings.name, escrow.account, {
    tee: 'none',
    cores: Math.min(settings.threads, machine.cores),
    memoryMiB: Math.min(settings.memoryMiB, machine.memoryMiB),
    ...(keys.length > 0 && { groth16Keys: keys }),
  });
  const node = await register(opened, offer);
  const { nodeId, leaseSeconds } = node;
  const [stopping, ended] = [new AbortController(), new AbortController()];
  const stop = stopping.signal;
  const jobProcess = createJobProcess(settings);
  const parts: NodeParts = { settings, nodeId, leaseSeconds, controlPlane, escrow, kept, store, jobProcess, watch };
  const held = createHeldLeases(watch);
  const loops = [
    workLoop(parts, held, stop).finally(() => ended.abort()),
    keepBeating(node, offer, held, parts, ended.signal),
    handOverLeft(parts, stop),
    collectAll(collectionOf(parts), stop),
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

/** One thing at a time: the computing process has the machine to itself. */
async function workLoop(parts: NodeParts, held: HeldLeases, stop: AbortSignal): Promise<void> {
  const { controlPlane, jobProcess, nodeId, settings } = parts;
  const drawnProofs = openDrawnProofs(parts, runProof);
  while (!stop.aborted) {
    try {
      if (settings.proves && (await drawnProofs.proveNext(stop))) continue;
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

/** Every kept job, whether a lease works on it or not: its proofs and its stake are to be seen to in any case. */
function collectionOf(parts: NodeParts) {
  const { escrow, kept, watch } = parts;
  const tellProofs = openProofTeller(parts);
  return {
    jobs: () => kept.ids(),
    isInHand: () => false,
    async collect(jobId: string) {
      const job = kept.find(jobId);
      if (job === null) return 'end';
      const told = tellProofs(job).catch((error: unknown) => {
        watch.failure('escrow');
        note(`tell ${jobId}`, error);
      });
      const step = await escrow.collect(job);
      if (step === 'end') kept.remove(jobId);
      await told;
      return step;
    },
    watch,
  };
}
