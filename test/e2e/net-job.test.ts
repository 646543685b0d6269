/** A job of `fxt/2` through public interfaces: a table, evaluations on a validation set, an early stop, payment, evidence. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { verifyBundle } from '#attestation';
import {
  encodeBundle,
  encodeEvaluation,
  parseBundle,
  parseEvaluation,
  type EvidenceBundle,
} from '#attestation/records';
import { fetchBundle, fetchResult, openChain, readPolicy, submitJob, type ServerEvent } from '#libs/client';
import { canonicalManifest, type NetManifest } from '#libs/step';
import { reward, startTestSystem, type TestSystem } from '#test/embedded';
import { tableData, tableNet, writeTable } from '#test/net-job';

let test: TestSystem;
beforeAll(async () => {
  test = await startTestSystem();
}, 400_000);
afterAll(() => test?.stop());

async function submitted(name: string, net: NetManifest, salt: number) {
  const manifest = join(test.folder, `${name}.json`);
  writeFileSync(manifest, canonicalManifest(net));
  const key = join(test.profile.broker.keysFolder, `${name}.json`);
  const dataset = writeTable(await tableData(net, { salt }), join(test.folder, name), key);
  const { provider } = test.system;
  const request = { manifest, dataset, segmentSteps: 8, provider, rewardWei: reward };
  return submitJob(request, test.profile, test.api);
}

async function settle(jobId: string) {
  const { policy } = readPolicy(test.profile.policy);
  const result = await fetchResult(jobId, test.profile, policy, test.api);
  return { result, bundle: await fetchBundle(jobId, test.profile, policy, test.api) };
}

it('is evaluated while it trains, is paid, and its bundle shows the validation accuracy', async () => {
  const { jobId, terms } = await submitted('table', tableNet(), 1);
  const events: ServerEvent[] = [];
  await test.followed(jobId, (event) => events.push(event));
  const { result, bundle } = await settle(jobId);
  const measured = events.filter(({ type }) => type === 'evaluation');
  expect(measured.map(({ data }) => (data as { step: number }).step)).toEqual([8, 16, 24]);
  expect(result.verdict).toMatchObject({ tier: 'warning', simulated: true, steps: 24 });
  expect(result.verdict.checks.find(({ code }) => code === 'BUNDLE_VALIDATION')).toMatchObject({
    status: 'met',
    got: expect.stringMatching(/^validation accuracy .* on 16 rows/),
  });
  const chain = openChain(test.profile);
  expect((await chain.escrow.job(terms)).state).toBe('Settled');
  chain.close();
  expect((await test.api.get<{ state: string }>(`jobs/${jobId}`)).state).toBe('settled');
  const [tier, failed] = await judged(bundle, (evaluations) => [
    betterThanMeasured(evaluations[0]!),
    ...evaluations.slice(1),
  ]);
  expect(tier).toBe('contraindicated');
  expect(failed).toContain('RECEIPT_STATEMENT');
});

it('ends at the evaluation at which its rule stops it, is paid for what was trained, and delivers the best weights', async () => {
  const stop = { metric: 'accuracy', patience: 1, minimum: 1_000 };
  const { jobId, terms } = await submitted('stopped', tableNet({ stop }), 2);
  await test.followed(jobId, () => undefined);
  const { result } = await settle(jobId);
  expect(result.verdict.bundle.run).toMatchObject({ outcome: 3, upTo: 2 });
  expect(result.verdict.checks.find(({ code }) => code === 'BUNDLE_STOP')).toMatchObject({ status: 'met' });
  const chain = openChain(test.profile);
  const { paid } = await chain.escrow.job(terms);
  chain.close();
  expect(paid).toBeLessThan(reward);
  expect((await test.api.get<{ state: string }>(`jobs/${jobId}`)).state).toBe('settled');
});

type Evaluations = NonNullable<EvidenceBundle['evaluations']>;

/** The bundle with other evaluations. @returns tier and the checks that failed */
async function judged(bytes: Uint8Array, change: (evaluations: Evaluations) => Evaluations) {
  const bundle = parseBundle(bytes) as EvidenceBundle;
  const altered = encodeBundle({ ...bundle, evaluations: change(bundle.evaluations!) });
  const { tier, checks } = await verifyBundle({ bundle: altered });
  return [tier, checks.filter(({ status }) => status === 'forged').map(({ code }) => code)] as const;
}

function betterThanMeasured(evaluation: Evaluations[number]): Evaluations[number] {
  const statement = parseEvaluation(evaluation.statement);
  const [accuracy, ...rest] = statement.metrics;
  const better = { ...accuracy!, numerator: accuracy!.numerator === 16n ? 15n : accuracy!.numerator + 1n };
  return { ...evaluation, statement: encodeEvaluation({ ...statement, metrics: [better, ...rest] }) };
}
