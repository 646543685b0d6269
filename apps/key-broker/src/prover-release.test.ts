import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Aes256Gcm, CipherSuite, HkdfSha256 } from '@hpke/core';
import { DhkemX25519HkdfSha256 } from '@hpke/dhkem-x25519';
import { x25519 } from '@noble/curves/ed25519.js';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { describe, expect, it } from 'vitest';
import { addressOfPublicKey, recoverAddress, to0x, toHex } from '#attestation/base';
import {
  domainSeparator,
  dutySelectorOf,
  encodeJobSpec,
  encodeTerms,
  escrowIdOf,
  jobIdOf,
  JobMode,
  keyReleaseInfo,
  parseDataKey,
  proverRequestDigest,
  releaseDigest,
  type JobSpec,
  type Terms,
} from '#attestation/records';
import type { Manifest } from '#libs/step';
import { escrowThatIs, tinyAt, tinyBrokerConfig, tinyDataset, tinyJob, tinyManifest } from '#test/tiny-job';
import type { BrokerConfig } from './config.js';
import { createJudgeParts } from './parts.js';
import { releaseToProver } from './prover-release.js';

const proverTestSecret = new Uint8Array(32).fill(0x31);
const transportTestSecret = new Uint8Array(32).fill(0x32);
const accountOf = (secret: Uint8Array): Uint8Array => addressOfPublicKey(secp256k1.getPublicKey(secret, false));
const account = accountOf(proverTestSecret);
const manifest = tinyManifest({ superblock: 2 });
const dataset = await tinyDataset(manifest, { proving: 'fast16' });

function sign(digest: Uint8Array, secret: Uint8Array): Uint8Array {
  const signature = secp256k1.sign(digest, secret, { prehash: false, format: 'recovered' });
  return Uint8Array.from([...signature.subarray(1), 27 + signature[0]!]);
}

interface Changes {
  readonly manifest?: Manifest;
  readonly spec?: Partial<JobSpec>;
  readonly terms?: Partial<Terms>;
  readonly config?: Partial<BrokerConfig>;
  readonly secret?: Uint8Array;
  readonly signedKey?: Uint8Array;
}

const { windows } = (await tinyJob()).terms;

/** What fits a job with every step proved. */
function termsOf({ assurance = 'zk', scheme = 'fxt-zk/1', proving }: Partial<JobSpec>): Partial<Terms> {
  const mode = assurance === 'zk' ? JobMode.full : JobMode.full | JobMode.tee;
  const dutySelectors = [dutySelectorOf({ scheme })];
  const plan = proving && { planDigest: proving.planDigest };
  return { mode, dutySelectors, windows: { ...windows, prove: 3600, provePer: 60 }, ...plan };
}

async function ask(change: Changes = {}) {
  const { spec = {}, terms = {}, config = {}, secret = proverTestSecret, signedKey } = change;
  const made = await tinyJob({
    ...{ manifest: change.manifest ?? manifest, dataset, segmentSteps: 2 },
    spec: { assurance: 'zk', ...spec },
    terms: { provider: account, ...termsOf(spec), ...terms },
  });
  const jobId = jobIdOf(made.spec);
  const settings = tinyBrokerConfig(made, { provers: new Set([toHex(account)]), ...config });
  const parts = await createJudgeParts(settings);
  const { nonce } = parts.nonces.issue(jobId, tinyAt);
  const transportKey = x25519.getPublicKey(transportTestSecret);
  const signature = sign(proverRequestDigest(jobId, nonce, signedKey ?? transportKey), secret);
  const request = {
    ...{
      spec: encodeJobSpec(made.spec),
      terms: encodeTerms(made.terms),
      nonce,
      transportKey,
      signature,
    },
  };
  const release = (at = tinyAt) => releaseToProver(parts, request, at);
  const hold = (session: Uint8Array, notAfter: number): void =>
    void parts.journal.append({
      decision: 'released',
      session: to0x(session),
      jobId: to0x(jobId),
      notAfter,
    });
  return { made, jobId, nonce, transportKey, release, hold, ...parts };
}

