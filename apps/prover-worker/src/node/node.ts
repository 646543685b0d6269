/** The node's life: register, ask for jobs and for segments to prove, beat while a job is held, collect what is owed. */
import { availableParallelism, totalmem } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { to0x } from '#attestation/base';
import {
  beat,
  connectControlPlane,
  createCipherStore,
  note,
  type NodeOffer,
  openLine,
  parseAcquired,
  parseProofAcquired,
  parseRegistered,
} from '#libs/dispatch-client';
import { serveHealth, watchNode } from '#libs/telemetry';
import { groth16KeysMax, pattern, protocolVersion, type LeaseGrant, type NodeRegistered } from '#libs/wire';
import { plansOf } from '../proving/key-folder.js';
import { createJobProcess } from './job-process.js';
import { openEscrow } from './escrow.js';
import { handOverLeft, openProofTeller } from './hand-over.js';
import { openKeptJobs } from './kept-jobs.js';
import { openDrawnProofs } from './drawn-proofs.js';
import type { NodeParts } from './parts.js';
import { runProof } from './proof-task.js';
import type { ProverSettings } from './settings.js';
import { runLease } from './training-lease.js';

const version = '0.1.0';
const acquireWaitMs = 1000;
const collectPauseMs = 500;
const retryPauseMs = 1000;

interface ProverNode {
  readonly nodeId: string;
  /** Ends when `stop` was called and the work in hand is done or given back. */
  readonly done: Promise<void>;
  stop(): void;
}

export async function startNode(settings: ProverSettings): Promise<ProverNode> {
  const { urls, dispatch, apiKey, answerSeconds } = settings.controlPlane;
  const watch = watchNode(['controlPlane'], 'prover-worker', settings.logLevel);
  const health = settings.health === undefined ? null : await serveHealth(settings.health, watch);
  const controlPlane = connectControlPlane(await openLine(dispatch), apiKey, 1000 * answerSeconds);
  const kept = openKeptJobs(join(settings.dataDirectory, 'jobs'));
  for (const former of kept.layAside()) note('kept job', former);
  const escrow = openEscrow(settings, kept);
  const keys = plansOf(settings.groth16Keys).slice(0, groth16KeysMax);
  const offer: NodeOffer = {
    name: settings.name,
    protocol: protocolVersion,
    provider: to0x(escrow.account),
    capabilities: {
      tee: 'none',
      cores: Math.min(settings.threads, availableParallelism()),
      memoryMiB: Math.min(settings.memoryMiB, Math.floor(totalmem() / 2 ** 20)),
      ...(keys.length > 0 && { groth16Keys: keys }),
      version,
    },
  };
  const node = parseRegistered(await controlPlane.send(pattern.nodeRegister, offer));
  watch.depends('controlPlane', true);
  watch.event('registered', { nodeId: node.nodeId, provider: offer.provider });
  const stop = new AbortController();
  const parts: NodeParts = {
    ...{ settings, nodeId: node.nodeId, leaseSeconds: node.leaseSeconds, controlPlane, escrow, kept },
    store: createCipherStore(urls, apiKey),
    jobProcess: createJobProcess(settings),
    watch,
  };
  const held = new Map<string, Held>();
  const loops = [workLoop(parts, held, stop.signal), beatLoop(parts, node, offer, held, stop.signal)];
  loops.push(handOverLeft(parts, stop.signal), collectLoop(parts, stop.signal));
  return {
    nodeId: node.nodeId,
    done: Promise.all(loops).then(() => {
      parts.jobProcess.clear();
      escrow.close();
      controlPlane.close();
      health?.close();
    }),
    stop: () => {
      watch.event('stopping', { leases: held.size });
      stop.abort();
      parts.jobProcess.clear();
    },
  };
}

/** A lease in hand, and what ends the work on it. */
interface Held {
  readonly grant: LeaseGrant;
  readonly cancel: AbortController;
}

/** One thing at a time: the computing process has the machine to itself. */
async function workLoop(parts: NodeParts, held: Map<string, Held>, stop: AbortSignal): Promise<void> {
  const { controlPlane, nodeId, settings } = parts;
  const drawnProofs = openDrawnProofs(parts, runProof);
  while (!stop.aborted) {
    try {
      if (settings.proves && (await drawnProofs.proveNext(stop))) continue;
      if (settings.trains) {
        const question = { nodeId, waitMs: settings.proves ? 0 : acquireWaitMs, holding: [...held.keys()] };
        const grant = parseAcquired(await controlPlane.send(pattern.leaseAcquire, question));
        if (grant !== null) {
          const cancel = new AbortController();
          held.set(grant.leaseId, { grant, cancel });
          parts.watch.leases(held.size);
          await runLease(grant, parts, AbortSignal.any([stop, cancel.signal])).finally(() => {
            held.delete(grant.leaseId);
            parts.watch.leases(held.size);
          });
          continue;
        }
      }
      if (!settings.proves) continue;
      const answer = await controlPlane.send(pattern.proofAcquire, { nodeId, waitMs: acquireWaitMs });
      const { task } = parseProofAcquired(answer);
      if (task !== null) await runProof(task, parts, stop);
    } catch (error) {
      if (stop.aborted) return;
      parts.watch.failure('work');
      note('work', error);
      await sleep(retryPauseMs);
    }
  }
}

async function beatLoop(
  { controlPlane, nodeId, jobProcess, watch }: NodeParts,
  { heartbeatSeconds }: NodeRegistered,
  offer: NodeOffer,
  held: Map<string, Held>,
  stop: AbortSignal,
): Promise<void> {
  while (!stop.aborted) {
    await sleep(1000 * heartbeatSeconds, null, { signal: stop }).catch(() => null);
    const leases = [...held.values()].map(({ grant: { leaseId, fence } }) => ({ leaseId, fence }));
    try {
      const answer = await beat(controlPlane, offer, { nodeId, leases });
      watch.depends('controlPlane', true);
      for (const leaseId of [...answer.cancel, ...answer.lost]) {
        if (!held.has(leaseId)) continue;
        held.get(leaseId)!.cancel.abort();
        jobProcess.clear();
      }
    } catch (error) {
      watch.depends('controlPlane', false);
      watch.failure('heartbeat');
      note('heartbeat', error);
    }
  }
}

/** Commits, discharges, finalizes and withdraws as soon as each escrow allows it; survives restarts. */
async function collectLoop(parts: NodeParts, stop: AbortSignal): Promise<void> {
  const { escrow, kept, watch } = parts;
  const tellProofs = openProofTeller(parts);
  const quietUntil = new Map<string, number>();
  while (!stop.aborted) {
    const open = kept.list();
    watch.escrows(open.length);
    for (const job of open) {
      if ((quietUntil.get(job.jobId) ?? 0) > performance.now()) continue;
      try {
        const told = tellProofs(job);
        told.catch(() => undefined);
        if (!(await escrow.collect(job))) {
          kept.remove(job.jobId);
          watch.event('escrow-step', { job: job.jobId, step: 'end' });
        }
        await told;
      } catch (error) {
        watch.failure('escrow');
        note(`collect ${job.jobId}`, error);
        quietUntil.set(job.jobId, performance.now() + 10 * retryPauseMs);
      }
    }
    await sleep(collectPauseMs, null, { signal: stop }).catch(() => null);
  }
}
