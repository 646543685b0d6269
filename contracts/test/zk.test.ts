/** The step verifier on chain against the one in TypeScript: same verdict, same code (step-proof §11). */
import { readFileSync, writeFileSync } from 'node:fs';
import {
  AbiCoder,
  Contract,
  ContractFactory,
  HDNodeWallet,
  id,
  Interface,
  Transaction,
  type JsonRpcProvider,
} from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Rejection } from '#attestation';
import { profileManifest } from '#libs/step';
import { connect, startAnvil, testMnemonic, type Anvil } from '#libs/settlement';
import { createEngine, KernelBackend } from '#libs/zk';
import { profiles, type Plan, type StepProofStatement } from '#libs/zk/verifier';
import { seedOf, testManifest, testProfile, testSeed, type SegmentChoice } from '../../libs/zk/src/testing/segments.js';
import { Transcript } from '../../libs/zk/src/transcript/transcript.js';
import { ProofBytes } from '../../libs/zk/src/verifier/source.js';
import { runVerifier } from '../../libs/zk/src/verifier/verify.js';
import { encodeSeal, sealSegment, selector, type SealFields } from './zk-seal.js';

const hardfork = 'osaka';
const transactionGasMax = 16_777_216;
/** What the usual mempools carry. */
const transactionBytesMax = 131_072;
const codes = [
  ...['STEP_PLAN', 'STEP_STATEMENT', 'MERKLE_PATH', 'MERKLE_INDEX', 'ORDER_TOO_FEW_RECORDS', 'STEP_PROOF_LENGTH'],
  ...['STEP_NONCANONICAL', 'STEP_POW', 'STEP_MERKLE_W0', 'STEP_MERKLE_J', 'STEP_MERKLE_WT', 'STEP_MERKLE_S'],
  ...['STEP_MERKLE_D', 'STEP_MERKLE_L1', 'STEP_FINAL_CHECK'],
];
const codeOf = new Map([
  ...codes.map((name) => [id(`${name}()`).slice(0, 10), name] as const),
  [id('SEAL_SELECTOR(bytes4)').slice(0, 10), 'SEAL_SELECTOR'],
]);
const artefact = (name: string): { abi: []; bytecode: string } =>
  JSON.parse(readFileSync(new URL(`../abi/${name}.json`, import.meta.url), 'utf8'));
const settlement = new Interface(artefact('Settlement').abi);
const snapshotFile = new URL('../snapshots/zk-gas.json', import.meta.url);

let anvil: Anvil;
let chain: JsonRpcProvider;
let signer: HDNodeWallet;
let verifier: Contract;
const backend = new KernelBackend(createEngine({ rowLogMax: 16 }));

async function create(name: string, ...args: unknown[]): Promise<Contract> {
  const { abi, bytecode } = artefact(name);
  const contract = await new ContractFactory(abi, bytecode, signer).deploy(...args);
  await contract.waitForDeployment();
  return contract as Contract;
}

beforeAll(async () => {
  anvil = await startAnvil({ hardfork });
  chain = connect(anvil.url, anvil.chainId, 25);
  signer = HDNodeWallet.fromPhrase(testMnemonic).connect(chain);
  const relation = await create('ZkRelation');
  verifier = await create('ZkStepVerifier', await relation.getAddress());
});
afterAll(async () => {
  chain?.destroy();
  await anvil?.stop();
});

/** The contract's code for a seal, or 'accepted'. */
async function onChain(fields: SealFields, digest: Uint8Array, seal = encodeSeal(fields)): Promise<string> {
  const data = verifier.interface.encodeFunctionData('verify', [seal, digest]);
  const params = [{ to: verifier.target, data, gas: `0x${transactionGasMax.toString(16)}` }, 'latest'];
  const reply = await fetch(anvil.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_call', params }),
  });
  const { error } = (await reply.json()) as { error?: { data?: string; message: string } };
  if (error === undefined) return 'accepted';
  return codeOf.get(error.data?.slice(0, 10) ?? '') ?? `${error.message} ${error.data}`;
}

/** The TypeScript verifier's code, or 'accepted'. */
function inTypeScript(plan: Plan, statement: StepProofStatement, proof: Uint8Array): string {
  try {
    runVerifier(plan, statement, new Transcript(), new ProofBytes(proof));
    return 'accepted';
  } catch (error) {
    if (error instanceof Rejection) return error.code;
    throw error;
  }
}

