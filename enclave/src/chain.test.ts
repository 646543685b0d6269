import { describe, expect, it } from 'vitest';
import {
  concatBytes,
  decodeCanonical,
  encodeCanonical,
  recoverAddress,
  toCbor,
  utf8,
  type CborValue,
} from '#attestation/base';
import {
  checkpointSessionsMax,
  domainSeparator,
  escrowIdOf,
  runDigest,
  runKeysDigest,
  runKeysOf,
  type Checkpoint,
  type ReleasedSession,
} from '#attestation/records';
import { openWithNonce, sealWithNonce, partialKey } from '#libs/sealing';
import type { EventOf } from '#libs/wire/channel';
import { begun, jobOf, kinds, moved, resumed, seal, signedBy, strangersSession } from '#test/host-attack';
import { chainId, contract, hostSecret, signingSecret } from '#test/tiny-job';
import { keyed } from '#test/tiny-release';
import { average, heard, partial } from '#test/tiny-rounds';

const receipt = 'CHECKPOINT_RECEIPT';
const session = 'CHECKPOINT_SESSION';
const word = new Uint8Array(32).fill(0x5e);

describe.each(kinds)('a checkpoint of a %s job', async (kind) => {
  const job = await jobOf(kind);
  const [first, second] = [await keyed(job), await keyed(job)];
  const made = await begun(job, first);
  const goesOn = async (checkpoint: Checkpoint) =>
    resumed(job, kind === 'parallel' ? second : await keyed(job), checkpoint);

  it('N2 with weights that nobody trained is refused, although data key and host’s secret are right', async () => {
    expect(await goesOn(moved(job, made))).toMatchObject({ type: 'failed', code: receipt });
  });

  it('N2 without the receipts, or with those of other segments, is refused', async () => {
    const [one, two] = made.links;
    for (const links of [[], [one!], [two!, one!], [one!, one!], [one!, { ...two!, receipt: word }]]) {
      expect(await goesOn({ ...made, links })).toMatchObject({ type: 'failed', code: receipt });
    }
  });

  it('N2 names sessions that the broker of the terms released for this job and this provider', async () => {
    const strangers = [
      await strangersSession(first),
      await strangersSession(first, { session: first.granted.release.session }, signingSecret),
      await strangersSession(first, { key: first.granted.release.key }, signingSecret),
      await strangersSession(first, { job: word }, signingSecret),
      await strangersSession(first, { dataset: word }, signingSecret),
      await strangersSession(first, { policy: word }, signingSecret),
      await strangersSession(first, { provider: new Uint8Array(20) }, signingSecret),
    ];
    for (const stranger of strangers) {
      const forged = await signedBy(job, moved(job, made), stranger);
      expect(await goesOn(forged)).toMatchObject({ type: 'failed', code: session });
      // It need not even stand behind a border.
      expect(await goesOn({ ...made, sessions: [...made.sessions, stranger.session] })).toMatchObject({
        code: session,
      });
    }
    const links = made.links.map((link) => ({ ...link, session: 1 }));
    expect(await goesOn({ ...made, links })).toMatchObject({ type: 'failed', code: session });
  });

  it('N2 of a session that was released is taken, and its key is in the seal', async () => {
    const end = await resumed(job, second, made);
    const keys = [first, second].map(({ parsed }) => parsed.binding.settlementKey);
    if (kind === 'parallel') {
      expect(end.type).toBe('partial');
      return;
    }
    const { run, keys: told, seal: sealed } = end as EventOf<'result'>;
    expect(told).toEqual(runKeysOf(keys));
    expect(run.keys).toEqual(runKeysDigest(keys));
    const digest = runDigest(domainSeparator({ chainId, verifyingContract: contract }), {
      job: escrowIdOf(job.terms),
      ...run,
    });
    expect(recoverAddress(digest, sealed.subarray(4))).toEqual(second.parsed.binding.settlementKey);
  });
});

