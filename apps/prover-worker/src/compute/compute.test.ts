import { beforeAll, describe, expect, it } from 'vitest';
import {
  datasetManifestJson,
  domainSeparator,
  dutySelectorOf,
  encodeJobSpec,
  encodeStepStatement,
  escrowIdOf,
  JobMode,
  parseStepStatement,
  type StepStatement,
} from '#attestation/records';
import { verifyJobProof } from '#libs/proof';
import { openShard } from '#libs/sealing';
import { profileManifest } from '#libs/step';
import { createEngine, KernelBackend } from '#libs/zk';
import { chainId, contract, hostSecret, tinyDataset, tinyJob, tinyManifest, type TinyJob } from '#test/tiny-job';
import { keyed } from '#test/tiny-release';
import { openJob, type ComputedJob } from './job.js';
import { prove } from './prove.js';
import type { Proved } from './system.js';
import { train, type Border, type Trained } from './train.js';

const manifest = tinyManifest({ steps: 12, superblock: 4 });
const dataset = await tinyDataset(manifest, { proving: 'fast16' });
/** Under which an enclave seals what provers prove besides. */
const proved = {
  spec: { assurance: 'tee+zk' },
  terms: {
    mode: JobMode.tee | JobMode.reveal | JobMode.full,
    dutySelectors: [dutySelectorOf({ scheme: 'fxt-zk/1' })],
    windows: {
      ...{ start: 3600, compute: 3600, finality: 0, draw: 0, challenge: 3600, prove: 7200, provePer: 600, hold: 0 },
      ...{ reveal: 3600, ack: 3600, drawBlocks: 0 },
    },
  },
} as const;
const job: TinyJob = await tinyJob({ manifest, dataset, segmentSteps: 4, ...proved });
const escrow = { domain: domainSeparator({ chainId, verifyingContract: contract }), job: escrowIdOf(job.terms) };

