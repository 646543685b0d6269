/** `veritrain host init`: a folder with the settings of a guest and its agent, their units, and keys that only their owner reads. */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { verifyGuestManifest, verifyLaunches, type GuestManifest } from '#attestation';
import { ConfigurationError, Rejection } from '#attestation/base';
import { readBytes, readJson, writeSecret, writeWhole } from '#libs/client/files';
import { checkGuestSettings, type GuestSettings } from '#libs/guest';
import { checkImage, digestsOf } from './image.js';
import { placesOf } from './places.js';

export interface AgentOptions {
  readonly controlPlane: string;
  /** File: JSON. */
  readonly dispatch: string;
  /** File. */
  readonly apiKey: string;
  readonly rpc: string;
  /** File. */
  readonly deployment: string;
}

interface InitOptions {
  readonly dir: string;
  readonly number: number;
  readonly profile: 'snp' | 'dev';
  readonly image: string;
  readonly qemu: string;
  readonly vcpus: number;
  readonly memoryMiB: number;
  readonly runDir: string;
  readonly state: string;
  readonly agent?: AgentOptions;
  /** SEV-SNP alone. */
  readonly snp?: SnpOptions;
  /** Of profile dev, where the image was signed: held against it and not kept. */
  readonly signed?: SignedOptions;
}

export interface SignedOptions {
  readonly manifest: string;
  readonly publicKey: Uint8Array;
}

export interface SnpOptions extends SignedOptions {
  readonly firmware: string;
  readonly cpu: string;
  readonly features: string;
  readonly encryption: { readonly cbitpos: number; readonly reducedPhysBits: number };
  readonly gpus: readonly string[];
}

interface Written {
  readonly file: string;
  readonly what: string;
}

const manifestMost = 4 * 1024 * 1024;
const firmwareMost = 64 * 1024 * 1024;

/** Keys that are there are kept. @throws ConfigurationError FILE_*, GUEST_SHAPE; Rejection COSE_*, GUEST_* */
export async function initHost(options: InitOptions): Promise<readonly Written[]> {
  const places = placesOf(options.dir, options.number);
  const image = resolve(options.image);
  const found = await digestsOf(image);
  const manifest = options.snp === undefined ? null : await readManifest(options.snp);
  const described = options.signed === undefined ? manifest : await verified(options.signed);
  if (described !== null) checkImage(found, described);
  const platform = manifest === null ? { kind: 'dev' } : snpSettings(options.snp!, manifest, options.vcpus);
  const { qemu, vcpus, memoryMiB } = options;
  const runDirectory = resolve(options.runDir, `${options.number}`);
  const settings = { version: 1, qemu, image, runDirectory, vcpus, memoryMiB, platform };
  const checked = checkGuestSettings(settings, places.guest);
  const written: Written[] = [];
  const write = (file: string, what: string, content: string, mode: number): void => {
    writeWhole(file, content, mode);
    written.push({ file, what });
  };
  mkdirSync(options.dir, { recursive: true, mode: 0o755 });
  write(places.guest, 'how QEMU starts the guest', jsonText(checked), 0o644);
  if (manifest !== null) write(places.manifest, 'what the launch is measured as', jsonText(manifest), 0o644);
  for (const file of [places.providerKey, places.hostSecret]) {
    if (existsSync(file)) continue;
    writeSecret(file, new Uint8Array(randomBytes(32)));
    written.push({ file, what: 'a new key; keep a copy where the machine is not' });
  }
  if (options.agent !== undefined)
    write(places.agent, 'settings of the host agent', jsonText(agentSettings(options, checked, options.agent)), 0o600);
  for (const { name, text } of unitsFor(options.dir)) write(join(places.units, name), 'unit for systemd', text, 0o644);
  return written;
}

function verified({ manifest, publicKey }: SignedOptions): Promise<GuestManifest> {
  return verifyGuestManifest(readBytes(manifest, manifestMost), publicKey);
}

async function readManifest({ firmware, ...signed }: SnpOptions): Promise<GuestManifest> {
  const manifest = await verified(signed);
  if (manifest.flavour === 'dev')
    throw new Rejection('GUEST_FLAVOUR', {
      ...{ expected: 'an image of flavour cpu or gpu', got: 'dev, whose hardware is simulated', rule: 'host init' },
      action: 'take the production image, or --profile dev',
    });
  await verifyLaunches(manifest, readBytes(firmware, firmwareMost));
  return manifest;
}

function snpSettings(options: SnpOptions, manifest: GuestManifest, vcpus: number): GuestSettings['platform'] {
  const { cpu, features, encryption, firmware } = options;
  const launch = manifest.launch.find(
    (entry) => entry.vcpus === vcpus && entry.cpu === cpu && entry.features === features,
  );
  if (launch === undefined)
    throw new ConfigurationError('GUEST_SHAPE', {
      expected: manifest.launch.map((one) => `${one.vcpus} × ${one.cpu} ${one.features}`).join(', '),
      ...{ got: `${vcpus} × ${cpu} ${features}`, rule: 'measurement manifest of the guest' },
      action: 'take a shape of the manifest: --vcpus, --cpu, --features',
    });
  const { measurement, policy, idBlock, idAuth } = launch;
  const authored = manifest.authorKeyDigest !== undefined;
  const pages = idBlock !== undefined &&
    idAuth !== undefined && { idBlock: { block: idBlock, auth: idAuth, authored } };
  const named = { kind: 'snp' as const, firmware: resolve(firmware), cpu, features, policy, measurement };
  return { ...named, ...encryption, ...pages, gpus: [...options.gpus] };
}

function agentSettings(options: InitOptions, guest: GuestSettings, agent: AgentOptions): object {
  return {
    name: `${hostname()}-${options.number}`,
    controlPlane: {
      url: agent.controlPlane,
      dispatch: readJson(agent.dispatch),
      apiKey: new TextDecoder().decode(readBytes(agent.apiKey, 4096)).trim(),
    },
    chain: { rpcUrl: agent.rpc, deployment: readJson(agent.deployment), providerKey: 'provider.key' },
    hostSecret: 'host-secret.key',
    dataDirectory: resolve(options.state, `${options.number}`),
    enclave: {
      address: `unix:${join(guest.runDirectory, 'channel.sock')}`,
      attester: guest.platform.kind === 'dev' ? 'simulated' : 'snp',
      ...(guest.platform.kind === 'snp' && guest.platform.gpus.length > 0 && { gpus: 'nvml' }),
    },
  };
}

/** The units of the repository, for this installation, this Node and this folder. */
function unitsFor(dir: string): { name: string; text: string }[] {
  let root = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(root, 'package.json')) && dirname(root) !== root) root = dirname(root);
  return ['veritrain-guest@.service', 'veritrain-host-agent@.service'].map((name) => {
    const text = readFileSync(join(root, 'apps/host-agent/deploy', name), 'utf8');
    const placed = text.replaceAll('/opt/veritrain', root).replaceAll('/etc/veritrain', resolve(dir));
    return { name, text: placed.replaceAll('/usr/bin/node', process.execPath) };
  });
}

function jsonText(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}
