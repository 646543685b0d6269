/** A job in scheme `fxt-groth16/1` at a node: which it takes, what it trains on, and which proofs are its own. */
import { createHash } from 'node:crypto';
import { copyFileSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe as describeAlways, expect, it } from 'vitest';
import { fromHex, to0x } from '#attestation/base';
import {
  datasetManifestJson,
  domainSeparator,
  encodeJobSpec,
  encodeStepStatement,
  escrowIdOf,
  jobIdOf,
  JobMode,
  parseStepStatement,
  termsJson,
  type JobSpec,
  type Terms,
} from '#attestation/records';
import { verifyJobProof } from '#libs/proof';
import { openShard } from '#libs/sealing';
import { createEngine, KernelBackend } from '#libs/zk';
import { openCircuit, openKey } from '#libs/zk/groth16';
import { circuitShape, groth16Selector } from '#libs/zk/verifier';
import { hasGroth16Tools } from '#test/groth16-tools';
import { groth16Manifest } from '#test/small-groth16';
import { hostSecret, chainId, contract, tinyDataset, tinyJob, type TinyJob } from '#test/tiny-job';
import { readOffer } from '../node/offered-job.js';
import { groth16Cache } from '../proving/groth16-cache.js';
import { keepKey, plansOf } from '../proving/key-folder.js';
import { makeKey } from '../proving/key-request.js';
import { openJob, type ComputedJob, type JobInput } from './job.js';
import { prove } from './prove.js';
import type { Proved } from './system.js';
import { train, type Border, type Trained } from './train.js';

const describe = describeAlways.skipIf(!hasGroth16Tools);
const manifest = { ...groth16Manifest, steps: 2 };
const folder = mkdtempSync(join(tmpdir(), 'veritrain-groth16-node-'));
const keys = join(folder, 'keys');
const limits = { threads: 1, memoryMiB: 4096, groth16Keys: keys };
const backend = new KernelBackend(createEngine({ rowLogMax: 10 }));
const dataset = await tinyDataset(manifest, { groth16: true });
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let plan: string;
let job: TinyJob;
let input: JobInput;
beforeAll(async () => {
  if (!hasGroth16Tools) return;
  ({ plan } = await makeKey({ manifest, folder: keys, memoryMiB: 4096 }));
  job = await tinyJob({ manifest, dataset, segmentSteps: 1, groth16Plan: fromHex(plan) });
  input = await inputOf(job);
}, 240_000);

async function inputOf({ spec, terms }: TinyJob): Promise<JobInput> {
  const shards = dataset.shards.map((shard, index) => openShard(dataset.manifest, index, shard, dataset.key));
  return {
    spec: encodeJobSpec(spec),
    dataset: datasetManifestJson(dataset.manifest),
    escrow: { domain: domainSeparator({ chainId, verifyingContract: contract }), job: escrowIdOf(terms) },
    initialWeights: terms.initialWeights,
    dataKey: dataset.key,
    hostSecret,
    records: new Uint8Array(Buffer.concat(await Promise.all(shards))),
  };
}

