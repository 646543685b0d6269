import { describe, expect, it } from 'vitest';
import { fromHex, jobDigest, jobIdOf, JobMode, toHex, type JobSpec, type Terms } from '#attestation';
import { teeTerms } from '#test/escrow-terms';
import { checkTerms, type OwnSide } from './terms.js';

const word = (n: number) => new Uint8Array(32).fill(n);
const address = (n: number) => new Uint8Array(20).fill(n);
const hour = 3600;
const hex = (bytes: Uint8Array) => `0x${toHex(bytes)}`;

const spec: JobSpec = {
  version: 1,
  manifest: Uint8Array.of(1),
  dataset: { id: word(1), root: word(2), records: 1, shards: 1 },
  segmentSteps: 1,
  scheme: 'state-keccak',
  proving: null,
  policyDigest: word(3),
  assurance: 'tee',
  recipient: word(4),
  settlement: { chainId: 31337, contract: address(5) },
  salt: word(6),
};
const own: OwnSide = {
  account: address(7),
  chainId: 31337,
  settlement: address(5),
  limits: {
    priceMinWei: 1000n,
    stakeMaxWei: 500n,
    acceptProved: false,
    livenessMaxBps: 1000,
    tokens: [hex(address(8))],
    startMinSeconds: hour,
    computeMinSeconds: 24 * hour,
    ackMinSeconds: hour,
    revealMinSeconds: hour,
  },
};
/** As `veritrain job submit` makes them, each at the edge of what the host accepts. */
const good = teeTerms({
  client: address(1),
  provider: own.account,
  keyBroker: address(2),
  specDigest: jobIdOf(spec),
  initialWeights: word(1),
  policy: spec.policyDigest,
  segments: 1,
  seedCommitClient: word(9),
  acceptBy: 4_000_000_000,
  windows: { start: hour, compute: 24 * hour, reveal: hour, ack: hour },
});

function offer(
  change: Partial<Terms>,
  otherSpec: Partial<JobSpec> = {},
  otherJob: { jobId?: string; escrowId?: string } = {},
) {
  const given = { ...spec, ...otherSpec };
  const terms = { ...good, specDigest: jobIdOf(given), ...change };
  const job = { jobId: hex(jobIdOf(given)), escrowId: hex(jobDigest(terms)), ...otherJob };
  return () => checkTerms(job, terms, given, own);
}
const windows = (change: Partial<Terms['windows']>) => ({ windows: { ...good.windows, ...change } });
const zero = `0x${'00'.repeat(32)}`;

it('accepts terms at the edge of every limit, in native coin or a token of the settings', () => {
  expect(offer({})).not.toThrow();
  expect(offer({ token: address(8) })).not.toThrow();
});

describe('refuses', () => {
  it.each<[string, string, () => void]>([
    ['HOST_TERMS_JOB', 'a job id of another spec', offer({}, {}, { jobId: zero })],
    ['HOST_TERMS_JOB', 'terms of another spec', offer({ specDigest: word(0) })],
    ['HOST_TERMS_ESCROW', 'an escrow id of other terms', offer({}, {}, { escrowId: zero })],
    ['HOST_TERMS_CHAIN', 'another chain', offer({}, { settlement: { chainId: 1, contract: address(5) } })],
    ['HOST_TERMS_CHAIN', 'another contract', offer({}, { settlement: { chainId: 31337, contract: address(6) } })],
    ['HOST_TERMS_PROVIDER', 'another provider', offer({ provider: address(9) })],
    ['HOST_TERMS_PROVIDER', 'no provider', offer({ provider: address(0) })],
    ['HOST_TERMS_MODE', 'tee alone', offer({ mode: JobMode.tee })],
    ['HOST_TERMS_MODE', 'duties beside', offer({ mode: good.mode | JobMode.full })],
    ['HOST_TERMS_MODE', 'a duty selector', offer({ dutySelectors: [fromHex('0x01020304')] })],
    ['HOST_TERMS_MODE', 'a challenge window', offer(windows({ challenge: 1 }))],
    ['HOST_TERMS_TOKEN', 'a token of its own', offer({ token: address(9) })],
    ['HOST_TERMS_PRICE', 'too little', offer({ price: 999n })],
    ['HOST_TERMS_STAKE', 'too much stake', offer({ stake: 501n })],
    ['HOST_TERMS_LIVENESS', 'too much of the stake at risk', offer({ liveness: 51n })],
    ['HOST_TERMS_LIVENESS', 'liveness without stake', offer({ stake: 0n, liveness: 1n })],
    ['HOST_TERMS_WINDOWS', 'a short start window', offer(windows({ start: hour - 1 }))],
    ['HOST_TERMS_WINDOWS', 'a short compute window', offer(windows({ compute: 24 * hour - 1 }))],
    ['HOST_TERMS_WINDOWS', 'a short ack window', offer(windows({ ack: hour - 1 }))],
    ['HOST_TERMS_WINDOWS', 'a short reveal window', offer(windows({ reveal: hour - 1 }))],
  ])('%s: %s', (code, _, check) => {
    expect(check).toThrow(expect.objectContaining({ code, family: 'rejection' }));
  });
});
