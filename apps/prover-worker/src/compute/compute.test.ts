import { beforeAll, describe, expect, it } from 'vitest';
import {
  datasetManifestJson,
  domainSeparator,
  encodeJobSpec,
  encodeStepStatement,
  jobDigest,
  parseStepStatement,
  type StepStatement,
} from '#attestation';
import { verifyJobProof } from '#libs/proof';
import { createEngine, KernelBackend } from '#libs/zk';
import { chainId, contract, keyed, tinyDataset, tinyJob, tinyManifest, type TinyJob } from '#test/tiny-job';
import { openJob, type ComputedJob } from './job.js';
import { prove } from './prove.js';
import { openShard } from './sealed.js';
import type { Proved } from './system.js';
import { train, type Border, type Trained } from './train.js';

const manifest = tinyManifest({ steps: 12, superblock: 4 });
const dataset = await tinyDataset(manifest, { proving: 'fast16' });
const job: TinyJob = await tinyJob({ manifest, dataset, segmentSteps: 4, spec: { assurance: 'tee+zk' } });
const escrow = { domain: domainSeparator({ chainId, verifyingContract: contract }), job: jobDigest(job.terms) };

async function opened(of: TinyJob = job, change: { dataset?: unknown } = {}): Promise<ComputedJob> {
  const parts = of.dataset.shards.map((shard, index) => openShard(of.dataset.manifest, index, shard, of.dataset.key));
  const records = new Uint8Array(Buffer.concat(await Promise.all(parts)));
  const json = change.dataset ?? datasetManifestJson(of.dataset.manifest);
  const { initialWeights } = of.terms;
  const input = { dataset: json, escrow, initialWeights, dataKey: of.dataset.key, records };
  return openJob({ spec: encodeJobSpec(of.spec), ...input }, { threads: 1, memoryMiB: 2048 });
}

/** What an enclave comes to from a checkpoint, or from the start. */
async function inEnclave(checkpoint: Uint8Array | null) {
  const party = await keyed(job);
  await party.session.request('train', { checkpoint, threads: 1 });
  const end = await party.session.ended();
  if (end.type !== 'result') throw new Error(JSON.stringify(end));
  const checkpoints = party.session.events.flatMap((event) => (event.type === 'checkpoint' ? [event] : []));
  return { borders: end.borders, checkpoints };
}

const backend = new KernelBackend(createEngine({ rowLogMax: 14 }));

async function byProver(checkpoint: Uint8Array | null, of?: ComputedJob): Promise<Trained & { reached: Border[] }> {
  const reached: Border[] = [];
  const trained = await train(backend, of ?? (await opened()), checkpoint, (border) => reached.push(border));
  return { ...trained, reached };
}

