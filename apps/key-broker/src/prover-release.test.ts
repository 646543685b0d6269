import { Aes256Gcm, CipherSuite, HkdfSha256 } from '@hpke/core';
import { DhkemX25519HkdfSha256 } from '@hpke/dhkem-x25519';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { x25519 } from '@noble/curves/ed25519.js';
import { describe, expect, it } from 'vitest';
import {
  addressOfPublicKey,
  encodeJobSpec,
  encodeTerms,
  jobIdOf,
  keyReleaseInfo,
  parseDataKey,
  toHex,
  type JobSpec,
  type Terms,
} from '#attestation';
import { escrowThatIs, tinyAt, tinyBrokerConfig, tinyJob } from '#test/tiny-job';
import type { BrokerConfig } from './config.js';
import { createNonceBook } from './nonces.js';
import { proverRequestDigest, releaseToProver } from './prover-release.js';

const proverTestSecret = new Uint8Array(32).fill(0x31);
const transportTestSecret = new Uint8Array(32).fill(0x32);
const accountOf = (secret: Uint8Array): Uint8Array => addressOfPublicKey(secp256k1.getPublicKey(secret, false));
const account = accountOf(proverTestSecret);

function sign(digest: Uint8Array, secret: Uint8Array): Uint8Array {
  const signature = secp256k1.sign(digest, secret, { prehash: false, format: 'recovered' });
  return Uint8Array.from([...signature.subarray(1), 27 + signature[0]!]);
}

interface Changes {
  readonly spec?: Partial<JobSpec>;
  readonly terms?: Partial<Terms>;
  readonly config?: Partial<BrokerConfig>;
  readonly secret?: Uint8Array;
  readonly signedKey?: Uint8Array;
}

async function ask({ spec = {}, terms = {}, config = {}, secret = proverTestSecret, signedKey }: Changes = {}) {
  const made = await tinyJob({ spec: { assurance: 'zk', ...spec }, terms: { provider: account, ...terms } });
  const jobId = jobIdOf(made.spec);
  const settings = tinyBrokerConfig(made, { provers: new Set([toHex(account)]), ...config });
  const nonces = createNonceBook();
  const { nonce } = nonces.issue(toHex(jobId), tinyAt, '127.0.0.1');
  const transportKey = x25519.getPublicKey(transportTestSecret);
  const signature = sign(proverRequestDigest(jobId, nonce, signedKey ?? transportKey), secret);
  const request = {
    ...{
      spec: encodeJobSpec(made.spec),
      terms: encodeTerms({ ...made.terms, ...terms }),
      nonce,
      transportKey,
      signature,
    },
  };
  const release = () => releaseToProver(settings, nonces, request, tinyAt);
  return { made, jobId, nonce, transportKey, release };
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
    await expect(release()).rejects.toMatchObject({ code: 'NONCE_UNKNOWN' });
  });

  it('names any listed prover where the escrow names none', async () => {
    await (await ask({ terms: { provider: new Uint8Array(20) } })).release();
  });

  const other = new Uint8Array(32).fill(0x41);
  it.each<[string, Changes, string]>([
    ['a job for a TEE', { spec: { assurance: 'tee' } }, 'BROKER_ASSURANCE'],
    ['a job for both', { spec: { assurance: 'tee+zk' } }, 'BROKER_ASSURANCE'],
    ['an escrow of a client that nobody named', { terms: { client: account } }, 'BROKER_CLIENT'],
    ['an escrow with another key broker', { terms: { keyBroker: account } }, 'BROKER_ACCOUNT'],
    ['an escrow that nobody opened', { config: { escrow: escrowThatIs('None') } }, 'BROKER_ESCROW'],
    ['a data set whose jobs are used up', { config: { jobsPerDataSet: 0 } }, 'BROKER_JOBS'],
    ['no list of provers', { config: { provers: new Set() } }, 'BROKER_PROVER'],
    ['another prover on the list', { config: { provers: new Set([toHex(accountOf(other))]) } }, 'BROKER_PROVER'],
    ['the signature of another account', { secret: other }, 'BROKER_PROVIDER'],
    [
      'another account where the escrow names none',
      { secret: other, terms: { provider: new Uint8Array(20) } },
      'BROKER_PROVER',
    ],
    ['a signature for another key', { signedKey: other }, 'BROKER_PROVIDER'],
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