const choices: [string, SegmentChoice][] = [
  ['3-4-2', {}],
  ['a later segment', { index: 5 }],
  ['a separate witness tree', { variant: 'separate' }],
  ['a separate witness tree, two steps', { variant: 'separate', manifest: testManifest({ superblock: 2 }) }],
  ['four steps with a schedule', { manifest: testManifest({ superblock: 4, m: [[0, 4], [1, 2], [2, 1]] }) }], // prettier-ignore
  ['null steps', { manifest: testManifest({ superblock: 4, steps: 6 }), index: 1 }],
  ['three layers, three classes', { manifest: testManifest({ dims: [5, 7, 6, 3], superblock: 2 }) }],
  ['four layers', { manifest: testManifest({ dims: [4, 4, 8, 3, 2] }) }],
  ['ten classes', { manifest: testManifest({ dims: [6, 5, 10], batch: 4 }) }],
  ['sixteen classes', { manifest: testManifest({ dims: [3, 4, 16] }) }],
  ['a batch of one', { manifest: testManifest({ batch: 1 }) }],
  ['26-byte digests', { profile: { ...testProfile, digestBytes: 26 } }],
];

describe('honest proofs are accepted on chain', () => {
  it.each(choices)('%s', async (_name, choice) => {
    const { fields, digest } = sealSegment(backend, choice);
    expect(await onChain(fields, digest)).toBe('accepted');
  });
});

function mutate(proof: Uint8Array, k: number): Uint8Array {
  const random = new DataView(seedOf(`zk mutation ${k}`).buffer);
  const place = random.getUint32(0) % proof.length;
  if (k % 29 === 0) return proof.subarray(0, place);
  if (k % 31 === 0) return new Uint8Array([...proof, ...new Uint8Array(1 + (place % 40))]);
  const copy = Uint8Array.from(proof);
  if (k % 7 === 0) copy.fill(0xff, place & ~7, (place & ~7) + 8);
  else copy[place]! ^= 1 << (random.getUint8(4) % 8);
  return copy;
}

describe('changed proofs get the code that TypeScript gives', () => {
  const count = Number(process.env['VERITRAIN_MUTATIONS'] ?? 1000);
  it.each<[string, SegmentChoice, number]>([
    ['joint', {}, 0.6],
    ['separate', { variant: 'separate' }, 0.2],
    ['two steps', { manifest: testManifest({ superblock: 2 }) }, 0.2],
  ])('%s', { timeout: 600_000 }, async (name, choice, share) => {
    const { plan, statement, fields, digest } = sealSegment(backend, choice);
    const seen = new Map<string, number>();
    const each = Array.from({ length: Math.ceil(count * share) }, (_, k) => k);
    for (let from = 0; from < each.length; from += 4) {
      await Promise.all(
        each.slice(from, from + 4).map(async (k) => {
          const proof = mutate(fields.proof, k);
          const expected = inTypeScript(plan, statement, proof);
          expect(await onChain({ ...fields, proof }, digest), `mutation ${k} of ${name}`).toBe(expected);
          seen.set(expected, (seen.get(expected) ?? 0) + 1);
        }),
      );
    }
    expect(seen.has('accepted')).toBe(false);
    expect(seen.size).toBeGreaterThanOrEqual(5);
  });
});

describe('changed statements are refused', () => {
  const other = seedOf('other');
  const tooBig = new Uint8Array(32).fill(255);
  it.each<[string, (fields: SealFields) => Partial<SealFields>, string]>([
    ['domain', () => ({ domain: other }), 'STEP_STATEMENT'],
    ['terms', (f) => ({ terms: flipped(f.terms, 40) }), 'STEP_STATEMENT'],
    ['spec digest', (f) => ({ terms: flipped(f.terms, 170) }), 'STEP_STATEMENT'],
    ['short terms', (f) => ({ terms: f.terms.subarray(0, 100) }), 'STEP_STATEMENT'],
    ['segment', () => ({ index: 1 }), 'MERKLE_PATH'],
    ['segment beyond the job', () => ({ index: 64 }), 'STEP_STATEMENT'],
    ['manifest', (f) => ({ spec: { ...f.spec, manifestDigest: other } }), 'STEP_STATEMENT'],
    ['data set', (f) => ({ spec: { ...f.spec, datasetRoot: other } }), 'STEP_STATEMENT'],
    ['seed', (f) => ({ spec: { ...f.spec, seed: other } }), 'STEP_STATEMENT'],
    ['schedule', (f) => ({ spec: { ...f.spec, schedule: [2n] } }), 'STEP_STATEMENT'],
    ['step sizes', () => ({ sizes: Uint8Array.of(2) }), 'STEP_STATEMENT'],
    ['number of step sizes', () => ({ sizes: Uint8Array.of(1, 1) }), 'STEP_STATEMENT'],
    ['weights before', (f) => ({ before: { ...f.before, root: other } }), 'STEP_STATEMENT'],
    ['weights after', (f) => ({ afterwards: { ...f.afterwards, root: other } }), 'STEP_STATEMENT'],
    ['value above p', (f) => ({ afterwards: { ...f.afterwards, ood: tooBig } }), 'STEP_STATEMENT'],
    ['data', (f) => ({ data: { ...f.data, root: other } }), 'MERKLE_PATH'],
    ['long path', (f) => ({ dataPath: new Array(32).fill(other) as typeof f.dataPath }), 'MERKLE_INDEX'],
    ['no path', () => ({ dataPath: [] }), 'MERKLE_'],
    ['plan', (f) => ({ plan: flipped(f.plan, f.plan.length - 1) }), 'STEP_STATEMENT'],
    ['short plan', (f) => ({ plan: f.plan.subarray(0, f.plan.length - 4) }), 'STEP_PLAN'],
  ])('%s', async (_name, change, code) => {
    const { fields, digest } = sealSegment(backend, {});
    const got = await onChain({ ...fields, ...change(fields) }, digest);
    if (code.endsWith('_')) expect(got.startsWith(code)).toBe(true);
    else expect(got).toBe(code);
  });

  it('another statement, another selector, no body', async () => {
    const { fields, digest } = sealSegment(backend, {});
    expect(await onChain(fields, other)).toBe('STEP_STATEMENT');
    expect(await onChain(fields, digest, `0x00000000${encodeSeal(fields).slice(10)}`)).toBe('SEAL_SELECTOR');
    expect(await onChain(fields, digest, selector)).toBe('SEAL_SELECTOR');
    expect(await onChain(fields, digest, '0x')).toBe('SEAL_SELECTOR');
  });
});

