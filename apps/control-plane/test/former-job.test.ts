/**
 * A job that the former release took from its order to its settlement on simulated hardware, in the rows that it left: it keeps
 * its bundle to the byte, its verdict and the view of its escrow.
 */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { decodePolicy, verifyBundle, type BundleVerdict } from '#attestation';
import { parseBundle } from '#attestation/records';
import { readStoredTerms, readTerms } from '../src/jobs/escrow-terms.js';
import { former, insertFormer } from './former-rows.js';
import { codeOf, startTestPlane, type TestPlane } from './harness.js';

const job = former.rows['job']![0]!;

let test: TestPlane;
beforeAll(async () => {
  test = await startTestPlane();
  for (const [table, rows] of Object.entries(former.rows))
    for (const row of rows)
      await insertFormer((sql, values) => test.plane.database.dataSource.query(sql, values), table, row);
});
afterAll(() => test?.stop());

const read = async (path: string) =>
  (
    await test
      .as('client')
      .get(`/v1/jobs/${String(job['id'])}${path}`)
      .expect(200)
  ).body as unknown;

const statusesOf = (checks: BundleVerdict['checks']) =>
  Object.fromEntries(checks.map(({ code, status }) => [code, status]));

/** What readers say that came later: what nobody supplied, or asked, is named, and so is simulated hardware. */
const later = {
  ...{ SIMULATED_HARDWARE: 'warned', SNP_REVOKED: 'warned', SNP_ENDORSEMENT_DATE: 'met' },
  BUNDLE_TRANSACTIONS: 'not-checked',
};

it('keeps its bundle and its verdict', async () => {
  const bundle = new Uint8Array((await read('/bundle')) as Buffer);
  expect(`0x${createHash('sha256').update(bundle).digest('hex')}`).toBe(former.bundle.sha256);
  const verdict = await verifyBundle({ bundle, policy: decodePolicy(parseBundle(bundle).policy) });
  const { simulated, jobId, escrowId, result, steps } = verdict;
  const then = former.bundle.verdict;
  const said = { simulated, jobId, escrowId, result, steps, checks: statusesOf(verdict.checks) };
  expect({ ...said, tier: then.tier }).toEqual({ ...then, checks: { ...then.checks, ...later } });
  expect(verdict.tier).toBe('warning');
  const bare = await verifyBundle({ bundle });
  expect(bare.tier).toBe(former.bundle.withoutPolicy.tier);
  expect(statusesOf(bare.checks)).toEqual({ ...former.bundle.withoutPolicy.checks, ...later });
  expect(bare.checks).toContainEqual(expect.objectContaining({ code: 'BUNDLE_POLICY', status: 'warned' }));
});

it('keeps the view of its job and of its escrow', async () => {
  const { provider } = job as { provider: string };
  expect(await read('')).toMatchObject({ state: 'settled', escrowState: 'settled', funded: true });
  expect(await read('/escrow')).toMatchObject({
    ...{ escrowId: job['escrow_id'], state: 'settled', provider, segments: 1, upTo: 1 },
    ...{ fundedWei: job['price'], paidWei: '0', transaction: job['settlement_transaction'] },
    payments: [{ kind: 'end', to: 'provider', amountWei: job['price'] }],
  });
});

it('is known by its terms, which no new job may have', async () => {
  const known = readStoredTerms(job['terms']);
  expect(known).toMatchObject({
    escrowId: job['escrow_id'],
    provider: job['provider'],
    price: BigInt(String(job['price'])),
  });
  expect(await codeOf(Promise.resolve().then(() => readTerms(job['terms'])))).toBe('TERMS_VERSION');
});