describe('a release to a prover without a TEE', () => {
  it('opens with its key, for this job, nonce and key', async () => {
    const { made, jobId, nonce, transportKey, release } = await ask();
    const { sealedKey } = await release();
    const suite = new CipherSuite({ kem: new DhkemX25519HkdfSha256(), kdf: new HkdfSha256(), aead: new Aes256Gcm() });
    const recipientKey = await suite.kem.importKey('raw', transportTestSecret.slice().buffer, false);
    const open = async (aad: Uint8Array) => {
      const context = { recipientKey, enc: sealedKey.slice(0, 32).buffer, info: keyReleaseInfo(jobId).slice().buffer };
      const recipient = await suite.createRecipientContext(context);
      return new Uint8Array(await recipient.open(sealedKey.slice(32).buffer, aad.slice().buffer));
    };
    const { datasetId, key } = parseDataKey(await open(proverRequestDigest(jobId, nonce, transportKey)));
    expect([datasetId, key]).toEqual([made.dataset.manifest.id, made.dataset.key]);
    await expect(open(proverRequestDigest(jobId, jobId, transportKey))).rejects.toThrow();
  });

  it('is given once for a nonce', async () => {
    const { release } = await ask();
    await release();
    await expect(release()).rejects.toMatchObject({ code: 'NONCE_SPENT' });
  });

  it('is given to a listed prover whoever is paid for the job', async () => {
    await (await ask({ terms: { provider: new Uint8Array(20) } })).release();
    await (await ask({ terms: { provider: new Uint8Array(20).fill(7) } })).release();
  });

  it('is given for a job of a TEE that is proved besides', async () => {
    await (await ask({ spec: { assurance: 'tee+zk' } })).release();
  });

  it('starts the escrow without the key of an enclave', async () => {
    const { made, jobId, nonce, transportKey, release } = await ask();
    const { release: start, releaseSignature, sealedKey } = await release();
    expect(start).toEqual({
      job: escrowIdOf(made.terms),
      provider: account,
      dataset: made.spec.dataset.id,
      session: new Uint8Array(32),
      key: new Uint8Array(20),
      policy: made.terms.policy,
      evidence: proverRequestDigest(jobId, nonce, transportKey),
      grant: new Uint8Array(createHash('sha256').update(sealedKey).digest()),
      nonce,
      grantedAt: tinyAt,
      notAfter: tinyAt + 3600,
    });
    const { chainId, contract } = made.spec.settlement;
    const digest = releaseDigest(domainSeparator({ chainId, verifyingContract: contract }), start);
    expect(recoverAddress(digest, releaseSignature)).toEqual(made.terms.keyBroker);
  });

  /** 4 superblocks of 8 records; fast16 may open each 10 times. */
  it('counts what proofs open, over all jobs on the data set, and a job once however often it asks', async () => {
    const journal = join(mkdtempSync(join(tmpdir(), 'veritrain-openings-')), 'journal.jsonl');
    const epochs = (count: number, salt: number) =>
      ask({
        manifest: tinyManifest({ superblock: 2, steps: 8 * count }),
        spec: { salt: new Uint8Array(32).fill(salt) },
        config: { journal },
      });
    await (await epochs(7, 1)).release();
    await (await epochs(7, 1)).release();
    await expect((await epochs(4, 2)).release()).rejects.toMatchObject({ code: 'OPENING_BUDGET' });
    await (await epochs(3, 3)).release();
    await (await epochs(7, 1)).release();
    await expect((await epochs(1, 4)).release()).rejects.toMatchObject({ code: 'OPENING_BUDGET' });
  });

  it('Z-M1 counts one spec once more under each set of terms, and refuses the one beyond the budget', async () => {
    const journal = join(mkdtempSync(join(tmpdir(), 'veritrain-openings-')), 'journal.jsonl');
    const one = tinyManifest({ superblock: 2, steps: 8 });
    const under = (price: bigint) => ask({ manifest: one, terms: { price }, config: { journal } });
    for (const price of [1n, 2n, 3n, 4n, 5n]) await (await under(price)).release();
    await (await under(3n)).release();
    await expect((await under(6n)).release()).rejects.toMatchObject({ code: 'OPENING_BUDGET' });
    const lines = readFileSync(journal, 'utf8').trim().split('\n');
    const contexts = lines.flatMap((line) => (JSON.parse(line) as { openings?: { context: string } }).openings ?? []);
    expect(new Set(contexts.map(({ context }) => context)).size).toBe(5);
  });

  it('Z-M1 reads the journal of an earlier version on, each line as terms of its own', async () => {
    const journal = join(mkdtempSync(join(tmpdir(), 'veritrain-openings-')), 'journal.jsonl');
    const one = tinyManifest({ superblock: 2, steps: 8 });
    await (await ask({ manifest: one, config: { journal } })).release();
    const released = readFileSync(journal, 'utf8')
      .split('\n')
      .find((line) => line.includes('"released"'))!;
    const { n: _n, prev: _prev, ...line } = JSON.parse(released) as { n: 1; prev: ''; openings: { context: string } };
    const { context: _, ...openings } = line.openings;
    const old = JSON.stringify({ ...line, openings });
    writeFileSync(journal, `${old}\n`.repeat(4));
    await (await ask({ manifest: one, config: { journal } })).release();
    await expect(
      (await ask({ manifest: one, terms: { price: 7n }, config: { journal } })).release(),
    ).rejects.toMatchObject({
      code: 'OPENING_BUDGET',
    });
  });

  it('counts none for a job that Groth16 proves', async () => {
    const journal = join(mkdtempSync(join(tmpdir(), 'veritrain-openings-')), 'journal.jsonl');
    const proving = { profile: 'groth16', variant: 'joint', planDigest: new Uint8Array(32) } as const;
    const long = { manifest: tinyManifest({ superblock: 2, steps: 80 }), config: { journal } };
    await (await ask({ ...long, spec: { scheme: 'fxt-groth16/1', proving } })).release();
    const salt = new Uint8Array(32).fill(9);
    await (await ask({ ...long, spec: { scheme: 'fxt-groth16/1', proving, salt } })).release();
    await (await ask(long)).release();
  });

  const other = new Uint8Array(32).fill(0x41);
  it.each<[string, Changes, string]>([
    ['a job for a TEE', { spec: { assurance: 'tee' } }, 'BROKER_ASSURANCE'],
    ['an escrow of a client that nobody named', { terms: { client: account } }, 'BROKER_CLIENT'],
    ['an escrow with another key broker', { terms: { keyBroker: account } }, 'BROKER_ACCOUNT'],
    ['an escrow that nobody opened', { config: { escrow: escrowThatIs('None') } }, 'BROKER_ESCROW'],
    ['a data set whose jobs are used up', { config: { jobsPerDataSet: 0 } }, 'BROKER_JOBS'],
    ['no list of provers', { config: { provers: new Set() } }, 'BROKER_PROVER'],
    ['another prover on the list', { config: { provers: new Set([toHex(accountOf(other))]) } }, 'BROKER_PROVER'],
    ['the signature of another account', { secret: other }, 'BROKER_PROVER'],
    [
      'another account where the escrow names none',
      { secret: other, terms: { provider: new Uint8Array(20) } },
      'BROKER_PROVER',
    ],
    ['a signature for another key', { signedKey: other }, 'BROKER_PROVER'],
    ['a data set of another owner', { config: { dataKey: () => null } }, 'BROKER_DATASET'],
    ['a result for somebody else', { config: { recipients: new Set() } }, 'BROKER_RECIPIENT'],
    ['the escrow of another job', { terms: { specDigest: other } }, 'BROKER_ESCROW'],
    ['another contract', { spec: { settlement: { chainId: 31_337, contract: new Uint8Array(20) } } }, 'BROKER_CHAIN'],
    [
      'another chain',
      { spec: { settlement: { chainId: 1, contract: new Uint8Array(20).fill(0x11) } } },
      'BROKER_CHAIN',
    ],
  ])('is refused for %s', async (_name, changes, code) => {
    const { release } = await ask(changes);
    await expect(release()).rejects.toMatchObject({ code });
  });
});

