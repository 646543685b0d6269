/** The node's life: register, keep an enclave ready, ask for leases, beat while one is held, collect what is owed. */
import { availableParallelism, totalmem } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CodedError, toHex } from '#attestation';
import { startEnclave, type EnclaveClient } from '#libs/enclave-channel';
import {
  pattern,
  type HeartbeatAnswer,
  type LeaseAcquired,
  type LeaseGrant,
  type NodeRegistered,
  type TeeKind,
} from '#libs/messaging';
import { addressBytes } from '#libs/settlement';
import { connectControlPlane, type ControlPlane } from './control-plane.js';
import { collectResult, runLease, type RunnerParts } from './job-runner.js';
import { openPendingResults } from './pending.js';
import { createProvider } from './provider.js';
import type { HostSettings } from './settings.js';
import { createCipherStore } from './store.js';

const version = '0.1.0';
const acquireWaitMs = 5000;
const collectPauseMs = 250;
const retryPauseMs = 1000;

const teeOf: Readonly<Record<HostSettings['enclave']['attester'], TeeKind>> = {
  snp: 'snp',
  tdx: 'tdx',
  simulated: 'simulated-snp',
};

export interface Agent {
  readonly nodeId: string;
  /** Ends when `stop` was called and the lease in hand is let go. */
  readonly done: Promise<void>;
  stop(): void;
}

export async function startAgent(settings: HostSettings): Promise<Agent> {
  const { controlPlane: address, enclave } = settings;
  const controlPlane = connectControlPlane(address.dispatch.host, address.dispatch.port, address.apiKey);
  const provider = createProvider(settings);
  const parts: RunnerParts = {
    controlPlane,
    provider,
    store: createCipherStore(address.url, address.apiKey),
    pending: openPendingResults(join(settings.dataDirectory, 'pending')),
    threads: enclave.threads,
  };
  const sessions = createSessions(settings, provider.account);
  await sessions.current();
  const node = await controlPlane.send<NodeRegistered>(pattern.nodeRegister, {
    name: settings.name,
    provider: `0x${toHex(provider.account)}`,
    capabilities: {
      tee: teeOf[enclave.attester],
      cores: availableParallelism(),
      memoryMiB: Math.floor(totalmem() / 2 ** 20),
      version,
    },
  });
  const state: AgentState = { stopping: false, leases: new Map() };
  const loops = [
    leaseLoop(node.nodeId, sessions, parts, state),
    beatLoop(node, controlPlane, state),
    collectLoop(parts, state),
  ];
  return {
    nodeId: node.nodeId,
    done: Promise.all(loops).then(() => {
      provider.close();
      controlPlane.close();
    }),
    stop: () => (state.stopping = true),
  };
}

interface AgentState {
  stopping: boolean;
  /** Leases in hand by id, with what cancels them. */
  readonly leases: Map<string, { readonly grant: LeaseGrant; cancel(): void }>;
}

interface Sessions {
  /** The running enclave with its session open; a fresh one where the last has ended. */
  current(): Promise<EnclaveClient>;
}

function createSessions(settings: HostSettings, provider: Uint8Array): Sessions {
  const { attester, vendor, gpus } = settings.enclave;
  const { chainId, registry } = settings.chain.deployment;
  const args = ['--attester', attester, '--gpus', gpus, ...(vendor === undefined ? [] : ['--vendor', vendor])];
  let running: EnclaveClient | null = null;
  return {
    async current() {
      if (running !== null) return running;
      const { client } = await startEnclave(args);
      await client.request('open', { provider, chainId, registry: addressBytes(registry) });
      client.onLost(() => (running = null));
      running = client;
      return client;
    },
  };
}

async function leaseLoop(nodeId: string, sessions: Sessions, parts: RunnerParts, state: AgentState): Promise<void> {
  while (!state.stopping) {
    try {
      const enclave = await sessions.current();
      const grant = await parts.controlPlane.send<LeaseAcquired>(pattern.leaseAcquire, {
        nodeId,
        waitMs: acquireWaitMs,
      });
      if (grant === null) continue;
      const cancel = (): void => void enclave.request('cancel', {}).catch(() => undefined);
      state.leases.set(grant.leaseId, { grant, cancel });
      await runLease(grant, enclave, parts);
      state.leases.delete(grant.leaseId);
    } catch (error) {
      note('lease', error);
      await sleep(retryPauseMs);
    }
  }
}

async function beatLoop(node: NodeRegistered, controlPlane: ControlPlane, state: AgentState): Promise<void> {
  while (!state.stopping) {
    await sleep(node.heartbeatSeconds * 1000);
    const leases = [...state.leases.values()].map(({ grant: { leaseId, fence } }) => ({ leaseId, fence }));
    try {
      const answer = await controlPlane.send<HeartbeatAnswer>(pattern.nodeHeartbeat, { nodeId: node.nodeId, leases });
      for (const leaseId of [...answer.cancel, ...answer.lost]) state.leases.get(leaseId)?.cancel();
    } catch (error) {
      note('heartbeat', error);
    }
  }
}

/**
 * Commits, reveals and withdraws as soon as each escrow allows it; survives restarts because the results are on disk.
 * What a lease in hand still works on is left to it.
 */
async function collectLoop(parts: RunnerParts, state: AgentState): Promise<void> {
  while (!state.stopping) {
    for (const jobId of parts.pending.jobs()) {
      if ([...state.leases.values()].some(({ grant }) => grant.job.jobId === `0x${jobId}`)) continue;
      try {
        await collectResult(jobId, parts);
      } catch (error) {
        note('collect', error);
        await sleep(retryPauseMs);
      }
    }
    await sleep(collectPauseMs);
  }
}

function note(what: string, error: unknown): void {
  const detail = error instanceof CodedError ? error.toJSON() : { code: String(error) };
  process.stderr.write(`${JSON.stringify({ what, ...detail })}\n`);
}
