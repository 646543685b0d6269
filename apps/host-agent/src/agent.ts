/** The node's life: register, keep an enclave ready, ask for leases, beat while one is held, collect what is owed. */
import { availableParallelism, totalmem } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { to0x } from '#attestation/base';
import { CollateralStore } from '#libs/collateral';
import {
  beat,
  brokerPatience,
  connectControlPlane,
  createCipherStore,
  note,
  type NodeOffer,
  openLine,
  parseAcquired,
  parseRegistered,
} from '#libs/dispatch-client';
import { connectEnclave, startEnclave, type EnclaveClient } from '#libs/enclave-channel';
import { addressBytes } from '#libs/settlement';
import { serveHealth, watchNode, type NodeWatch } from '#libs/telemetry';
import { pattern, protocolVersion, type LeaseGrant, type NodeRegistered, type TeeKind } from '#libs/wire';
import { withEndorsements } from './endorsements.js';
import { collectEscrow, tellAgain } from './hand-over.js';
import { cancelLease, runLease, type LeaseInHand, type RunnerParts } from './job-runner.js';
import { openPendingEscrows } from './pending.js';
import { createProvider } from './provider.js';
import type { HostSettings } from './settings.js';
import { workAside } from './worker.js';

const version = '0.1.0';
const acquireWaitMs = 2000;
const acquirePatience = { attempts: 1, answerWithinMs: acquireWaitMs + 5000 };
const beatWithinMsMin = 1000;
const collectPauseMs = 250;
const collectPauseMsMax = 5000;
const retryPauseMs = 1000;
const retryPauseMsMax = 30_000;

const teeOf: Readonly<Record<HostSettings['enclave']['attester'], TeeKind>> = {
  snp: 'snp',
  tdx: 'tdx',
  simulated: 'simulated-snp',
};

interface Agent {
  readonly nodeId: string;
  /** Ends when `stop` was called and the lease in hand is let go. */
  readonly done: Promise<void>;
  stop(): void;
}

export async function startAgent(settings: HostSettings): Promise<Agent> {
  const { controlPlane: address, enclave } = settings;
  const watch = watchNode(['controlPlane', 'enclave'], 'host-agent', settings.logLevel);
  const health = settings.health === undefined ? null : await serveHealth(settings.health, watch);
  const line = await openLine(address.dispatch);
  const controlPlane = connectControlPlane(line, address.apiKey, 1000 * address.answerSeconds);
  const provider = createProvider(settings);
  const parts: RunnerParts = {
    controlPlane,
    provider,
    store: createCipherStore(address.urls, address.apiKey),
    pending: openPendingEscrows(join(settings.dataDirectory, 'pending')),
    threads: enclave.threads,
    brokers: settings.brokers,
    attestors: settings.attestors,
    hostRoot: settings.hostRoot,
    patienceWithBroker: (goesOn) =>
      brokerPatience({
        withinMs: 1000 * settings.brokerWaitSeconds,
        goesOn,
        onPause(error) {
          watch.failure('broker');
          note('broker', error);
        },
      }),
    watch,
  };
  for (const former of parts.pending.layAside()) note('pending', former);
  tellAgain(parts.pending);
  const sessions = createSessions(settings, provider.own.account, watch);
  await sessions.current();
  const offer: NodeOffer = {
    name: settings.name,
    protocol: protocolVersion,
    provider: to0x(provider.own.account),
    capabilities: {
      tee: teeOf[enclave.attester],
      cores: availableParallelism(),
      memoryMiB: Math.floor(totalmem() / 2 ** 20),
      parallel: true,
      version,
    },
  };
  const node = parseRegistered(await controlPlane.send(pattern.nodeRegister, offer));
  watch.depends('controlPlane', true);
  watch.event('registered', { nodeId: node.nodeId, provider: offer.provider });
  const state: AgentState = { stop: new AbortController(), leases: new Map() };
  const loops = [
    leaseLoop(node, sessions, parts, state),
    beatLoop(node, offer, parts, state),
    collectLoop(parts, state),
  ];
  return {
    nodeId: node.nodeId,
    done: Promise.all(loops).then(() => {
      sessions.close();
      provider.close();
      controlPlane.close();
      health?.close();
    }),
    stop() {
      watch.event('stopping', { leases: state.leases.size });
      state.stop.abort();
    },
  };
}

interface AgentState {
  /** Aborted when no further lease is to be taken. */
  readonly stop: AbortController;
  /** Leases in hand by id, with what cancels them. */
  readonly leases: Map<string, { readonly grant: LeaseGrant; cancel(): void }>;
}

interface Sessions {
  /** The running enclave with its session open; a fresh one where the last has ended. */
  current(): Promise<EnclaveClient>;
  close(): void;
}