async function opened(
  of: TinyJob = job,
  change: { dataset?: unknown } = {},
  secret: Uint8Array = hostSecret,
): Promise<ComputedJob> {
  const parts = of.dataset.shards.map((shard, index) => openShard(of.dataset.manifest, index, shard, of.dataset.key));
  const records = new Uint8Array(Buffer.concat(await Promise.all(parts)));
  const json = change.dataset ?? datasetManifestJson(of.dataset.manifest);
  const { initialWeights } = of.terms;
  const input = { dataset: json, escrow, initialWeights, dataKey: of.dataset.key, hostSecret: secret, records };
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

describe('Z-L3 a run whose next segment has no witness', () => {
  it('Z-L3 ends with the borders before it, as an enclave ends it', async () => {
    const { dims, batch, e, seed } = manifest;
    const hot = profileManifest('fx1', { dims, batch, e, seed, steps: 12, superblock: 4, m: [[0, 1], [4, 255]] }); // prettier-ignore
    const made = await tinyJob({
      ...{ manifest: hot, segmentSteps: 4, ...proved },
      dataset: await tinyDataset(hot, { proving: 'fast16' }),
    });
    const trained = await byProver(null, await opened(made));
    if (!('stopped' in trained)) throw new Error('it did not stop');
    expect(trained.stopped).toMatchObject({ step: expect.any(Number), tensor: expect.stringMatching(/^[YGWb]\d$/) });
    const party = await keyed(made);
    await party.session.request('train', { checkpoint: null, threads: 1 });
    const end = await party.session.ended();
    if (end.type !== 'stopped') throw new Error('the enclave did not stop');
    expect(end.run).toMatchObject({ outcome: 1, upTo: trained.borders.length - 1 });
    expect([end.borders, end.step, end.tensor]).toEqual([
      trained.borders,
      trained.stopped.step,
      trained.stopped.tensor,
    ]);
  });
});

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

  it('goes on where an enclave stopped, with the same bits', async () => {
    const { borders, reached } = await byProver(enclave.checkpoints[0]!.ciphertext);
    expect(reached.map(({ step }) => step)).toEqual([8, 12]);
    expect(borders).toEqual(enclave.borders);
  });

  it('N2 leads no enclave on: nobody signed the borders of its checkpoints', async () => {
    const { reached } = await byProver(null);
    await expect(inEnclave(reached[0]!.checkpoint)).rejects.toThrow(/CHECKPOINT_/);
  });

  it('N11 opens checkpoints with data key and host secret together, with neither alone', async () => {
    const other = await opened(job, {}, new Uint8Array(32).fill(0x98));
    await expect(byProver(enclave.checkpoints[0]!.ciphertext, other)).rejects.toMatchObject({
      code: 'CHECKPOINT_AUTHENTICATION',
    });
    const own = await opened();
    const keyless = { ...own, sealing: { ...own.sealing, dataKey: new Uint8Array(32) } };
    await expect(byProver(enclave.checkpoints[0]!.ciphertext, keyless)).rejects.toMatchObject({
      code: 'CHECKPOINT_AUTHENTICATION',
    });
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
    let made: Proved;
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
      made = await prove(backend, computed, request(), () => undefined);
    }, 60_000);

    it('shows the very statement of its receipt', () => {
      const { spec, terms } = job;
      const { statement, soundnessBits } = verifyJobProof({ spec, terms }, 1, made.bundle, made.document);
      expect(encodeStepStatement(statement)).toEqual(enclave.checkpoints[1]!.statement);
      expect(soundnessBits).toBeGreaterThanOrEqual(100);
    });

    it('Z-L1 says that it shows no start, and of the first segment that it starts where the seed says', async () => {
      const { spec, terms } = job;
      expect(verifyJobProof({ spec, terms }, 1, made.bundle, made.document).start).toBe('given');
      const first = { index: 0, statement: enclave.checkpoints[0]!.statement, checkpoint: null };
      const { bundle, document } = await prove(backend, await opened(), first, () => undefined);
      expect(verifyJobProof({ spec, terms }, 0, bundle, document).start).toBe('seed');
    });

    it('is the same bytes when it is made again, also by another process', async () => {
      const again = await prove(backend, await opened(), request(), () => undefined);
      expect(Buffer.from(again.bundle).equals(made.bundle)).toBe(true);
      expect(again.document).toBe(made.document);
    });

    it('is the same bytes from the commitments that the segments before it left', async () => {
      const warm = await opened();
      const first = { index: 0, statement: enclave.checkpoints[0]!.statement, checkpoint: null };
      await prove(backend, warm, first, () => undefined);
      for (const _ of [1, 2]) {
        const again = await prove(backend, warm, request(), () => undefined);
        expect(Buffer.from(again.bundle).equals(made.bundle)).toBe(true);
        expect(again.document).toBe(made.document);
      }
    });

    it.each<[string, Parameters<typeof request>[0]]>([
      ['of the start instead', { checkpoint: null }],
      ['for another segment', { index: 2 }],
      ['for other weights before', { statement: { weightsBefore: new Uint8Array(32) } }],
      ['for other weights after', { statement: { weightsAfter: new Uint8Array(32) } }],
    ])('is not made from a witness %s', async (_name, change) => {
      const other = prove(backend, computed, request(change), () => undefined);
      await expect(other).rejects.toMatchObject({ code: 'WITNESS_FOREIGN' });
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
      const document = JSON.stringify(change(JSON.parse(made.document) as Record<string, unknown>));
      const check = () => verifyJobProof({ spec, terms }, index, made.bundle, document);
      expect(check).toThrow(expect.objectContaining({ code: 'PROOF_FOREIGN' }));
    });

    it('serves in no other spelling of its document', () => {
      const { spec, terms } = job;
      for (const document of [`${made.document}\n`, JSON.stringify(JSON.parse(made.document), null, 1)]) {
        const check = () => verifyJobProof({ spec, terms }, 1, made.bundle, document);
        expect(check).toThrow(expect.objectContaining({ code: 'PROOF_STATEMENT' }));
      }
    });
  });
});
