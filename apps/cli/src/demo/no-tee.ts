/**
 * The main job without trusted hardware, shorter: a prover worker trains and proves every segment, the client checks
 * the proofs and pays through the escrow. Data and secrets go to the prover in the clear: a node without a TEE sees them.
 */
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { x25519 } from '@noble/curves/ed25519.js';
import { Wallet, type JsonRpcProvider } from 'ethers';
import {
  encodeJobSpec,
  fromHex,
  jobDigest,
  jobIdOf,
  keccak,
  Rejection,
  releaseDigest,
  toHex,
  voucherDigest,
  type StepStatement,
  type Terms,
} from '#attestation';
import { decideAssurance, parseProofStatement, verifyProofBundle, type ProofEscrow } from '#libs/proof';
import { addressBytes, connect, deploy, SettlementClient, startAnvil, type Deployment } from '#libs/settlement';
import { canonicalManifest, profileManifest, type Manifest } from '#libs/step';
import { readBytes, readJson, writeWhole } from '../files.js';
import { runWorkerEntry } from '../proof/worker-process.js';
import { testAccountSecret } from '../system/keys.js';
import { mnistFiles } from './mnist.js';
import { createPhases, type Phases } from './phases.js';
import { checkChain, provedSpec, provedTerms } from './proved-job.js';

export interface NoTeeOptions {
  readonly folder: string;
  readonly threads: number;
  readonly steps: number;
}

export interface NoTeeReport {
  readonly assurance: string;
  readonly reason: string;
  readonly jobId: string;
  readonly steps: number;
  readonly segments: number;
  readonly proofBytes: number;
  /** −log2 of the error of the weakest round of any proof. */
  readonly soundnessBits: number;
  readonly verifyMs: number;
  /** Of the prover; the engine, run again, gave the same. */
  readonly stateDigest: string;
  readonly settled: boolean;
  readonly paidBy: string;
  readonly transactionHash: string;
  readonly proofs: string;
  readonly seconds: Readonly<Record<string, number>>;
}

const records = 1024;
const priceWei = 10n ** 18n;

/** Segments of four steps on 1,024 images. */
function shortManifest(steps: number): Manifest {
  const seed = `0x${toHex(new Uint8Array(randomBytes(32)))}`;
  return profileManifest('fx1', { dims: [784, 64, 10], batch: 64, e: 8, steps, superblock: 4, seed });
}

interface Prepared {
  readonly profile: string;
  readonly root: string;
  readonly records: number;
  readonly data: readonly object[];
  readonly genesis: object;
  readonly genesisDigest: string;
  readonly dataSecret: string;
  readonly weightSeed: string;
}

