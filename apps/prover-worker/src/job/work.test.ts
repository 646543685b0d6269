/** A job without a TEE, as processes: prepared, worked, killed, taken up again; and orders that are refused. */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { encodeJobSpec, equalBytes, fromHex, jobIdOf, toHex, type JobSpec } from '#attestation';
import { parseProofStatement, verifyProofBundle } from '#libs/proof';
import { canonicalManifest, initialWeights, profileManifest, stateDigest, stepReference } from '#libs/step';
import { loadExamples } from '../proving/files.js';
import { blockExamples } from '../proving/records.js';
import { readOrder } from './order.js';
import { work } from './work.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-worker-'));
const manifest = profileManifest('fx1', {
  ...{ dims: [6, 5, 3], batch: 4, e: 5, steps: 5, superblock: 2 },
  seed: `0x${'5a'.repeat(32)}`,
});
const files = { images: join(folder, 'images'), labels: join(folder, 'labels') };
let order: Record<string, unknown>;
let spec: JobSpec;
const escrow = { domain: `0x${'d0'.repeat(32)}`, job: `0x${'e0'.repeat(32)}` };

interface Prepared {
  readonly profile: string;
  readonly root: string;
  readonly records: number;
  readonly data: object[];
  readonly genesis: object;
  readonly dataSecret: string;
  readonly weightSeed: string;
}

interface Ran {
  readonly status: number | null;
  readonly events: readonly Record<string, unknown>[];
}

