/** A job of `fxt/2` through public interfaces: a table, evaluations on a validation set, an early stop, payment, evidence. */
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifyBundle } from '#attestation';
import { to0x } from '#attestation/base';
import {
  encodeBundle,
  encodeEvaluation,
  parseBundle,
  parseEvaluation,
  type EvidenceBundle,
} from '#attestation/records';
import { fetchBundle, fetchResult, openChain, submitJob, type ControlPlaneApi, type ServerEvent } from '#libs/client';
import { readPolicy, verifyBundleFile } from '#libs/client/judging';
import { canonicalManifest, drawnParameters, encodeWeights, startRoot, type NetManifest } from '#libs/step';
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

describe('a job that starts from weights', () => {
  const layers = [{ op: 'dense', out: 8, frozen: true }, { op: 'relu' }, { op: 'dense', out: 2 }];
  const seeded = tableNet({ layers });
  const broughtFrom = (byte: string) => {
    const parameters = drawnParameters(tableNet({ layers, seed: `0x${byte.repeat(32)}` }));
    const root = to0x(startRoot(seeded, parameters));
    return {
      parameters,
      bytes: encodeWeights(parameters),
      net: tableNet({ layers, start: { kind: 'weights', root } }),
    };
  };
  const { parameters, bytes, net: own } = broughtFrom('77');

  /** As `model import` leaves them: start.bin beside the manifest. */
  async function ordered(name: string, salt: number, start: Uint8Array, api: ControlPlaneApi = test.api, net = own) {
    const folder = join(test.folder, name);
    mkdirSync(folder);
    writeFileSync(join(folder, 'manifest.json'), canonicalManifest(net));
    writeFileSync(join(folder, 'start.bin'), start);
    const key = join(test.profile.broker.keysFolder, `${name}.json`);
    const dataset = writeTable(await tableData(net, { salt }), join(folder, 'data'), key);
    const { provider } = test.system;
    const request = { manifest: join(folder, 'manifest.json'), dataset, segmentSteps: 8, provider, rewardWei: reward };
    return submitJob(request, test.profile, api);
  }

  it('trains on from them, leaves the frozen ones, and shows in its bundle where it began', async () => {
    const { jobId, advice } = await ordered('brought', 11, bytes);
    expect(advice).toContainEqual(expect.stringMatching(/^Start weights are readable by the operators/));
    await test.followed(jobId, () => undefined);
    const { result, bundle } = await settle(jobId);
    expect(result.verdict).toMatchObject({ tier: 'warning', steps: 24 });
    expect(result.weights.map(({ name }) => name)).toEqual(['n2.W', 'n2.b', 'm1.n2.W', 'm1.n2.b']);
    expect(result.weights[0]!.values).not.toEqual(parameters[2]!.values);
    const file = join(test.folder, 'brought', 'job.vtb');
    writeFileSync(file, bundle);
    const startOf = async (start?: string) => {
      const { tier, checks } = await verifyBundleFile(file, start === undefined ? {} : { start });
      return [tier, checks.find(({ id }) => id === 'BUNDLE_START')!.status];
    };
    expect(await startOf()).toEqual(['warning', 'not-checked']);
    expect(await startOf(join(test.folder, 'brought', 'start.bin'))).toEqual(['warning', 'met']);
    writeFileSync(join(test.folder, 'other.bin'), encodeWeights(drawnParameters(seeded)));
    expect(await startOf(join(test.folder, 'other.bin'))).toEqual(['contraindicated', 'forged']);
  });

  it('is refused by its client where the file is another one', async () => {
    const other = encodeWeights(drawnParameters(seeded));
    await expect(ordered('unlike', 12, other)).rejects.toThrow(/^START_ROOT/);
    await expect(ordered('short', 13, bytes.subarray(8))).rejects.toThrow(/^WEIGHTS_LENGTH/);
  });

  it('is refused by the control plane while a part is not uploaded', async () => {
    const api = {
      ...test.api,
      put: async (path: string, body: Uint8Array) =>
        void (path.startsWith('blobs/') || (await test.api.put(path, body))),
    };
    const { bytes: unseen, net } = broughtFrom('78');
    await expect(ordered('missing', 14, unseen, api, net)).rejects.toThrow(/^JOB_START/);
  });

  it('is refused by the enclave where other weights were uploaded, before anybody pays', async () => {
    const other = encodeWeights(drawnParameters(seeded));
    const name = `0x${createHash('sha256').update(other).digest('hex')}`;
    const api: ControlPlaneApi = {
      ...test.api,
      put: (path, body) =>
        path.startsWith('blobs/') ? test.api.put(`blobs/${name}`, other) : test.api.put(path, body),
      post: (path, body) => test.api.post(path, path === 'jobs' ? { ...(body as object), start: [name] } : body),
    };
    const { jobId, terms } = await ordered('wrong', 15, bytes, api);
    expect(await test.followed(jobId, () => undefined)).toMatchObject({ state: 'failed', code: 'START_ROOT' });
    const chain = openChain(test.profile);
    expect((await chain.escrow.job(terms)).state).toBe('Open');
    chain.close();
  });
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