function flipped(bytes: Uint8Array, place: number): Uint8Array {
  const copy = Uint8Array.from(bytes);
  copy[place]! ^= 1;
  return copy;
}

/** Gas and bytes of one accepted proof of 784-64-10, batch 64. */
async function measure(profile: string, superblock: number) {
  const dims = [784, 64, 10];
  const manifest = profileManifest('fx1', { dims, batch: 64, e: 8, steps: 64, seed: testSeed, superblock });
  const { fields, digest } = sealSegment(backend, { manifest, profile: profiles.get(profile)! });
  expect(await onChain(fields, digest)).toBe('accepted');
  const data = verifier.interface.encodeFunctionData('verify', [encodeSeal(fields), digest]);
  const sent = await signer.sendTransaction({ to: verifier.target, data, gasLimit: transactionGasMax });
  const receipt = await sent.wait();
  return {
    profile,
    superblock,
    gas: Number(receipt!.gasUsed),
    proofBytes: fields.proof.length,
    calldataBytes: data.length / 2 - 1,
    dischargeBytes: dischargeBytes(fields),
  };
}

/** Bytes of the signed transaction that discharges a segment of the longest run with this seal. */
function dischargeBytes(fields: SealFields): number {
  const border = new Uint8Array(32).fill(1);
  const path = new Array<Uint8Array>(12).fill(border);
  const terms = AbiCoder.defaultAbiCoder().decode([settlement.getFunction('discharge')!.inputs[0]!], fields.terms)[0];
  const data = settlement.encodeFunctionData('discharge', [
    terms,
    3999,
    [border, border, path, path],
    encodeSeal(fields),
  ]);
  const sent = Transaction.from({
    ...{ to: verifier.target as string, data, chainId: 31337, nonce: 2 ** 20, type: 2, gasLimit: transactionGasMax },
    ...{ maxFeePerGas: 10n ** 18n, maxPriorityFeePerGas: 10n ** 18n },
    signature: { r: `0x${'ff'.repeat(31)}01`, s: `0x${'7f'.repeat(32)}`, v: 27 },
  });
  return sent.serialized.length / 2 - 1;
}

describe('gas', () => {
  it('of proofs of 784-64-10, batch 64, in one transaction each', { timeout: 300_000 }, async () => {
    const proofs = [await measure('chain1', 1), await measure('chain1', 4), await measure('chain26', 16)];
    const addresses = {
      ZkStepVerifier: verifier.target as string,
      ZkRelation: await verifier.getFunction('relation')(),
    };
    const codeBytes: Record<string, number> = {};
    for (const [name, address] of Object.entries(addresses))
      codeBytes[name] = (await chain.getCode(address)).length / 2 - 1;
    const text = `${JSON.stringify({ hardfork, proofs, codeBytes }, undefined, 2)}\n`;
    if (process.env['BLESS'] === '1') writeFileSync(snapshotFile, text);
    expect(text).toBe(readFileSync(snapshotFile, 'utf8'));
    expect(proofs[0]!.gas).toBeLessThanOrEqual(8_000_000);
    expect(proofs[2]!.gas).toBeLessThanOrEqual(10_000_000);
    for (const { dischargeBytes } of proofs) expect(dischargeBytes).toBeLessThan(transactionBytesMax);
    expect(Math.max(...Object.values(codeBytes))).toBeLessThan(24_576);
  });
});