describe('a job for an enclave that may be proved when that is attested no more', () => {
  const either = {
    spec: { assurance: 'tee' },
    terms: { mode: JobMode.tee, dutySelectors: [dutySelectorOf({ scheme: 'fxt-zk/1' })] },
  } as const;
  const session = new Uint8Array(32).fill(0x51);

  it('is given to a prover when every session with its key has lapsed or was ended, and not before', async () => {
    const { release, hold } = await ask(either);
    hold(session, tinyAt + 60);
    await expect(release()).rejects.toMatchObject({ code: 'BROKER_SESSION_HELD', family: 'collateral' });
    await expect(release(tinyAt + 60)).rejects.toMatchObject({ code: 'BROKER_SESSION_HELD' });
    expect((await release(tinyAt + 61)).sealedKey.length).toBeGreaterThan(64);
    const ended = await ask(either);
    ended.hold(session, tinyAt + 60);
    ended.sessions.end(session, tinyAt, 'APPRAISAL_REFUSED');
    expect((await ended.release()).sealedKey.length).toBeGreaterThan(64);
  });

  it('is not given where an enclave was given the key while the log took the release', async () => {
    let meanwhile = (): void => undefined;
    const { release, hold } = await ask({ ...either, config: { log: { enter: async () => (meanwhile(), []) } } });
    hold(session, tinyAt - 1);
    meanwhile = () => hold(session, tinyAt + 60);
    await expect(release()).rejects.toMatchObject({ code: 'BROKER_SESSION_HELD', family: 'collateral' });
  });

  it('is given to none where no enclave ever had its key, or where only a seal pays', async () => {
    await expect((await ask(either)).release()).rejects.toMatchObject({ code: 'BROKER_ASSURANCE' });
    for (const terms of [{ mode: JobMode.tee | JobMode.reveal }, { mode: JobMode.tee, dutySelectors: [] }]) {
      const { release, hold } = await ask({ ...either, terms: { ...either.terms, ...terms } });
      hold(session, tinyAt - 1);
      await expect(release()).rejects.toMatchObject({ code: 'BROKER_ASSURANCE' });
    }
  });
});