describe('a job that Groth16 proves', () => {
  const reached: Border[] = [];
  let opened: ComputedJob;
  let trained: Trained;
  let proved: Proved;
  beforeAll(async () => {
    opened = openJob(input, limits);
    trained = await train(backend, opened, null, (border) => reached.push(border));
    const { statement } = reached[1]!;
    proved = await prove(backend, opened, { index: 1, statement, checkpoint: reached[0]!.checkpoint }, () => undefined);
  }, 240_000);

  const check = (index = 1, document = proved.document, takesDevelopmentKeys = true, spec: JobSpec = job.spec) =>
    verifyJobProof({ spec, terms: job.terms }, index, proved.bundle, document, { takesDevelopmentKeys });

  it('goes on from a checkpoint with the same borders', async () => {
    const again = await train(backend, opened, reached[0]!.checkpoint, () => undefined);
    expect(again.borders).toEqual(trained.borders);
    expect(trained.borders).toHaveLength(3);
  });

  it('has proofs that show the very statement of a border, under a key that the reader takes', () => {
    const { statement, soundnessBits, setup } = check();
    expect(encodeStepStatement(statement)).toEqual(reached[1]!.statement);
    expect(soundnessBits).toBe(100);
    expect(setup?.name).toMatch(/^the development setup of Groth16 key 0x[0-9a-f]{64}$/);
    expect(() => check(1, proved.document, false)).toThrow(expect.objectContaining({ code: 'GROTH16_DEVELOPMENT' }));
  });

  const zero = `0x${'00'.repeat(32)}`;
  it.each<[string, number, (document: Record<string, unknown>) => Record<string, unknown>]>([
    ['segment', 0, (document) => document],
    ['job', 1, (document) => ({ ...document, jobId: zero })],
    ['number of records', 1, (document) => ({ ...document, recordCount: 16 })],
    ['data', 1, (document) => ({ ...document, datasetRoot: zero })],
    ['program', 1, (document) => ({ ...document, manifest: { ...manifest, steps: 3 } })],
    ['ceremony', 1, (document) => ({ ...document, ceremony: 'external' })],
    ['escrow', 1, (document) => ({ ...document, escrow: { ...(document['escrow'] as object), job: zero } })],
    ['contract', 1, (document) => ({ ...document, escrow: { ...(document['escrow'] as object), domain: zero } })],
    ['escrow than the job’s', 1, ({ escrow: _escrow, ...document }) => document],
  ])('has proofs that serve no other %s', (_name, index, change) => {
    const document = JSON.stringify(change(JSON.parse(proved.document) as Record<string, unknown>));
    expect(() => check(index, document)).toThrow(expect.objectContaining({ code: 'PROOF_FOREIGN' }));
  });

  it('has proofs that serve no other plan', () => {
    const spec = { ...job.spec, proving: { ...job.spec.proving!, planDigest: new Uint8Array(32) } };
    const document = JSON.stringify({ ...JSON.parse(proved.document), jobId: to0x(jobIdOf(spec)) });
    expect(() => check(1, document, true, spec)).toThrow(/plan 0000/);
  });

  it('is not proved from another witness', async () => {
    const request = (statement: Uint8Array, checkpoint: Uint8Array | null) => ({ index: 1, statement, checkpoint });
    const { statement, checkpoint } = reached[1]!;
    const other = { ...parseStepStatement(statement), weightsAfter: new Uint8Array(32) };
    for (const bad of [request(statement, null), request(statement, checkpoint)]) {
      await expect(prove(backend, opened, bad, () => undefined)).rejects.toMatchObject({ code: 'WITNESS_FOREIGN' });
    }
    const lies = request(encodeStepStatement(other), reached[0]!.checkpoint);
    await expect(prove(backend, opened, lies, () => undefined)).rejects.toMatchObject({ code: 'WITNESS_FOREIGN' });
  });

  it('is trained on the records that its root commits to, from the start of its manifest, and on no others', async () => {
    const records = input.records.map((byte, at) => (at % 3 === 0 ? byte ^ 1 : byte));
    const swapped = openJob({ ...input, records }, limits);
    await expect(train(backend, swapped, null, () => undefined)).rejects.toMatchObject({ code: 'DATASET_ROOT' });
    const codeOf = (change: Partial<JobInput>) => () => openJob({ ...input, ...change }, limits);
    const { groth16: _groth16, ...without } = datasetManifestJson(dataset.manifest);
    expect(codeOf({ dataset: without })).toThrow(expect.objectContaining({ code: 'DATASET_ROOT' }));
    expect(codeOf({ initialWeights: new Uint8Array(32) })).toThrow(expect.objectContaining({ code: 'JOB_ESCROW' }));
  });
});

