/** `npm start -- --no-tee` in less memory and shorter: every process, the chain, proofs that the contract verifies, payment. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifyBundle } from '#attestation';
import { parseTrustPolicy } from '#attestation/log';
import { encodeBundle, parseBundle, type EvidenceBundle } from '#attestation/records';
import { verifyBundledProof } from '#libs/proof';
import { runProvedDemo, type ProvedReport } from '../../apps/cli/src/demo/proved.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-no-tee-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('a job without a TEE', () => {
  let report: ProvedReport;
  let bundle: EvidenceBundle;
  beforeAll(async () => {
    report = await runProvedDemo({ folder, tee: false, highValue: false, steps: 16, provers: [1], memoryMiB: 45 });
    bundle = parseBundle(new Uint8Array(readFileSync(report.bundle))) as EvidenceBundle;
  }, 600_000);
  const judge = (changed: EvidenceBundle) =>
    verifyBundle({ bundle: encodeBundle(changed), proofs: verifyBundledProof });

  it('is trained, proved, verified on chain, settled, and its bundle verifies alone', () => {
    expect(report).toMatchObject({
      ...{ assurance: 'zk', reason: 'NO_TEE', steps: 16, segments: 2, settled: true, provedOnChain: 2 },
      unit: { steps: 8, profile: 'chain26', proofs: 2, transactions: 2 },
      ...{ verdict: 'affirming', simulated: false, log: { met: 7, total: 8, independent: 0 } },
    });
    // Expected before anybody paid: within a tenth, and the escrow's own work.
    expect(report.proofGas / report.unit.gas!).toBeGreaterThan(0.9);
    expect(report.proofGas / report.unit.gas!).toBeLessThan(1.15);
    expect(bundle.segments).toHaveLength(2);
    expect(bundle.segments.every(({ signed, proof }) => signed === null && proof !== null)).toBe(true);
  });

  it('shows that its key went to a prover, and is refused where the log shows no such release', async () => {
    const logPolicy = parseTrustPolicy(readFileSync(report.log.policy, 'utf8'));
    const releasesOf = async (log: NonNullable<EvidenceBundle['log']>) => {
      const judged = { bundle: encodeBundle({ ...bundle, log }), proofs: verifyBundledProof, logPolicy };
      return (await verifyBundle(judged)).checks.find(({ id }) => id === 'LOG_RELEASES');
    };
    expect(await releasesOf(bundle.log!)).toMatchObject({
      status: 'met',
      got: expect.stringContaining('1 to nodes without a TEE'),
    });
    const last = bundle.log!.entries.slice(-1);
    expect(await releasesOf({ ...bundle.log!, entries: last, consistency: [] })).toMatchObject({ status: 'refused' });
  });

  it.each<[string, string, (b: EvidenceBundle) => EvidenceBundle]>([
    ['a proof left out', 'BUNDLE_PROOFS', (b) => withSegment(b, 1, { proof: null })],
    ['the proofs exchanged', 'PROOF_FOREIGN', (b) => withSegment(b, 1, { proof: b.segments[0]!.proof })],
    ['a byte of a proof changed', 'STEP_', (b) => withSegment(b, 0, { proof: changed(b.segments[0]!.proof!) })],
    ['a receipt of nobody', 'BUNDLE_SESSION_INDEX', (b) => withSegment(b, 0, { signed: noReceipt })],
    ['a run that names other borders', 'BUNDLE_RUN', (b) => ({ ...b, run: { ...b.run, last: new Uint8Array(32) } })],
    ['segments exchanged', 'BUNDLE_CHAIN', (b) => ({ ...b, segments: [...b.segments].reverse() })],
  ])('is not believed with %s', async (_name, code, change) => {
    const { tier, checks } = await judge(change(bundle));
    expect(tier).toBe('contraindicated');
    const failed = checks
      .filter(({ status }) => status === 'forged' || status === 'refused')
      .map((check) => check.code);
    expect(failed.some((found) => found.startsWith(code))).toBe(true);
  });

  it('is not known to be proved where nobody verifies the proofs', async () => {
    const { tier, checks } = await verifyBundle({ bundle: encodeBundle(bundle) });
    expect(tier).toBe('none');
    expect(checks.find(({ status }) => status === 'missing')?.code).toBe('BUNDLE_PROOFS');
  });
});

const noReceipt = { session: 0, receipt: new Uint8Array(8) };

function withSegment(
  b: EvidenceBundle,
  at: number,
  change: Partial<EvidenceBundle['segments'][number]>,
): EvidenceBundle {
  return { ...b, segments: b.segments.map((segment, i) => (i === at ? { ...segment, ...change } : segment)) };
}

function changed(proof: NonNullable<EvidenceBundle['segments'][number]['proof']>) {
  const at = proof.bytes.length >> 1;
  return { ...proof, bytes: proof.bytes.map((byte, i) => (i === at ? byte ^ 1 : byte)) };
}
