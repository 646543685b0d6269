/** A job by the commands of the client alone, from `job submit` to a bundle that `bundle verify` accepts. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { parseBundle, type EvidenceBundle, type Terms } from '#attestation/records';
import { ownTerms } from '#libs/client';
import type { TestSystem } from './embedded.js';
import { expectPaidOnce, type Watched } from './outcome.js';
import { runCommand, type Ran } from './run-command.js';
import { smallManifest } from './small-job.js';

export interface Ordered {
  readonly jobId: string;
  readonly escrowId: string;
  readonly terms: Terms;
}

const segmentSteps = 100;
const manifest = smallManifest({ steps: 2 * segmentSteps });

/** A command by the client of the system. */
export function byClient(test: TestSystem, ...args: readonly string[]): Promise<Ran> {
  return runCommand(...args, '--profile', test.system.profileFile);
}

/** @param options of `job submit` beyond those that every job has */
export async function order(test: TestSystem, name: string, ...options: readonly string[]): Promise<Ordered> {
  const dataset = await test.sealed(name, manifest);
  const files = ['--manifest', join(test.folder, `${name}.json`), '--dataset', dataset];
  const common = ['--segment-steps', `${segmentSteps}`, '--provider', test.system.provider];
  const { code, json } = await byClient(test, 'job', 'submit', ...files, ...common, ...options);
  expect(code, JSON.stringify(json)).toBe(0);
  const { jobId, escrowId } = json as { jobId: string; escrowId: string };
  return { jobId, escrowId, terms: ownTerms(test.profile, jobId) };
}

/** @returns the bundle of the settled job */
export async function settle(watched: Watched, { jobId, terms }: Ordered): Promise<EvidenceBundle> {
  const { test } = watched;
  const out = join(test.folder, `result-of-${jobId}`);
  const result = await byClient(test, 'job', 'result', jobId, '--out', out);
  expect(result, JSON.stringify(result.json)).toMatchObject({ code: 0, json: { verdict: 'warning', simulated: true } });
  const file = join(out, 'job.vtb');
  const judged = await runCommand('bundle', 'verify', file, '--policy', test.profile.policy, '--allow-simulated');
  expect(judged, JSON.stringify(judged.json)).toMatchObject({ code: 0, json: { ok: true, tier: 'warning' } });
  await expectPaidOnce(watched, jobId, terms);
  return parseBundle(new Uint8Array(readFileSync(file))) as EvidenceBundle;
}

/** Leaves an escrow that nobody accepted. @returns what the client took out, wei */
export async function leave(test: TestSystem, { jobId }: Ordered): Promise<bigint> {
  expect(await byClient(test, 'job', 'exit', jobId)).toMatchObject({ code: 0, json: { call: 'cancel' } });
  return BigInt((await byClient(test, 'job', 'withdraw')).json['amountWei'] as string);
}