describe('the keys of a node', () => {
  it('are its by plan; what it has none of, or another of, it refuses', () => {
    expect(plansOf(keys)).toEqual([plan]);
    expect(plansOf(undefined)).toEqual([]);
    const missing = expect.objectContaining({ code: 'GROTH16_KEY_MISSING' }) as unknown;
    expect(() => openJob(input, { ...limits, groth16Keys: undefined })).toThrow(missing);
    expect(() => openJob(input, { ...limits, groth16Keys: folder })).toThrow(missing);
    const other = join(folder, 'other');
    cpSync(keys, other, { recursive: true });
    const file = join(other, plan.slice(2), 'key.json');
    const document = JSON.parse(readFileSync(file, 'utf8')) as object;
    writeFileSync(file, JSON.stringify({ ...document, ceremony: 'external' }));
    const foreign = expect.objectContaining({ code: 'GROTH16_KEY' }) as unknown;
    expect(() => openJob(input, { ...limits, groth16Keys: other })).toThrow(foreign);
    for (const text of [
      'no JSON',
      JSON.stringify({ ...document, key: '0x00' }),
      JSON.stringify({ ...document, version: 2 }),
    ]) {
      writeFileSync(file, text);
      expect(() => openJob(input, { ...limits, groth16Keys: other })).toThrow(foreign);
    }
  });

  it('prove nothing where proving key and verification key are not of one making', async () => {
    const circuit = await openCircuit(groth16Cache, circuitShape(manifest));
    const path = join(groth16Cache, 'UNSAFE-development-11.ptau');
    const ptau = { path, sha256: createHash('sha256').update(readFileSync(path)).digest('hex') };
    const another = await openKey(groth16Cache, circuit, { ptau });
    const mixed = join(folder, 'mixed');
    const kept = keepKey(mixed, circuit, await openKey(groth16Cache, circuit));
    copyFileSync(another.zkey, join(mixed, kept.slice(2), 'zkey'));
    const opened = openJob(input, { ...limits, groth16Keys: mixed });
    const reached: Border[] = [];
    await train(backend, opened, null, (border) => reached.push(border));
    const request = { index: 0, statement: reached[0]!.statement, checkpoint: null };
    const proving = prove(backend, opened, request, () => undefined);
    await expect(proving).rejects.toMatchObject({ code: 'STEP_FINAL_CHECK' });
  }, 240_000);
});

describe('an offered job', () => {
  const windows = {
    ...{ start: 3600, compute: 3600, finality: 0, draw: 0, challenge: 3600, prove: 7200, provePer: 600, hold: 0 },
    ...{ reveal: 0, ack: 0, drawBlocks: 0 },
  };
  const settings = (groth16Keys?: string) =>
    ({
      chain: { deployment: { chainId, settlement: to0x(contract) } },
      escrow: { windowMaxSeconds: 86_400, computeMaxSeconds: 86_400, proofSeconds: 30 },
      groth16Keys,
    }) as Parameters<typeof readOffer>[1];
  const offer = async (change: { spec?: Partial<JobSpec>; terms?: Partial<Terms> } = {}, groth16Keys?: string) => {
    const made = await tinyJob({
      ...{ manifest, dataset, segmentSteps: 1, groth16Plan: fromHex(plan), spec: change.spec ?? {} },
      terms: { mode: JobMode.full, dutySelectors: [groth16Selector], windows, ...change.terms },
    });
    const assigned = {
      ...{
        jobId: to0x(made.jobId),
        escrowId: to0x(escrowIdOf(made.terms)),
        brokerUrl: 'http://127.0.0.1:9',
      },
      ...{ spec: Buffer.from(encodeJobSpec(made.spec)).toString('base64'), terms: termsJson(made.terms), policy: '' },
      ...{ datasetManifest: {}, resume: null },
    };
    return readOffer(assigned as unknown as Parameters<typeof readOffer>[0], settings(groth16Keys));
  };

  it('is taken with its key, and its terms and assurance', async () => {
    expect((await offer({}, keys)).spec.scheme).toBe('fxt-groth16/1');
  });

  it.each<[string, string, Parameters<typeof offer>[0], (() => string) | undefined]>([
    ['where the node has no key', 'GROTH16_KEY_MISSING', {}, undefined],
    ['for an enclave besides', 'PROVER_JOB', { spec: { assurance: 'tee+zk' } }, () => keys],
    ['of which a sample is drawn', 'PROVER_JOB', { spec: { assurance: 'sampled' } }, () => keys],
    ['whose terms sumcheck meets', 'PROVER_JOB', { terms: { dutySelectors: [new Uint8Array(4)] } }, () => keys],
  ])('is refused %s', async (_name, code, change, folderOf) => {
    await expect(offer(change, folderOf?.())).rejects.toMatchObject({ code });
  });
});
