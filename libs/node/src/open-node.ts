/** What every node begins with: its data directory, log, metrics and health, connection and store, and its registration. */
import { mkdirSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import { join } from 'node:path';
import { to0x } from '#attestation/base';
import { lockFile } from '#libs/process';
import { serveHealth, watchNode, type NodeWatch } from '#libs/telemetry';
import { pattern, protocolVersion, type NodeRegistered } from '#libs/wire';
import { parseRegistered } from './answers.js';
import { openConnection } from './connection.js';
import { connectControlPlane, type ControlPlane } from './control-plane.js';
import type { NodeOffer } from './heartbeat.js';
import type { ControlPlaneAddress } from './node-settings.js';
import { createCipherStore, type CipherStore } from './store.js';

const version = '0.1.0';

/** Of this machine. */
export const machine = { cores: availableParallelism(), memoryMiB: Math.floor(totalmem() / 2 ** 20) };

interface Settings {
  readonly dataDirectory: string;
  readonly controlPlane: ControlPlaneAddress;
  readonly health?: Parameters<typeof serveHealth>[0] | undefined;
  readonly logLevel: Parameters<typeof watchNode>[2];
}

interface OpenNode {
  readonly watch: NodeWatch;
  readonly controlPlane: ControlPlane;
  readonly store: CipherStore;
  close(): void;
}

/**
 * Two processes with one directory would tear each other's files, and remove what the other writes.
 *
 * @param name  of the kind of node: one of each may have its files there
 * @param parts  what the node depends on, for its health
 * @throws ConfigurationError DATA_DIRECTORY_IN_USE
 */
export async function openNode(
  settings: Settings,
  name: string,
  parts: Parameters<typeof watchNode>[0],
): Promise<OpenNode> {
  mkdirSync(settings.dataDirectory, { recursive: true, mode: 0o700 });
  const lock = lockFile(join(settings.dataDirectory, `${name}.lock`));
  const { dispatch, apiKey, answerSeconds, urls } = settings.controlPlane;
  const watch = watchNode(parts, name, settings.logLevel);
  const health = settings.health === undefined ? null : await serveHealth(settings.health, watch);
  const controlPlane = connectControlPlane(await openConnection(dispatch), apiKey, 1000 * answerSeconds);
  return {
    watch,
    controlPlane,
    store: createCipherStore(urls, apiKey),
    close() {
      controlPlane.close();
      health?.close();
      lock.release();
    },
  };
}

/** @param account  that is paid, 20 bytes */
export function offerOf(
  name: string,
  account: Uint8Array,
  capabilities: Omit<NodeOffer['capabilities'], 'version'>,
): NodeOffer {
  return { name, protocol: protocolVersion, provider: to0x(account), capabilities: { ...capabilities, version } };
}

/** @throws Rejection CONTROL_PLANE_ANSWER, PROTOCOL_VERSION and those of the control plane */
export async function register(
  { controlPlane, watch }: Pick<OpenNode, 'controlPlane' | 'watch'>,
  offer: NodeOffer,
): Promise<NodeRegistered> {
  const node = parseRegistered(await controlPlane.send(pattern.nodeRegister, offer));
  watch.depends('controlPlane', true);
  watch.event('registered', { nodeId: node.nodeId, provider: offer.provider });
  return node;
}
