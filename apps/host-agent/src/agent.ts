/** The node's life: register, keep an enclave ready, ask for leases, beat while one is held, collect what is owed. */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CollateralStore } from '#libs/collateral';
import { connectEnclave, startEnclave, type EnclaveClient } from '#libs/enclave-channel';
import {
  brokerPatience,
  collectAll,
  createHeldLeases,
  keepBeating,
  machine,
  note,
  offerOf,
  openNode,
  parseAcquired,
  register,
  untilEnded,
  type HeldLeases,
  type RunningNode,
} from '#libs/node';
import { addressBytes } from '#libs/settlement';
import { netOpNames } from '#libs/step';
import type { NodeWatch } from '#libs/telemetry';
import { pattern, type NodeRegistered, type TeeKind } from '#libs/wire';
import { withEndorsements } from './endorsements.js';
import { collectEscrow, tellAgain } from './hand-over.js';
import { cancelLease, runLease, type LeaseInHand, type RunnerParts } from './job-runner.js';
import { tellKeptStake } from './kept-stake.js';
import { openPendingEscrows } from './pending.js';
import { createProvider } from './provider.js';
import type { HostSettings } from './settings.js';
import { workAside } from './worker.js';

const acquireWaitMs = 2000;
const acquirePatience = { attempts: 1, answerWithinMs: acquireWaitMs + 5000 };
const retryPauseMs = 1000;

const teeOf: Readonly<Record<HostSettings['enclave']['attester'], TeeKind>> = {
  snp: 'snp',
  tdx: 'tdx',
  simulated: 'simulated-snp',
};

export async function startAgent(settings: HostSettings): Promise<RunningNode> {
  const { enclave } = settings;
  const opened = await openNode(settings, 'host-agent', ['controlPlane', 'enclave']);
  const { watch, controlPlane, store } = opened;
  const pending = openPendingEscrows(join(settings.dataDirectory, 'pending'));
  const provider = createProvider(settings, pending);
  const parts: RunnerParts = {
    controlPlane,
    provider,
    store,
    pending,
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
  parts.pending.tidy();
  tellAgain(parts.pending);
  const sessions = createSessions(settings, provider.own.account, watch);
  await sessions.current();
  const semantics = { fxt: [1, 2], ops: [...netOpNames], start: true, pieces: true };
  const capabilities = { tee: teeOf[enclave.attester], ...machine, parallel: true, ...semantics };
  const offer = offerOf(settings.name, provider.own.account, capabilities);
  const node = await register(opened, offer);
  const held = createHeldLeases(watch);
  const [stopping, ended] = [new AbortController(), new AbortController()];
  const stop = stopping.signal;
  const collection = {
    jobs: () => parts.pending.jobs(),
    isInHand: (jobId: string) => held.hasJob(`0x${jobId}`),
    collect: (jobId: string) => collectEscrow(jobId, node.nodeId, parts),
    watch,
  };
  const loops = [
    leaseLoop(node, sessions, parts, held, stop).finally(() => ended.abort()),
    keepBeating(node, offer, held, parts, ended.signal),
    collectAll(collection, stop),
  ];
  const tell = () => tellKeptStake(provider, watch);
  const lastWord = Promise.all(loops).then(tell, () => undefined);
  return {
    nodeId: node.nodeId,
    done: untilEnded([...loops, lastWord], stopping, () => {
      sessions.close();
      provider.close();
      opened.close();
    }),
    stop() {
      watch.event('stopping', { leases: held.size });
      stopping.abort();
    },
  };
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
  held: HeldLeases,
  stop: AbortSignal,
): Promise<void> {
  while (!stop.aborted) {
    try {
      const enclave = await sessions.current();
      const question = { nodeId: node.nodeId, waitMs: acquireWaitMs, holding: held.ids() };
      const grant = parseAcquired(await parts.controlPlane.send(pattern.leaseAcquire, question, acquirePatience));
      if (grant === null) {
        await workAside(node, enclave, parts, stop);
        continue;
      }
      const hand: LeaseInHand = { grant, node, isCancelled: stop.aborted, engaged: null };
      const cancel = (): void =>
        void cancelLease(hand, enclave, parts).catch((error: unknown) => note('cancel', error));
      await held.hold(grant, cancel, () => runLease(hand, enclave, parts));
    } catch (error) {
      parts.watch.failure('work');
      note('lease', error);
      await sleep(retryPauseMs);
    }
  }
}