/** @param until ends the process with SIGKILL once an event meets it */
function start(
  entry: string,
  args: string[],
  input = '',
  until: (event: Record<string, unknown>) => boolean = () => false,
): Promise<Ran> {
  const path = fileURLToPath(new URL(`../${entry}.ts`, import.meta.url));
  const flags = ['--conditions=source', '--import', '@oxc-node/core/register', path, ...args];
  const child = spawn(process.execPath, flags, { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(input);
  const events: Record<string, unknown>[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    events.push(JSON.parse(line) as Record<string, unknown>);
    if (until(events.at(-1)!)) child.kill('SIGKILL');
  });
  return new Promise((resolve) => child.once('close', (status) => resolve({ status, events })));
}

async function runWorker(name: string, changes: object = {}, until?: (event: Record<string, unknown>) => boolean) {
  writeFileSync(join(folder, `${name}.json`), JSON.stringify({ ...order, ...changes }));
  return start('work-main', [join(folder, `${name}.json`), join(folder, name)], '', until);
}

const encoded = (changed: Partial<JobSpec>): string =>
  Buffer.from(encodeJobSpec({ ...spec, ...changed })).toString('base64');

beforeAll(async () => {
  const header = (...words: number[]): Buffer => {
    const bytes = Buffer.alloc(4 * words.length);
    words.forEach((word, i) => bytes.writeUInt32BE(word, 4 * i));
    return bytes;
  };
  const pixels = Buffer.from(Array.from({ length: 32 * 6 }, (_, i) => (i * 73 + (i >> 3)) & 255));
  writeFileSync(files.images, Buffer.concat([header(0x803, 32, 2, 3), pixels]));
  writeFileSync(
    files.labels,
    Buffer.concat([header(0x801, 32), Buffer.from(Array.from({ length: 32 }, (_, i) => i % 3))]),
  );
  const request = { manifest: JSON.parse(Buffer.from(canonicalManifest(manifest)).toString()) as unknown, ...files };
  const { events } = await start('prepare-main', [], JSON.stringify({ ...request, recordsMax: 24 }));
  const { profile, root, records, data, genesis, dataSecret, weightSeed } = events[0]!.prepared as Prepared;
  spec = {
    version: 1,
    manifest: canonicalManifest(manifest),
    dataset: { id: new Uint8Array(32), root: fromHex(root), records, shards: 1 },
    segmentSteps: 2,
    scheme: 'fxt-zk/1',
    policyDigest: new Uint8Array(32),
    assurance: 'zk',
    recipient: new Uint8Array(32),
    settlement: { chainId: 31_337, contract: new Uint8Array(20) },
    salt: new Uint8Array(32).fill(7),
  };
  order = { spec: encoded({}), profile, ...files, data, genesis, dataSecret, weightSeed, escrow };
});

describe('a job that is killed after its first segment', () => {
  it('goes on there, and gives one chain of seals that ends in the exact weights', async () => {
    const killed = await runWorker('job', {}, ({ event }) => event === 'segment');
    expect(killed.status).toBeNull();
    const { status, events } = await runWorker('job');
    expect(status).toBe(0);
    const progress = events.filter(({ event }) => event === 'progress');
    const percents = progress.map(({ percent }) => Number(percent));
    expect(percents).toEqual([...percents].sort((a, b) => a - b));
    expect(new Set(progress.map(({ phase }) => phase))).toEqual(new Set(['load', 'execute', 'commit', 'prove']));
    expect(progress.at(-1)!.etaSeconds).toBeGreaterThanOrEqual(0);
    const left = readdirSync(join(folder, 'job')).filter((name) => /after|partial/.test(name));
    expect(left).toEqual(['segment-00002.after']);
    const segments = events.filter(({ event }) => event === 'segment');
    const end = events.at(-1)!;
    expect(end).toMatchObject({ event: 'done', segments: 3 });
    expect(end.resumedAt).toBeGreaterThanOrEqual(1);
    expect(segments.length).toBe(3 - Number(end.resumedAt));
    let last: Uint8Array | undefined;
    for (const index of [0, 1, 2]) {
      const path = join(folder, 'job', `segment-0000${index}`);
      const statement = parseProofStatement(JSON.parse(readFileSync(`${path}.json`, 'utf8')));
      expect(statement.escrow).toEqual({ domain: fromHex(escrow.domain), job: fromHex(escrow.job) });
      const verified = verifyProofBundle(new Uint8Array(readFileSync(`${path}.seal`)), statement).statement;
      expect(equalBytes(verified.jobId, jobIdOf(spec)) && equalBytes(verified.datasetRoot, spec.dataset.root)).toBe(
        true,
      );
      expect([verified.stepFrom, verified.stepCount]).toEqual([2 * index, index === 2 ? 1 : 2]);
      if (last !== undefined) expect(toHex(verified.weightsBefore)).toBe(toHex(last));
      last = verified.weightsAfter;
    }
    const loaded = await loadExamples(manifest, files);
    const examples = { ...loaded, count: 24 };
    let weights = initialWeights(manifest);
    for (let step = 0; step < 5; step++) {
      weights = stepReference(manifest, weights, blockExamples(manifest, examples, step), step).weights;
    }
    expect(end.stateDigest).toBe(`0x${toHex(stateDigest(manifest, weights))}`);
  });
});

describe('an order', () => {
  it.each<[string, () => object, string]>([
    ['for a TEE alone', () => ({ spec: encoded({ assurance: 'tee' }) }), 'ORDER_ASSURANCE'],
    ['in another scheme', () => ({ spec: encoded({ scheme: 'state-keccak' }) }), 'ORDER_SCHEME'],
    ['of other segments', () => ({ spec: encoded({ segmentSteps: 4 }) }), 'ORDER_SEGMENT'],
    ['of other data', () => ({ data: (order.data as unknown[]).toReversed() }), 'ORDER_DATASET'],
    ['of other start weights', () => ({ weightSeed: `0x${'11'.repeat(32)}` }), 'ORDER_GENESIS'],
    ['with other data secrets', () => ({ dataSecret: `0x${'11'.repeat(32)}` }), 'STEP_STATEMENT'],
    ['with too little memory', () => ({ memoryMiB: 32 }), 'ZK_MEMORY_EXCEEDED'],
  ])('%s is refused and leaves nothing', async (name, changes, code) => {
    const file = join(folder, `${name}.json`);
    writeFileSync(file, JSON.stringify({ ...order, ...changes() }));
    const at = join(folder, name);
    const run = async (): Promise<void> => {
      const read = readOrder(file);
      await work(
        read,
        at,
        () => loadExamples(manifest, read),
        () => undefined,
      );
    };
    await expect(run()).rejects.toMatchObject({ code });
    expect(existsSync(at) ? readdirSync(at) : []).toEqual([]);
  });
});
