import { describe, expect, it } from 'vitest';
import { parseStepStatement, verifyReceipt } from '#attestation/records';
import { checkpointKey, openCheckpoint } from '#libs/sealing';
import { decodeWeights, encodeWeights, initialWeights } from '#libs/step';
import type { EventOf } from '#libs/wire/channel';
import { commitmentFormat, createCommitter, jobCommitments, weightsDigestOf } from '#libs/zk/commit';
import { hostSecret, tinyDataset, tinyJob, tinyManifest, type TinyDataset } from '#test/tiny-job';
import { keyed, type Keyed } from '#test/tiny-release';

const profile = 'fast16';
const manifest = tinyManifest({ steps: 12, superblock: 2 });
const dataset = await tinyDataset(manifest, { proving: profile });
const job = await tinyJob({ manifest, dataset, segmentSteps: 4 });

async function trained(of: typeof job, checkpoint: Uint8Array | null = null) {
  const party = await keyed(of);
  await party.session.request('train', { checkpoint, threads: 1 });
  return { ...party, end: await party.session.ended() };
}

const checkpointsOf = ({ session }: Pick<Keyed, 'session'>) =>
  session.events.filter((event): event is EventOf<'checkpoint'> => event.type === 'checkpoint');

describe('a job whose commitments proofs can open', async () => {
  const whole = await trained(job);
  const { borders } = whole.end as EventOf<'result'>;
  const checkpoints = checkpointsOf(whole);
  const secret = { jobId: job.jobId, dataKey: dataset.key };

  it('ends with borders in scheme fxt-zk/1, each signed for', async () => {
    expect(borders).toHaveLength(4);
    const format = commitmentFormat(manifest, profile);
    const committer = createCommitter(format);
    const commitments = jobCommitments(job.spec, manifest, secret);
    const key = await checkpointKey({ dataKey: dataset.key, hostSecret, jobId: job.jobId });
    for (const [index, { ciphertext, statement, receipt }] of checkpoints.entries()) {
      const { weights } = await openCheckpoint(key, job.jobId, ciphertext);
      const border = committer.weights(decodeWeights(manifest, weights), commitments.seed(index + 1));
      expect(weightsDigestOf(border, format)).toEqual(borders[index + 1]);
      const parsed = parseStepStatement(statement);
      expect([parsed.weightsBefore, parsed.weightsAfter]).toEqual([borders[index], borders[index + 1]]);
      await verifyReceipt(receipt, parsed, whole.parsed.binding.receiptKey);
    }
  });

  it('starts from a border that anybody can compute', () => {
    expect(jobCommitments(job.spec, manifest, null).border(0, initialWeights(manifest))).toEqual(borders[0]);
    expect(() => jobCommitments(job.spec, manifest, null).border(1, initialWeights(manifest))).toThrow(RangeError);
  });

  it('ends in the same borders from any checkpoint, also of another session', async () => {
    for (const { ciphertext } of checkpoints.slice(0, 2)) {
      const resumed = await trained(job, ciphertext);
      expect((resumed.end as EventOf<'result'>).borders).toEqual(borders);
    }
  });

  it('hides equal weights behind other bytes in another job', async () => {
    const other = await trained(
      await tinyJob({ manifest, dataset, segmentSteps: 4, spec: { salt: new Uint8Array(32) } }),
    );
    const weightsOf = async (of: typeof whole, id: Uint8Array) => {
      const key = await checkpointKey({ dataKey: dataset.key, hostSecret, jobId: id });
      return (await openCheckpoint(key, id, checkpointsOf(of)[0]!.ciphertext)).weights;
    };
    const otherId = parseStepStatement(checkpointsOf(other)[0]!.statement).jobId;
    expect(await weightsOf(other, otherId)).toEqual(await weightsOf(whole, job.jobId));
    const otherBorders = (other.end as EventOf<'result'>).borders;
    expect(otherBorders[0]).toEqual(borders[0]);
    expect(otherBorders[1]).not.toEqual(borders[1]);
  });
});

describe('data of a job whose commitments proofs can open', () => {
  const withCommitments = (change: (commitments: readonly { root: Uint8Array; ood: Uint8Array }[]) => object[]) => ({
    ...dataset,
    manifest: {
      ...dataset.manifest,
      proving: { profile, commitments: change(dataset.manifest.proving!.commitments) },
    },
  });
  const run = async (given: object) => {
    const party = await keyed({ ...job, dataset: given as TinyDataset });
    return party.session.request('train', { checkpoint: null, threads: 1 });
  };

  it.each([
    ['with two superblocks exchanged', withCommitments(([a, b, ...rest]) => [b!, a!, ...rest])],
    ['with another root', withCommitments(([a, ...rest]) => [{ ...a!, root: a!.ood }, ...rest])],
    [
      'with another value outside the domain',
      withCommitments(([a, ...rest]) => [{ ...a!, ood: new Uint8Array(32) }, ...rest]),
    ],
  ])('%s is refused', async (_name, given) => {
    await expect(run(given)).rejects.toMatchObject({ code: 'DATASET_ROOT' });
  });

  it('that the root does not commit to is refused before its labels are looked at', async () => {
    const swapped = await tinyDataset(manifest, { proving: profile, lastLabel: 9, root: 'before' });
    const other = await tinyJob({ manifest, dataset: swapped, segmentSteps: 4 });
    const party = await keyed(other);
    const asked = party.session.request('train', { checkpoint: null, threads: 1 });
    await expect(asked).rejects.toMatchObject({ code: 'DATASET_ROOT' });
  });

  it('in another scheme, or under another profile, is refused', async () => {
    const plain = await tinyDataset(manifest);
    const { id, root } = plain.manifest;
    const spec = { dataset: { ...job.spec.dataset, id, root } };
    const mixed = await tinyJob({ manifest, dataset: plain, segmentSteps: 4, spec: { ...job.spec, ...spec } });
    await expect(keyed(mixed)).rejects.toMatchObject({ code: 'JOB_DATASET' });
    const proving = { ...job.spec.proving!, profile: 'chain16' };
    const renamed = await tinyJob({ manifest, dataset, segmentSteps: 4, spec: { proving } });
    await expect(keyed(renamed)).rejects.toMatchObject({ code: 'JOB_DATASET' });
  });
});

describe('the delivered weights', () => {
  it('of a plain job open without a seed', () => {
    const weights = initialWeights(manifest);
    const plain = jobCommitments({ scheme: 'state-keccak', proving: null }, manifest, null);
    expect(plain.seed(3)).toHaveLength(0);
    expect(decodeWeights(manifest, encodeWeights(weights))).toEqual(weights);
  });
});
