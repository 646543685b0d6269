/** A job whose state is too large for one message: its checkpoints and its result travel in pieces. */
import { beforeAll, describe, expect, it } from 'vitest';
import { checkpointWeightsBytesMax, concatBytes, toHex } from '#attestation/base';
import {
  chunkListDigest,
  deliveryDigest,
  deliveryHasher,
  keyCommitment,
  pieceBytes,
  pieceRanges,
  piecesHeadBytes,
} from '#attestation/records';
import { openedBytes, openResultPieces } from '#libs/sealing';
import { isInPieces, parameterCount, readWeights } from '#libs/step';
import type { EventOf } from '#libs/wire/channel';
import { jobCommitments } from '#libs/zk/commit';
import { netJob, tableBytes, tableNet, type NetJob } from '#test/net-job';
import { jobRequest, recipientSecret, type TinySession } from '#test/tiny-job';
import { grantTo, present } from '#test/tiny-release';

/** 522,715 parameters and twice as many numbers of AdamW: 12.5 MB. */
const width = 719;
const optimizer = {
  ...{ kind: 'adamw', beta1: [13, 7], beta2: [1, 10], decay: 655, clip: 1500 },
  lr: { frac: 24, points: [[0, 3355]] },
};
const layers = [
  ...[{ op: 'dense', out: width }, { op: 'relu' }, { op: 'dense', out: width }, { op: 'relu' }],
  { op: 'dense', out: 2 },
];
const netOf = { steps: 16, layers, optimizer, evaluate: undefined };
const net = tableNet(netOf);

interface Told {
  readonly step: number;
  readonly pieces: readonly Uint8Array[];
}

let job: NetJob;
let whole: Awaited<ReturnType<typeof trained>>;
beforeAll(async () => {
  job = await netJob({ net });
  whole = await trained(await holding(job), null);
}, 120_000);

/** A session that has the job and its data. */
async function holding(held: NetJob) {
  const party = await present();
  const request = jobRequest(held, await grantTo(held, party));
  await party.session.request('job', { ...request, dataset: tableBytes(held.data) });
  for (const [index, ciphertext] of held.data.shards.entries()) {
    await party.session.request('shard', { index, ciphertext });
  }
  return { session: party.session, peer: party.parsed.binding.transportKey };
}

/** As the host sends a checkpoint that it has as one file: cut where its length says. */
async function trained({ session, peer }: Awaited<ReturnType<typeof holding>>, checkpoint: Uint8Array | null) {
  const pieces = checkpoint === null ? [] : cut(checkpoint);
  await given(session, pieces.slice(0, -1));
  return { ...(await run(session, pieces.at(-1) ?? null)), peer };
}

function cut(whole: Uint8Array): Uint8Array[] {
  return pieceRanges(whole.length).map(({ from, to }) => whole.slice(from, to));
}

async function given(session: TinySession, pieces: readonly Uint8Array[]): Promise<void> {
  for (const [index, ciphertext] of pieces.entries()) await session.request('piece', { index, ciphertext });
}

async function run(session: TinySession, last: Uint8Array | null) {
  await session.request('train', { checkpoint: last, threads: 1 });
  const end = await session.ended();
  const checkpoints: Told[] = [];
  let pieces: Uint8Array[] = [];
  for (const event of session.events) {
    if (event.type === 'piece') {
      expect(event.index).toBe(pieces.length);
      pieces.push(event.ciphertext);
    }
    if (event.type !== 'checkpoint') continue;
    checkpoints.push({ step: event.step, pieces: [...pieces, event.ciphertext] });
    pieces = [];
  }
  return { end, checkpoints, pieces };
}

const codeOf = async (act: Promise<unknown>): Promise<string> =>
  act.then(
    () => 'taken',
    (error: unknown) => (error as { code: string }).code,
  );

