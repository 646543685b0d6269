/** Jobs of `fxt/2` through a session: evaluations, an early stop, resumption, and data sets and starts that do not belong. */
import { describe, expect, it } from 'vitest';
import { to0x, toHex } from '#attestation/base';
import { parseEvaluation } from '#attestation/records';
import { canonicalManifest, drawnParameters, encodeWeights, initialWeights, netOf, startRoot } from '#libs/step';
import type { EventOf } from '#libs/wire/channel';
import { jobCommitments } from '#libs/zk/commit';
import { netJob, tableBytes, tableData, tableNet, type NetJob, type TableData } from '#test/net-job';
import { jobRequest } from '#test/tiny-job';
import { grantTo, present } from '#test/tiny-release';

/** A session that holds the job. @param data  what the host hands over in place of the job's own */
async function holding(job: NetJob, data: TableData = job.data) {
  const party = await present();
  const request = jobRequest(job, await grantTo(job, party));
  await party.session.request('job', { ...request, dataset: tableBytes(data) });
  return party.session;
}

async function sent(job: NetJob, data?: TableData) {
  const session = await holding(job, data);
  const { shards } = data ?? job.data;
  for (const [index, ciphertext] of shards.entries()) await session.request('shard', { index, ciphertext });
  return session;
}

async function trained(job: NetJob, checkpoint: Uint8Array | null = null, start?: Uint8Array) {
  const session = await sent(job);
  if (start !== undefined) await session.request('start', { index: 0, weights: start });
  const ended = new Promise<EventOf<'result'>>((resolve, reject) => {
    session.onEvent((event) => {
      if (event.type === 'result') resolve(event);
      if (event.type === 'failed') reject(new Error(`${event.code}: ${event.expected}, ${event.got}`));
    });
  });
  await session.request('train', { checkpoint, threads: 1 });
  const result = await ended;
  const checkpoints = session.events.filter((event): event is EventOf<'checkpoint'> => event.type === 'checkpoint');
  const told = session.events.filter((event): event is EventOf<'evaluation'> => event.type === 'evaluation');
  const figures = session.events.filter((event): event is EventOf<'progress'> => event.type === 'progress');
  return { result, checkpoints, told, figures };
}

const statements = ({ evaluations }: EventOf<'result'>): string[] =>
  evaluations.map(({ statement }) => toHex(statement));
const borders = ({ borders: all }: EventOf<'result'>): string[] => all.map(toHex);

describe('a net', () => {
  it('is evaluated while it trains, and all its evaluations come with the result', async () => {
    const { result, told } = await trained(await netJob());
    expect(told.map(({ step }) => step)).toEqual([8, 16, 24]);
    expect(result.evaluations).toEqual(told.map(({ evaluated }) => evaluated));
    expect(result.run).toMatchObject({ outcome: 0, upTo: 3 });
  });

  it('counts on every edge over whole windows, as the spec lets it out', async () => {
    const job = await netJob();
    const { figures } = await trained(job);
    expect(figures.length).toBeGreaterThan(0);
    const ids = netOf(job.net).layers.map(({ id }) => id);
    for (const { edges } of figures) {
      expect(edges.map(({ edge }) => edge)).toEqual(ids);
      for (const { values, errors, zeroErrors } of edges) {
        expect([values > 0, errors]).toEqual([true, values]);
        expect(zeroErrors).toBeLessThanOrEqual(errors);
      }
    }
  });

  it.each([
    ['at the ends of segments', 8],
    ['inside them', 6],
  ])('goes on, evaluated %s, in another session to the same bits and statements', async (_, every) => {
    const job = await netJob({ net: tableNet({ evaluate: { every, metrics: ['accuracy', 'loss'] } }) });
    const whole = await trained(job);
    for (const { ciphertext } of whole.checkpoints.slice(0, 2)) {
      const rest = await trained(job, ciphertext);
      expect(borders(rest.result)).toEqual(borders(whole.result));
      expect(statements(rest.result)).toEqual(statements(whole.result));
    }
  });

  it('ends by its rule, with the best border named in the last statement', async () => {
    const stop = { metric: 'accuracy', patience: 1, minimum: 1_000 };
    const { result } = await trained(await netJob({ net: tableNet({ stop }) }));
    expect(result.run).toMatchObject({ outcome: 3, upTo: 2 });
    const last = parseEvaluation(result.evaluations.at(-1)!.statement);
    expect(last).toMatchObject({ step: 16, end: { reason: 'stopped' } });
    expect(borders(result)[last.end!.step / 8]).toBe(toHex(last.end!.weights));
  });
});