describe('sessions behind one job', async () => {
  const job = await jobOf('plain');
  const party = await keyed(job);
  const made = await begun(job, party);
  const others = await Promise.all(
    Array.from({ length: checkpointSessionsMax - 1 }, async () => {
      const { session: released } = await strangersSession(party, {}, signingSecret);
      return released;
    }),
  );

  it('N2 are at most 32: one more is refused before it has trained', async () => {
    const full = { ...made, sessions: [...made.sessions, ...others] };
    expect(await resumed(job, await keyed(job), full)).toMatchObject({ type: 'failed', code: session });
    const again = await keyed(job);
    const room = { ...full, sessions: full.sessions.slice(0, -1) };
    expect(await resumed(job, again, room)).toMatchObject({ type: 'result' });
    const many = await seal(job, { ...full, sessions: [...full.sessions, others[0]!] });
    const last = await keyed(job);
    await last.session.request('train', { checkpoint: many, threads: 1 });
    expect(await last.session.ended()).toMatchObject({ type: 'failed', code: 'MESSAGE_SHAPE' });
  });
});

describe('partials', async () => {
  const job = await jobOf('parallel');
  const [one, two, three] = [await keyed(job), await keyed(job), await keyed(job)];
  const secrets = { dataKey: job.dataset.key, hostSecret, jobId: job.jobId };
  const associated = concatBytes(utf8('veritrain/partial/v2'), job.jobId);

  /** The partial with another session in it. */
  async function renamed(ciphertext: Uint8Array, session: ReleasedSession): Promise<Uint8Array> {
    const key = await partialKey(secrets);
    const opened = decodeCanonical(await openWithNonce('OPEN', 'a partial', key, ciphertext, associated));
    const changed = new Map([...(opened as Map<string, CborValue>), ['session', toCbor(session)]]);
    return sealWithNonce(key, encodeCanonical(changed), associated);
  }

  it('A-C1 by a session that nobody released are refused, and those of another released one', async () => {
    const { ciphertext } = await partial(one, 0, null);
    const take = (bytes: Uint8Array) => two.session.request('partial', { ciphertext: bytes });
    const stranger = await strangersSession(one);
    await expect(take(await renamed(ciphertext, stranger.session))).rejects.toMatchObject({ code: session });
    const { binding } = three.parsed;
    const other = { binding, release: three.granted.release, signature: three.granted.signature };
    await expect(take(await renamed(ciphertext, other))).rejects.toMatchObject({ code: 'COSE_KEY_ID' });
    await expect(take(ciphertext)).resolves.toHaveLength(0);
    await average(two, [], null);
  });

  it('A-C1 are averaged from no start that nobody trained', async () => {
    const made = await begun(job, three);
    const start = await seal(job, moved(job, made));
    const honest = await seal(job, made);
    const partials = [await partial(one, 4, honest), await partial(one, 5, honest)].map(({ ciphertext }) => ciphertext);
    expect(await average(two, partials, start)).toMatchObject({ type: 'failed', code: receipt });
    expect(await average(two, partials, honest)).toMatchObject({ type: 'checkpoint' });
  });

  it('N2 of rounds leave the averaging sessions in the seal, and no worker’s', async () => {
    const before = two.session.events.length;
    let start: Uint8Array | null = null;
    for (const [round, leader] of [one, two, two].entries()) {
      const partials = [await partial(three, 2 * round, start), await partial(one, 2 * round + 1, start)];
      const event = await average(
        leader,
        partials.map(({ ciphertext }) => ciphertext),
        start,
      );
      start = (event as EventOf<'checkpoint'>).ciphertext;
    }
    const at = two.session.events.findIndex(({ type }, index) => index >= before && type === 'result');
    const { keys } = (await heard(two, at)) as EventOf<'result'>;
    expect(keys).toEqual(runKeysOf([one, two].map(({ parsed }) => parsed.binding.settlementKey)));
  });
});
