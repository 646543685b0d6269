import { createServer, type Server } from 'node:http';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addressOfPublicKey, compareBytes, fromBase64, keccak, signRecoverable, to0x } from '#attestation/base';
import {
  appraisalDigest,
  domainSeparator,
  encodeJobSpec,
  escrowIdOf,
  keysDigest,
  parseSessionEvidence,
  type Appraisal,
  type Terms,
} from '#attestation/records';
import { brokerPatience } from '#libs/node';
import type { EnclaveClient } from '#libs/enclave-channel';
import type { AssignedJob } from '#libs/wire';
import { chainId, contract, provider, registry, tinyJob, tinySession, type TinyJob } from '#test/tiny-job';
import { askAttestors, checkAttestors, type Attestors } from './attestors.js';
import { askForKey } from './job-session.js';

const sha256 = async (bytes: Uint8Array): Promise<Uint8Array> =>
  new Uint8Array(await crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>));
/** Made for this test. */
const secrets = [1, 2, 3].map((n) => new Uint8Array(32).fill(n));
const accountOf = (secret: Uint8Array) => addressOfPublicKey(secp256k1.getPublicKey(secret, false));

let job: TinyJob;
let enclave: EnclaveClient;
const servers: Server[] = [];
/** What an attestor does instead of its duty. */
type Fault =
  | 'none'
  | 'refuses'
  | 'is away'
  | 'is away at first'
  | 'first speaks for two seconds'
  | 'signs for another key'
  | 'is another account';
/** By then the word of two seconds has less than a third of them left. */
const awayAtFirstMs = 1500;

beforeAll(async () => {
  job = await tinyJob();
  const session = tinySession();
  await session.request('open', { provider, chainId, registry });
  enclave = { request: session.request } as unknown as EnclaveClient;
});
afterAll(() => servers.forEach((server) => server.close()));

async function attestor(secret: Uint8Array, fault: Fault, seen: Uint8Array[]): Promise<string> {
  let asked = 0;
  const opened = Date.now();
  const notAfter = (): number =>
    fault === 'first speaks for two seconds' && asked === 1 ? Math.floor(Date.now() / 1000) + 2 : 4_000_000_000;
  const isAway = (): boolean =>
    fault === 'is away' || (fault === 'is away at first' && Date.now() < opened + awayAtFirstMs);
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => void answer(Buffer.concat(chunks).toString('utf8')));
    const answer = async (body: string): Promise<void> => {
      if (isAway()) return void response.writeHead(503).end('{}');
      if (request.url === '/v1/challenges') {
        return void response.end(JSON.stringify({ nonce: to0x(keccak(new Uint8Array([...secret, asked++]))) }));
      }
      if (fault === 'refuses') return void response.writeHead(403).end('{"code":"BROKER_POLICY"}');
      const evidence = fromBase64((JSON.parse(body) as { evidence: string }).evidence);
      seen.push(parseSessionEvidence(evidence).nonce);
      const { binding } = parseSessionEvidence(evidence);
      const key = fault === 'signs for another key' ? new Uint8Array(20).fill(9) : binding.settlementKey;
      const appraisal: Appraisal = {
        ...{ job: escrowIdOf(job.terms), provider, session: keysDigest(binding), key, policy: job.terms.policy },
        ...{ evidence: await sha256(evidence), notAfter: notAfter() },
      };
      const domain = domainSeparator({ chainId, verifyingContract: contract });
      const signed = signRecoverable(appraisalDigest(domain, appraisal), secret);
      const struct = Object.entries(appraisal).map(([name, value]) => [
        name,
        typeof value === 'number' ? value : to0x(value as Uint8Array),
      ]);
      const judged = { result: 'AQ==', resultSignature: to0x(new Uint8Array(65)), endorsements: 'AQ==' };
      const account = to0x(accountOf(secret));
      const answered = { account, ...judged, appraisal: Object.fromEntries(struct), appraisalSignature: to0x(signed) };
      response.end(JSON.stringify(answered));
    };
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
}

