/** `npm start -- --no-tee` at half its length: processes, chain, proofs, payment. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parseProofStatement, verifyProofBundle } from '#libs/proof';
import { runNoTeeDemo } from '../../apps/cli/src/demo/no-tee.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-no-tee-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('a job without a TEE', () => {
  it('is proved, verified by the client, paid and settled', async () => {
    const report = await runNoTeeDemo({ folder, threads: 2, steps: 8 });
    expect(report).toMatchObject({ assurance: 'zk', reason: 'NO_TEE', steps: 8, segments: 2, settled: true });
    expect(report.soundnessBits).toBeGreaterThanOrEqual(100);
    const file = (kind: string): Buffer => readFileSync(join(report.proofs, `segment-00001.${kind}`));
    const statement = parseProofStatement(JSON.parse(file('json').toString()));
    const { statement: shown } = verifyProofBundle(new Uint8Array(file('seal')), statement);
    expect([shown.stepFrom, shown.stepCount]).toEqual([4, 4]);
  }, 180_000);
});