describe('a data set of layout 2', () => {
  it('whose header is not what the net reads is refused', async () => {
    const features = { dtype: 'int16', shape: [4], frac: 8 } as const;
    const job = await netJob();
    const { manifest, ...rest } = job.data;
    const forged = { ...rest, manifest: { ...manifest, header: { ...manifest.header, features } } };
    await expect(holding(job, forged)).rejects.toMatchObject({ code: 'HEADER_FIT' });
  });

  it('whose header says other columns than the root binds is refused before anything is trained', async () => {
    const job = await netJob();
    const { manifest, ...rest } = job.data;
    const label = { kind: 'class', classes: 2, columns: [{ name: 'ill', kind: 'category', values: ['no', 'yes'] }] };
    const session = await sent(job, { ...rest, manifest: { ...manifest, header: { ...manifest.header, label } } });
    const train = session.request('train', { checkpoint: null, threads: 1 });
    await expect(train).rejects.toMatchObject({ code: 'DATASET_ROOT' });
  });

  it('with another validation set than the spec names is refused', async () => {
    const job = await netJob();
    const other = await tableData(job.net, { salt: 7 });
    const manifest = { ...job.data.manifest, validation: other.manifest.validation };
    await expect(holding(job, { ...job.data, manifest })).rejects.toMatchObject({ code: 'JOB_DATASET' });
  });
});

describe('start weights that a file brings', async () => {
  const seeded = tableNet();
  const parameters = drawnParameters(seeded);
  const bytes = encodeWeights(parameters);
  const net = tableNet({ start: { kind: 'weights', root: to0x(startRoot(seeded, parameters)) } });
  const job = await netJob({ net });

  async function started(weights: readonly Uint8Array[]) {
    const session = await sent(job);
    for (const [index, part] of weights.entries()) await session.request('start', { index, weights: part });
    return session.request('train', { checkpoint: null, threads: 1 });
  }

  it('are taken in parts where they have the root that the manifest names', async () => {
    await expect(started([bytes.slice(0, 100), bytes.slice(100)])).resolves.toHaveLength(0);
    const commitments = jobCommitments({ scheme: 'state-keccak', proving: null }, net, null);
    expect(toHex(job.terms.initialWeights)).toBe(toHex(commitments.border(0, initialWeights(seeded))));
    expect(canonicalManifest(net)).not.toEqual(canonicalManifest(seeded));
  });

  it('are sent again to a session that goes on, for a checkpoint has no frozen parameters', async () => {
    const layers = [{ op: 'dense', out: 8, frozen: true }, { op: 'relu' }, { op: 'dense', out: 2 }];
    const root = to0x(startRoot(tableNet({ layers }), parameters));
    const adapted = await netJob({ net: tableNet({ layers, start: { kind: 'weights', root } }) });
    const whole = await trained(adapted, null, bytes);
    const { ciphertext } = whole.checkpoints[0]!;
    const rest = await trained(adapted, ciphertext, bytes);
    expect(borders(rest.result)).toEqual(borders(whole.result));
    await expect(trained(adapted, ciphertext)).rejects.toMatchObject({ code: 'START_LENGTH' });
  });

  it.each<[string, string, (given: Uint8Array) => Uint8Array[]]>([
    ['START_ROOT', 'another value', (given) => [given.with(0, given[0]! ^ 1)]],
    ['START_LENGTH', 'a value less', (given) => [given.slice(8)]],
    ['START_LENGTH', 'nothing', () => []],
    ['REQUEST_ORDER', 'a value more', (given) => [given, new Uint8Array(8)]],
  ])('are refused with %s where they have %s', async (code, _, change) => {
    await expect(started(change(bytes))).rejects.toMatchObject({ code });
  });
});