describe('training without a TEE', () => {
  let enclave: Awaited<ReturnType<typeof inEnclave>>;
  beforeAll(async () => {
    enclave = await inEnclave(null);
  });

  it('comes to the borders and statements that an enclave signs', async () => {
    const { borders, reached } = await byProver(null);
    expect(borders).toEqual(enclave.borders);
    expect(reached.map(({ statement }) => statement)).toEqual(enclave.checkpoints.map(({ statement }) => statement));
  });

  it('goes on where an enclave stopped, and an enclave where it stopped, with the same bits', async () => {
    const { reached } = await byProver(enclave.checkpoints[0]!.ciphertext);
    expect(reached.map(({ step }) => step)).toEqual([8, 12]);
    const back = await inEnclave(reached[0]!.checkpoint);
    expect(back.borders).toEqual(enclave.borders);
    expect(back.checkpoints.map(({ statement }) => statement)).toEqual([enclave.checkpoints[2]!.statement]);
  });

  it('refuses records that the data set’s root does not commit to', async () => {
    const other = await tinyDataset(manifest, { proving: 'fast16', lastLabel: 0, root: 'before' });
    const swapped = await opened(
      await tinyJob({ manifest, dataset: other, segmentSteps: 4, spec: { assurance: 'zk' } }),
    );
    await expect(byProver(null, swapped)).rejects.toMatchObject({ code: 'DATASET_ROOT' });
    const json = datasetManifestJson({ ...dataset.manifest, proving: { profile: 'fast16', commitments: [] } });
    await expect(opened(job, { dataset: { ...json, records: 0 } })).rejects.toThrow();
  });

  it.each([
    ['cut', (sealed: Uint8Array) => sealed.subarray(1)],
    ['altered', (sealed: Uint8Array) => sealed.map((byte, at) => (at === 50 ? byte ^ 1 : byte))],
  ])('refuses a checkpoint that was %s', async (_name, change) => {
    const sealed = change(enclave.checkpoints[0]!.ciphertext);
    await expect(byProver(sealed)).rejects.toMatchObject({ code: 'CHECKPOINT_AUTHENTICATION' });
  });

  describe('and a proof of what an enclave computed', () => {
    let computed: ComputedJob;
    let proved: Proved;
    const request = (
      change: { index?: number; checkpoint?: Uint8Array | null; statement?: Partial<StepStatement> } = {},
    ) => {
      const claimed = parseStepStatement(enclave.checkpoints[1]!.statement);
      const statement = encodeStepStatement({ ...claimed, ...change.statement });
      const checkpoint = change.checkpoint === undefined ? enclave.checkpoints[0]!.ciphertext : change.checkpoint;
      return { index: change.index ?? 1, statement, checkpoint };
    };
    beforeAll(async () => {
      computed = await opened();
      proved = await prove(backend, computed, request(), () => undefined);
    }, 60_000);

    it('shows the very statement of its receipt', () => {
      const { spec, terms } = job;
      const { statement, soundnessBits } = verifyJobProof({ spec, terms }, 1, proved.bundle, proved.document);
      expect(encodeStepStatement(statement)).toEqual(enclave.checkpoints[1]!.statement);
      expect(soundnessBits).toBeGreaterThanOrEqual(100);
    });

    it('is the same bytes when it is made again, also by another process', async () => {
      const again = await prove(backend, await opened(), request(), () => undefined);
      expect(Buffer.from(again.bundle).equals(proved.bundle)).toBe(true);
      expect(again.document).toBe(proved.document);
    });

    it.each<[string, Parameters<typeof request>[0]]>([
      ['of the start instead', { checkpoint: null }],
      ['for another segment', { index: 2 }],
      ['for other weights before', { statement: { weightsBefore: new Uint8Array(32) } }],
      ['for other weights after', { statement: { weightsAfter: new Uint8Array(32) } }],
    ])('is not made from a witness %s', async (_name, change) => {
      const made = prove(backend, computed, request(change), () => undefined);
      await expect(made).rejects.toMatchObject({ code: 'WITNESS_FOREIGN' });
    });

    it.each<[string, number, (document: Record<string, unknown>) => Record<string, unknown>]>([
      ['segment', 0, (document) => document],
      ['job', 1, (document) => ({ ...document, jobId: `0x${'00'.repeat(32)}` })],
      ['profile', 1, (document) => ({ ...document, profile: 'chain16' })],
      ['number of records', 1, (document) => ({ ...document, recordCount: 16 })],
      ['data', 1, (document) => ({ ...document, datasetRoot: `0x${'00'.repeat(32)}` })],
      [
        'escrow',
        1,
        (document) => ({ ...document, escrow: { ...(document.escrow as object), job: `0x${'00'.repeat(32)}` } }),
      ],
      [
        'contract',
        1,
        (document) => ({ ...document, escrow: { ...(document.escrow as object), domain: `0x${'00'.repeat(32)}` } }),
      ],
    ])('serves no other %s', (_name, index, change) => {
      const { spec, terms } = job;
      const document = JSON.stringify(change(JSON.parse(proved.document) as Record<string, unknown>));
      const check = () => verifyJobProof({ spec, terms }, index, proved.bundle, document);
      expect(check).toThrow(expect.objectContaining({ code: 'PROOF_FOREIGN' }));
    });
  });
});
