import { secp256k1 } from '@noble/curves/secp256k1.js';
import { describe, expect, it } from 'vitest';
import { addressOfPublicKey, equalBytes, recoverAddress } from '#attestation/base';
import { domainSeparator, escrowIdOf, runDigest, type Release } from '#attestation/records';
import type { EventOf } from '#libs/wire/channel';
import { jobOf, kinds, resealed, strangersSecret } from '#test/host-attack';
import { chainId, contract, jobRequest, tinyJob, type TinyJob } from '#test/tiny-job';
import { grantTo, present, signRelease, type GrantChanges } from '#test/tiny-release';

const signer = { code: 'GRANT_SIGNER' };
const word = new Uint8Array(32).fill(0x5e);
const account = new Uint8Array(20).fill(0x5e);

async function offered(job: TinyJob, changes: GrantChanges = {}) {
  const party = await present();
  return { party, granted: await grantTo(job, party, changes) };
}

describe.each(kinds)('a grant for a %s job', async (kind) => {
  const job = await jobOf(kind);

  it('A-C1 of the host’s own making, over a key and records of its own, is refused', async () => {
    const own = await resealed(job);
    const forever = { release: { notAfter: 2 ** 39 }, signer: strangersSecret };
    const { party, granted } = await offered(own, forever);
    const request = jobRequest(own, granted);
    await expect(party.session.request('job', request)).rejects.toMatchObject(signer);
    const honest = await grantTo(job, party);
    const mixed = { ...honest, sealedKey: granted.sealedKey };
    await expect(party.session.request('job', jobRequest(own, mixed))).rejects.toMatchObject({ code: 'GRANT_KEY' });
    const named = { ...honest, release: { ...honest.release, grant: granted.release.grant } };
    const relabelled = { ...named, sealedKey: granted.sealedKey };
    await expect(party.session.request('job', jobRequest(own, relabelled))).rejects.toMatchObject(signer);
    await expect(party.session.request('shard', { index: 0, ciphertext: word })).rejects.toMatchObject({
      code: 'REQUEST_ORDER',
    });
    await expect(party.session.request('job', jobRequest(job, honest))).resolves.toHaveLength(0);
  });

  it.each<[string, Partial<Release>]>([
    ['GRANT_JOB', { job: word }],
    ['GRANT_JOB', { dataset: word }],
    ['GRANT_JOB', { policy: word }],
    ['GRANT_SESSION', { session: word }],
    ['GRANT_SESSION', { key: account }],
    ['GRANT_SESSION', { provider: account }],
    ['GRANT_KEY', { grant: word }],
    ['LEASE_NONCE', { nonce: word }],
    ['ATTESTATION_LAPSED', { notAfter: 0, grantedAt: 60 }],
  ])('A-C1 of the right broker is refused with %s: %o', async (code, release) => {
    const { party, granted } = await offered(job, { release });
    await expect(party.session.request('job', jobRequest(job, granted))).rejects.toMatchObject({ code });
  });

  it('A-C1 changed anywhere behind the signature recovers to somebody else', async () => {
    const { party, granted } = await offered(job);
    for (const [name, value] of Object.entries(granted.release)) {
      const other =
        typeof value === 'number' ? value + 1 : value.map((byte: number, at: number) => (at === 3 ? byte ^ 1 : byte));
      const release = { ...granted.release, [name]: other };
      await expect(party.session.request('job', jobRequest(job, { ...granted, release }))).rejects.toMatchObject(
        signer,
      );
    }
  });
});

describe('terms of the host’s own making', () => {
  it('N1 lead to a seal for an escrow of its own making, and to nothing else', async () => {
    const honest = await tinyJob();
    const keyBroker = addressOfPublicKey(secp256k1.getPublicKey(strangersSecret, false));
    const own = { ...(await resealed(honest)), terms: { ...honest.terms, keyBroker } };
    const { party, granted } = await offered(own, { signer: strangersSecret });
    const { session, parsed } = party;
    await session.request('job', jobRequest(own, granted));
    for (const [index, ciphertext] of own.dataset.shards.entries())
      await session.request('shard', { index, ciphertext });
    await session.request('train', { checkpoint: null, threads: 1 });
    const { run, seal } = (await session.ended()) as EventOf<'result'>;
    const domain = domainSeparator({ chainId, verifyingContract: contract });
    const by = (job: Uint8Array) => recoverAddress(runDigest(domain, { job, ...run }), seal.subarray(4));
    expect(by(escrowIdOf(own.terms))).toEqual(parsed.binding.settlementKey);
    expect(equalBytes(by(escrowIdOf(honest.terms)), parsed.binding.settlementKey)).toBe(false);
  });

  it('A-C1 that name no broker are refused, whoever signs', async () => {
    const nobody = await tinyJob({ terms: { keyBroker: new Uint8Array(20) } });
    for (const by of [strangersSecret, undefined]) {
      const { party, granted } = await offered(nobody, by === undefined ? {} : { signer: by });
      await expect(party.session.request('job', jobRequest(nobody, granted))).rejects.toMatchObject(signer);
    }
  });

  it('A-C1 of one escrow take no grant for another of the same spec', async () => {
    const [one, two] = [await tinyJob(), await tinyJob({ terms: { price: 2000n } })];
    const { party, granted } = await offered(one);
    await expect(party.session.request('job', jobRequest(two, granted))).rejects.toMatchObject({ code: 'GRANT_JOB' });
    const elsewhere = { ...granted, signature: signRelease(granted.release, undefined, { chainId: 1, contract }) };
    await expect(party.session.request('job', jobRequest(one, elsewhere))).rejects.toMatchObject(signer);
  });
});