describe('a state beyond one message', () => {
  it('is one of more than fits, as host and client count it', () => {
    expect(8 * parameterCount(net)).toBeGreaterThan(checkpointWeightsBytesMax);
    expect([isInPieces(net), isInPieces(tableNet())]).toEqual([true, false]);
  });

  it('is told in pieces, and goes on from them to the same bits in another session', async () => {
    expect(whole.checkpoints.map(({ step }) => step)).toEqual([8, 16]);
    const { pieces } = whole.checkpoints[0]!;
    expect(pieces).toHaveLength(2);
    expect(pieces[0]).toHaveLength(piecesHeadBytes + pieceBytes + 16);
    const rest = await trained(await holding(job), concatBytes(...pieces));
    expect(bordersOf(rest.end)).toEqual(bordersOf(whole.end));
  });

  it('is delivered in pieces that the seal is over, and opens for the client', async () => {
    const end = whole.end as EventOf<'result'>;
    const hasher = deliveryHasher();
    const told = [...whole.pieces, end.ciphertext];
    told.forEach((piece) => hasher.update(piece));
    const { bytes, digest, hashes } = hasher.end();
    expect(chunkListDigest(bytes, hashes)).toEqual(digest);
    expect(end.run.delivery).toEqual(deliveryDigest(digest, keyCommitment(end.revealKey)));
    const weights = await openedWeights(told, end);
    const commitments = jobCommitments({ scheme: 'state-keccak', proving: null }, net, null);
    expect(toHex(commitments.border(0, weights))).toBe(toHex(end.run.last));
    expect(await codeOf(openedWeights(told.slice(0, -1), end))).toBe('PIECES_MISSING');
    expect(await codeOf(openedWeights(told, { ...end, revealKey: end.run.last }))).toBe('RESULT_DECRYPT');
    expect(await codeOf(openedWeights(whole.checkpoints[1]!.pieces, end))).toBe('RESULT_DECRYPT');
  });

  const authentication = 'CHECKPOINT_AUTHENTICATION';
  it.each<[string, string, (older: Told, newer: Told) => Uint8Array[]]>([
    ['without its last piece', 'PIECES_MISSING', ({ pieces }) => [pieces[0]!]],
    ['without its first piece', 'PIECES_SIZE', ({ pieces }) => [pieces[1]!]],
    ['with a piece of an older checkpoint', authentication, (older, newer) => [newer.pieces[0]!, older.pieces[1]!]],
    ['with a piece of a newer checkpoint', authentication, (older, newer) => [older.pieces[0]!, newer.pieces[1]!]],
    ['with its first piece twice', authentication, ({ pieces }) => [pieces[0]!, pieces[0]!]],
    ['with its last piece twice', 'PIECES_ORDER', ({ pieces }) => [...pieces, pieces[1]!]],
  ])('%s is refused, and the right one is taken after', async (_, code, forge) => {
    const { session } = await holding(job);
    const [older, newer] = whole.checkpoints as [Told, Told];
    const forged = given(session, forge(older, newer)).then(() =>
      session.request('train', { checkpoint: null, threads: 1 }),
    );
    expect(await codeOf(forged)).toBe(code);
    await given(session, older.pieces);
    await session.request('train', { checkpoint: null, threads: 1 });
    expect(bordersOf(await session.ended())).toEqual(bordersOf(whole.end));
  });

  it('of another job, or sent as one message, is refused', async () => {
    const other = await holding(await netJob({ net: tableNet({ ...netOf, seed: `0x${'5b'.repeat(32)}` }) }));
    const { pieces } = whole.checkpoints[0]!;
    expect(await codeOf(given(other.session, pieces))).toBe(authentication);
    const { session } = await holding(job);
    await session.request('train', { checkpoint: concatBytes(...pieces), threads: 1 });
    expect(await session.ended()).toMatchObject({ type: 'failed', code: authentication });
  });
});

const bordersOf = (end: { type: string }): string[] => {
  expect(end).toMatchObject({ type: 'result' });
  return (end as EventOf<'result'>).borders.map(toHex);
};

async function openedWeights(pieces: readonly Uint8Array[], { revealKey, run: { last } }: EventOf<'result'>) {
  const opener = openResultPieces({
    ...{ secret: recipientSecret, peer: whole.peer, revealKey, jobId: job.jobId, last },
  });
  const parts: Uint8Array[] = [];
  for (const piece of pieces) parts.push(await opener.take(piece));
  opener.end();
  return readWeights(net, openedBytes(parts).take);
}