function createSessions(settings: HostSettings, provider: Uint8Array, watch: NodeWatch): Sessions {
  const { address, attester, vendor, gpus } = settings.enclave;
  const { chainId, snpRegistry } = settings.chain.deployment;
  const args = ['--attester', attester, '--gpus', gpus, ...(vendor === undefined ? [] : ['--vendor', vendor])];
  const { fetch, mirrors } = settings.endorsements;
  const directory = join(settings.dataDirectory, 'collateral');
  const store = fetch && attester === 'snp' ? new CollateralStore({ directory, mirrors }) : null;
  let running: EnclaveClient | null = null;
  return {
    async current() {
      if (running !== null) return running;
      const started = address === undefined ? (await startEnclave(args)).client : await connectEnclave(address);
      const client = store === null ? started : withEndorsements(started, store);
      await client.request('open', { provider, chainId, registry: addressBytes(snpRegistry) });
      client.onLost(() => {
        running = null;
        watch.depends('enclave', false);
        watch.event('enclave-lost');
      });
      running = client;
      watch.depends('enclave', true);
      watch.event('enclave-ready', { attester, at: address ?? 'a process of this host' });
      return client;
    },
    close: () => running?.close(),
  };
}

async function leaseLoop(
  node: NodeRegistered,
  sessions: Sessions,
  parts: RunnerParts,
  state: AgentState,
): Promise<void> {
  while (!state.stop.signal.aborted) {
    try {
      const enclave = await sessions.current();
      const question = { nodeId: node.nodeId, waitMs: acquireWaitMs, holding: [...state.leases.keys()] };
      const grant = parseAcquired(await parts.controlPlane.send(pattern.leaseAcquire, question, acquirePatience));
      if (grant === null) {
        await workAside(node, enclave, parts, state.stop.signal);
        continue;
      }
      const hand: LeaseInHand = { grant, node, isCancelled: state.stop.signal.aborted, engaged: null };
      const cancel = (): void =>
        void cancelLease(hand, enclave, parts).catch((error: unknown) => note('cancel', error));
      state.leases.set(grant.leaseId, { grant, cancel });
      parts.watch.leases(state.leases.size);
      await runLease(hand, enclave, parts).finally(() => {
        state.leases.delete(grant.leaseId);
        parts.watch.leases(state.leases.size);
      });
    } catch (error) {
      parts.watch.failure('work');
      note('lease', error);
      await sleep(retryPauseMs);
    }
  }
}

async function beatLoop(
  node: NodeRegistered,
  offer: NodeOffer,
  { controlPlane, watch }: RunnerParts,
  state: AgentState,
): Promise<void> {
  // One that gets lost is not asked again: the next one follows.
  const patience = { attempts: 1, answerWithinMs: Math.max(1000 * node.heartbeatSeconds, beatWithinMsMin) };
  while (!state.stop.signal.aborted) {
    await pause(node.heartbeatSeconds * 1000, state);
    const leases = [...state.leases.values()].map(({ grant: { leaseId, fence } }) => ({ leaseId, fence }));
    try {
      const answer = await beat(controlPlane, offer, { nodeId: node.nodeId, leases }, patience);
      watch.depends('controlPlane', true);
      for (const leaseId of [...answer.cancel, ...answer.lost]) state.leases.get(leaseId)?.cancel();
    } catch (error) {
      watch.depends('controlPlane', false);
      watch.failure('heartbeat');
      note('heartbeat', error);
    }
  }
}

/**
 * Commits, reveals and withdraws as soon as each escrow allows it; survives restarts because the escrows are on disk.
 * One that is slow or fails keeps no other waiting. What a lease in hand still works on is left to it.
 */
async function collectLoop(parts: RunnerParts, state: AgentState): Promise<void> {
  const busy = new Map<string, Promise<void>>();
  const inHand = (jobId: string): boolean =>
    [...state.leases.values()].some(({ grant }) => grant.job.jobId === `0x${jobId}`);
  const failures = new Map<string, number>();
  /** Since when there was nothing to do; looked at every so often, a host with many escrows would do nothing else. */
  const quietSince = new Map<string, number>();
  async function collect(jobId: string): Promise<void> {
    try {
      const move = await collectEscrow(jobId, parts);
      failures.delete(jobId);
      if (move !== 'wait') parts.watch.event('escrow-step', { job: jobId, step: move });
      const now = performance.now();
      if (move !== 'wait') quietSince.delete(jobId);
      else if (!quietSince.has(jobId)) quietSince.set(jobId, now);
      const quietMs = now - (quietSince.get(jobId) ?? now);
      await pause(Math.min(Math.max(collectPauseMs, quietMs / 4), collectPauseMsMax), state);
    } catch (error) {
      parts.watch.failure('escrow');
      note(`collect ${jobId}`, error);
      const failed = failures.get(jobId) ?? 0;
      failures.set(jobId, failed + 1);
      await pause(Math.min(retryPauseMs * 2 ** failed, retryPauseMsMax), state);
    } finally {
      busy.delete(jobId);
    }
  }
  while (!state.stop.signal.aborted) {
    const open = parts.pending.jobs();
    parts.watch.escrows(open.length);
    for (const jobId of open) {
      if (!busy.has(jobId) && !inHand(jobId)) busy.set(jobId, collect(jobId));
    }
    await pause(collectPauseMs, state);
  }
  await Promise.all(busy.values());
}

/** Waits, but no longer than until the agent is to stop. */
async function pause(milliseconds: number, { stop }: AgentState): Promise<void> {
  await sleep(milliseconds, null, { signal: stop.signal }).catch(() => null);
}