/** Three attestors on the list, each with its fault; whom the host does not know has none. */
async function listed(needed: number, faults: readonly (Fault | null)[], withinMs = 300) {
  const seen: Uint8Array[] = [];
  const known: Record<string, string> = {};
  const accounts = secrets.map(accountOf).sort(compareBytes);
  for (const [at, fault] of faults.entries()) {
    if (fault === null) continue;
    const signer = fault === 'is another account' ? secrets[(at + 1) % 3]! : secrets[at]!;
    known[to0x(accountOf(secrets[at]!))] = await attestor(signer, fault, seen);
  }
  const terms: Terms = { ...job.terms, attestors: accounts, needed };
  job = { ...job, terms };
  const offered = { jobId: to0x(job.jobId), spec: Buffer.from(encodeJobSpec(job.spec)).toString('base64') };
  const attestors: Attestors = known;
  checkAttestors(terms, attestors);
  return { offered, terms, asked: { attestors, patience: brokerPatience({ withinMs }) }, seen };
}

async function ask(needed: number, faults: readonly (Fault | null)[]) {
  const { offered, terms, asked, seen } = await listed(needed, faults);
  return { given: await askAttestors(offered, terms, enclave, asked), seen };
}

/** A key broker whose release is of the form of one and lasts. @returns its address */
async function broker(): Promise<string> {
  const words = ['job', 'dataset', 'session', 'policy', 'evidence', 'grant', 'nonce'];
  const struct = Object.fromEntries(words.map((name) => [name, to0x(new Uint8Array(32))]));
  const release = { ...struct, provider: to0x(provider), key: to0x(provider), grantedAt: 0, notAfter: 4_000_000_000 };
  const server = createServer((request, response) => {
    if (request.url === '/v1/challenges')
      return void response.end(JSON.stringify({ nonce: to0x(keccak(secrets[0]!)) }));
    const signature = to0x(new Uint8Array(65));
    const judged = { result: 'AQ==', resultSignature: signature, endorsements: 'AQ==', account: to0x(provider) };
    response.end(JSON.stringify({ ...judged, release, releaseSignature: signature, sealedKey: 'AQ==' }));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
}

describe('S-H4 attestors of the terms', () => {
  it('S-H4 two of three each appraise evidence over a challenge of their own', async () => {
    const { given } = await ask(2, ['none', 'none', 'none']);
    expect(new Set(given.map(({ account }) => to0x(account))).size).toBe(2);
    expect(new Set(given.map(({ appraisal }) => to0x(appraisal.evidence))).size).toBe(2);
    expect(new Set(given.map(({ appraisal }) => to0x(appraisal.key))).size).toBe(1);
  });

  it('S-H4 none is asked where none is needed', async () => {
    const { given, seen } = await ask(0, ['none', 'none', 'none']);
    expect([given, seen]).toEqual([[], []]);
  });

  it.each<Fault>(['refuses', 'is away', 'signs for another key', 'is another account'])(
    'S-H4 one of three that %s is done without, two are not',
    async (fault) => {
      const { given } = await ask(2, ['none', fault, 'none']);
      expect(given).toHaveLength(2);
      const family = fault === 'is away' ? 'collateral' : 'rejection';
      await expect(ask(2, [fault, 'none', fault])).rejects.toMatchObject({ code: 'HOST_TERMS_ATTESTOR', family });
    },
  );

  it('S-H4 one whom the host does not know is done without, two are not', async () => {
    expect((await ask(2, ['none', null, 'none'])).given).toHaveLength(2);
    await expect(ask(2, ['none', null, null])).rejects.toMatchObject({
      code: 'HOST_TERMS_ATTESTOR',
      family: 'rejection',
    });
  });

  it('S-H4 a word that has grown old while another was waited for is asked for again', async () => {
    const faults: readonly Fault[] = ['first speaks for two seconds', 'is away at first', 'refuses'];
    const { offered, terms, asked, seen } = await listed(2, faults, 20_000);
    const lease = { ...offered, brokerUrl: await broker() } as AssignedJob;
    const { appraisals } = await askForKey(lease, terms, enclave, { ...asked, brokers: undefined });
    expect(appraisals.map(({ appraisal }) => appraisal.notAfter)).toEqual([4_000_000_000, 4_000_000_000]);
    expect(seen).toHaveLength(4);
  });
});