export async function runNoTeeDemo(options: NoTeeOptions): Promise<NoTeeReport> {
  const phases = createPhases();
  const began = performance.now();
  const folder = join(resolve(options.folder), 'no-tee');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const decision = decideAssurance(
    { requested: 'zk', priceWei, highValueFromWei: null, isHighValue: false },
    { hasTee: false, attestedUntil: null },
    Math.floor(Date.now() / 1000),
  );
  const anvil = await phases.run('start', () => startAnvil());
  const rpc = connect(anvil.url, anvil.chainId, 25);
  try {
    const manifest = shortManifest(options.steps);
    const files = cutFiles(folder, manifest);
    const prepared = await phases.run('prepare', () => prepare(manifest, files, options.threads, phases));
    const market = await openMarket(rpc);
    const spec = provedSpec({
      ...{ manifest, root: fromHex(prepared.root), records: prepared.records, assurance: decision.assurance },
      ...{ recipient: x25519.getPublicKey(new Uint8Array(randomBytes(32))), deployment: market.deployment },
    });
    const segments = Math.ceil(manifest.steps / manifest.superblock);
    const genesisDigest = fromHex(prepared.genesisDigest);
    const terms = provedTerms(spec, segments, genesisDigest, { ...market.parties, price: priceWei });
    await phases.run('fund', () => fundAndStart(market, terms, spec.dataset.root));
    const order = join(folder, 'order.json');
    const { profile, data, genesis, dataSecret, weightSeed } = prepared;
    const escrow = { domain: market.client.domain, job: jobDigest(terms) };
    const forEscrow = { domain: `0x${toHex(escrow.domain)}`, job: `0x${toHex(escrow.job)}` };
    const secrets = { data, genesis, dataSecret, weightSeed, escrow: forEscrow, threads: options.threads };
    const spec64 = Buffer.from(encodeJobSpec(spec)).toString('base64');
    writeWhole(order, JSON.stringify({ spec: spec64, profile, ...files, ...secrets }), 0o600);
    const proofs = join(folder, 'proofs');
    const worked = await phases.run('prove', () => proveAll(order, proofs, phases));
    const checked = await phases.run('verify', async () => verifyAll(worked.segments, escrow));
    const borders = checkChain(checked.statements, spec, manifest, genesisDigest);
    await phases.run('check', async () => requireEngineDigest(manifest, files, worked.stateDigest, folder));
    const transactionHash = await phases.run('settle', () => payAndSettle(market, terms, borders));
    return {
      ...{ assurance: decision.assurance, reason: decision.reason, jobId: `0x${toHex(jobIdOf(spec))}` },
      ...{ steps: manifest.steps, segments, proofBytes: checked.bytes, soundnessBits: checked.soundnessBits },
      ...{ verifyMs: checked.milliseconds, stateDigest: worked.stateDigest, settled: true, transactionHash, proofs },
      paidBy: 'a voucher that the client signed after it had verified every proof',
      seconds: { ...phases.seconds, total: (performance.now() - began) / 1000 },
    };
  } finally {
    rpc.destroy();
    await anvil.stop();
  }
}

/** The first images as IDX files of their own. */
function cutFiles(folder: string, manifest: Manifest): { images: string; labels: string } {
  const cut = (source: string, name: string, header: number, size: number): string => {
    const bytes = Buffer.from(readFileSync(source).subarray(0, header + records * size));
    bytes.writeUInt32BE(records, 4);
    writeWhole(join(folder, name), new Uint8Array(bytes));
    return join(folder, name);
  };
  return {
    images: cut(mnistFiles.trainImages, 'images', 16, manifest.dims[0]!),
    labels: cut(mnistFiles.trainLabels, 'labels', 8, 1),
  };
}

async function prepare(
  manifest: Manifest,
  files: { images: string; labels: string },
  threads: number,
  phases: Phases,
): Promise<Prepared> {
  phases.show('commitments to the data set and the start weights');
  const request = { manifest: JSON.parse(Buffer.from(canonicalManifest(manifest)).toString()) as unknown, ...files };
  let prepared: Prepared | undefined;
  await runWorkerEntry('prepare', [], JSON.stringify({ ...request, threads }), (event) => {
    prepared = event.prepared as Prepared;
  });
  return prepared!;
}

interface Market {
  readonly deployment: Deployment;
  readonly client: SettlementClient;
  readonly provider: SettlementClient;
  readonly parties: { readonly client: Uint8Array; readonly provider: Uint8Array };
  /** The client's signature over a digest. */
  sign(digest: Uint8Array): Uint8Array;
  /** Timestamp of a new block. */
  now(): Promise<number>;
}

async function openMarket(rpc: JsonRpcProvider): Promise<Market> {
  const wallet = (index: number): Wallet => new Wallet(`0x${toHex(testAccountSecret(index))}`, rpc);
  const [deployer, client, provider] = [wallet(0), wallet(1), wallet(2)];
  const deployment = await deploy(deployer, { attestors: [client.address], threshold: 1 });
  return {
    deployment,
    client: new SettlementClient(deployment, client),
    provider: new SettlementClient(deployment, provider),
    parties: { client: addressBytes(client.address), provider: addressBytes(provider.address) },
    sign: (digest) => fromHex(client.signingKey.sign(digest).serialized),
    now: async () => {
      await rpc.send('evm_mine', []);
      return (await rpc.getBlock('latest'))!.timestamp;
    },
  };
}

