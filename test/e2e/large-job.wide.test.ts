/** A net whose state is beyond one message through all parties: in pieces, killed in the middle, gone on with, delivered, opened. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fetchBundle, fetchResult, openChain, submitJob, type JobView } from '#libs/client';
import { readPolicy } from '#libs/client/judging';
import { canonicalManifest, parameterCount, splitNetRecords } from '#libs/step';
import { checkpointAt, reward, startTestSystem, stateIs, type TestSystem } from '#test/embedded';
import { tableData, tableNet, tableRecords, writeTable } from '#test/net-job';
import { engineDigests } from '#test/net-training';

/** 4,214,282 parameters; with what AdamW keeps 101 MB. */
const width = 1450;
const steps = 6;
const hidden = [{ op: 'dense', out: width }, { op: 'relu' }];
const net = tableNet({
  ...{ steps, batch: 32, superblock: 1, evaluate: undefined },
  layers: [...hidden, ...hidden, ...hidden, { op: 'dense', out: 2 }],
  optimizer: {
    ...{ kind: 'adamw', beta1: [13, 7], beta2: [1, 10], decay: 655, clip: 1500 },
    lr: { frac: 24, points: [[0, 3355]] },
  },
});
const records = 64;
const salt = 21;

let test: TestSystem;
beforeAll(async () => {
  test = await startTestSystem({ VERITRAIN_LEASE_SECONDS: '20', VERITRAIN_HEARTBEAT_SECONDS: '2' });
}, 400_000);
afterAll(() => test?.stop());

it('ends in the same state as where it was trained at home', { timeout: 1_800_000 }, async () => {
  const manifest = join(test.folder, 'large.json');
  writeFileSync(manifest, canonicalManifest(net));
  const key = join(test.profile.broker.keysFolder, 'large.json');
  const dataset = writeTable(await tableData(net, { salt, records }), join(test.folder, 'large'), key);
  const { provider } = test.system;
  test.gate.holdAt(2);
  const request = { manifest, dataset, segmentSteps: 2, provider, rewardWei: reward };
  const { jobId, terms } = await submitJob(request, test.profile, test.api);
  await test.told(jobId, checkpointAt(2));
  await test.system.kill('host-agent');
  await test.told(jobId, stateIs('submitted', 'LEASE_EXPIRED'));
  test.gate.open();
  await test.system.start('host-agent');
  expect(await test.ended(jobId)).toMatchObject({ state: 'delivered' });
  expect(await test.api.get<JobView>(`jobs/${jobId}`)).toMatchObject({ attempt: 2 });

  const { policy } = readPolicy(test.profile.policy);
  const result = await fetchResult(jobId, test.profile, policy, test.api);
  await fetchBundle(jobId, test.profile, policy, test.api);
  const chain = openChain(test.profile);
  expect((await chain.escrow.job(terms)).state).toBe('Settled');
  chain.close();

  expect(parameterCount(net)).toBeGreaterThan(12_000_000);
  const examples = splitNetRecords(net, tableRecords(records, salt));
  expect(result.stateDigest).toBe((await engineDigests(net, examples, [steps])).at(-1));
});