async function fundAndStart({ client, provider, parties, sign }: Market, terms: Terms, root: Uint8Array) {
  await client.open(terms);
  await provider.accept(terms);
  const content = { enclaveKey: new Uint8Array(32), shardsDigest: keccak(root) };
  const signature = sign(releaseDigest(client.domain, { job: jobDigest(terms), ...content }));
  await provider.start(terms, { ...content, signer: parties.client, signature });
}

interface Worked {
  readonly segments: readonly { readonly seal: string; readonly statement: string }[];
  readonly stateDigest: string;
}

async function proveAll(order: string, folder: string, phases: Phases): Promise<Worked> {
  const segments: { seal: string; statement: string }[] = [];
  let stateDigest = '';
  await runWorkerEntry('work', [order, folder], '', (event) => {
    if (event.event === 'progress') {
      const { phase, percent, etaSeconds } = event;
      phases.show(
        `${String(percent)} %, ${String(phase)}${etaSeconds === null ? '' : `, ${String(etaSeconds)} s left`}`,
      );
    } else if (event.event === 'segment') segments.push(event as unknown as { seal: string; statement: string });
    else stateDigest = String(event.stateDigest);
  });
  return { segments, stateDigest };
}

interface Checked {
  readonly statements: readonly StepStatement[];
  readonly bytes: number;
  readonly soundnessBits: number;
  readonly milliseconds: number;
}

/** Every proof, as one for this escrow. */
function verifyAll(segments: Worked['segments'], escrow: ProofEscrow): Checked {
  const began = performance.now();
  const seals = segments.map(({ seal }) => readBytes(seal, 2 ** 23));
  const verified = segments.map(({ statement }, i) =>
    verifyProofBundle(seals[i]!, { ...parseProofStatement(readJson(statement)), escrow }),
  );
  return {
    statements: verified.map(({ statement }) => statement),
    bytes: seals.reduce((sum, { length }) => sum + length, 0),
    soundnessBits: Math.min(...verified.map(({ soundnessBits }) => soundnessBits)),
    milliseconds: Math.round(performance.now() - began),
  };
}

/** The engine, run again over the same records, must end in the same weights. */
function requireEngineDigest(
  manifest: Manifest,
  files: { images: string; labels: string },
  got: string,
  folder: string,
): void {
  const path = join(folder, 'manifest.json');
  writeWhole(path, canonicalManifest(manifest));
  const data = ['--images', files.images, '--labels', files.labels];
  const args = ['train', '--manifest', path, ...data, '--digest-at', `${manifest.steps}`, '--json'];
  const built = import.meta.url.endsWith('.js');
  const flags = built ? [] : ['--conditions=source', '--import', '@oxc-node/core/register'];
  const main = fileURLToPath(new URL(`../main.${built ? 'js' : 'ts'}`, import.meta.url));
  const { stdout } = spawnSync(process.execPath, [...flags, main, ...args], { encoding: 'utf8' });
  const { digests } = JSON.parse(stdout || '{}') as { digests?: Record<string, string> };
  const expected = `0x${digests?.[manifest.steps] ?? ''}`;
  if (expected === got) return;
  throw new Rejection('DEMO_STATE', { expected, got, rule: 'fixed-point §11', action: 'do not pay' });
}

/** @returns the transaction that settled the job */
async function payAndSettle(market: Market, terms: Terms, borders: readonly Uint8Array[]): Promise<string> {
  const { client, provider, sign, now } = market;
  const voucher = sign(voucherDigest(client.domain, jobDigest(terms), terms.price));
  await provider.voucher(terms, terms.price, voucher);
  const none = new Uint8Array(32);
  await provider.commit(terms, { outcome: 0, borders, seedProvider: none, delivery: none, seal: new Uint8Array() });
  const { since } = await provider.job(terms);
  while ((await now()) <= since + terms.windows.challenge) {
    await new Promise((done) => setTimeout(done, 500));
  }
  const { txHash } = await provider.finalize(terms);
  const { state } = await client.job(terms);
  if (state !== 'Settled')
    throw new Rejection('ESCROW_ENDED', { expected: 'Settled', got: state, rule: 'settlement §6' });
  await provider.withdraw(terms.token);
  return txHash;
}
