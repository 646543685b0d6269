/** Long jobs on real processes: attested again and again, moved when a renewal is refused or does not come. */
import { readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { JsonRpcProvider } from 'ethers';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { type AppraisalPolicy } from '#attestation';
import { toHex } from '#attestation/base';
import { keysDigest, parseSessionEvidence, type Terms } from '#attestation/records';
import { fetchBundle, fetchResult, openChain, type ClientChain, type JobView } from '#libs/client';
import { readPolicy } from '#libs/client/judging';
import { parseSimulatedVendor } from '#libs/simulated-vendor';
import type { Manifest } from '#libs/step';
import { checkpointAt, startTestSystem, stateIs, type TestSystem } from '#test/embedded';
import { expectPaidOnce, undisturbed } from '#test/outcome';
import { smallManifest } from '#test/small-job';
import { whileStopped } from '#test/stopped';

/** Room for a renewal on a machine that does much else. */
const windowSeconds = 30;
const secondVendorFile = join(tmpdir(), 'veritrain-test-simulated-vendor-2.json');
const secondChip = () => toHex(parseSimulatedVendor(readFileSync(secondVendorFile, 'utf8')).hwid);

let test: TestSystem;
let chain: ClientChain;
let rpc: JsonRpcProvider;
beforeAll(async () => {
  test = await startTestSystem({}, { attestation: { seconds: windowSeconds, secondVendorFile } });
  chain = openChain(test.profile);
  rpc = new JsonRpcProvider(test.profile.chain.rpcUrl, undefined, { cacheTimeout: -1 });
}, 300_000);
afterAll(async () => {
  chain?.close();
  rpc?.destroy();
  await test?.stop();
});

const jobOf = (jobId: string) => test.api.get<JobView & { attestedUntil: string | null }>(`jobs/${jobId}`);

/** @returns digests of the sessions in the bundle, in order */
async function expectWhole(jobId: string, terms: Terms, manifest: Manifest): Promise<string[]> {
  const { policy } = readPolicy(test.profile.policy);
  const result = await fetchResult(jobId, test.profile, policy, test.api);
  await fetchBundle(jobId, test.profile, policy, test.api);
  expect(result.stateDigest).toBe(await undisturbed(test, manifest));
  expect(['affirming', 'warning']).toContain(result.verdict.tier);
  await expectPaidOnce({ test, chain, rpc }, jobId, terms);
  const { sessions } = result.verdict.bundle;
  return sessions.map(({ evidence }) => toHex(keysDigest(parseSessionEvidence(evidence).binding)));
}

afterEach(() => test.gate.open());

/** What the data owner demands of every session from the next appraisal on. */
function demand(change: (policy: AppraisalPolicy) => AppraisalPolicy): void {
  const policy = JSON.parse(readFileSync(test.profile.policy, 'utf8')) as AppraisalPolicy;
  writeFileSync(join(test.folder, 'system', 'broker', 'restrictions.json'), JSON.stringify(change(policy)));
}

// Training waits at the first checkpoint, so that a job lasts as long as its test on any machine.
const segmentSteps = 400;
const manifest = smallManifest({ steps: 4 * segmentSteps });

it('a job that lasts over several windows is kept by renewals and ends in the same bits', async () => {
  test.gate.holdAt(segmentSteps);
  const { jobId, terms } = await test.submit('long', manifest, segmentSteps);
  const until: string[] = [];
  await test.followed(jobId, ({ type, data }) => {
    if (type === 'renewed') until.push((data as { attestedUntil: string }).attestedUntil);
    if (until.length >= 3) test.gate.open();
  });
  const { attempt } = await jobOf(jobId);
  expect(until).toEqual([...new Set(until)].sort());
  expect(Date.parse(until.at(-1)!) - Date.parse(until[0]!)).toBeGreaterThan(1000 * (windowSeconds / 3));
  const sessions = await expectWhole(jobId, terms, manifest);
  expect([attempt, sessions.length, new Set(sessions).size]).toEqual([1, 2, 1]);
}, 400_000);

it('a broker that falls silent lapses the session; when it is back a fresh decision ends the job in the same bits', async () => {
  test.gate.holdAt(segmentSteps);
  const { jobId, terms } = await test.submit('silent', manifest, segmentSteps);
  await test.told(jobId, ({ type }) => type === 'renewed');
  await whileStopped([test.system.pidOf('key-broker')], () =>
    test.told(jobId, stateIs('submitted', 'ATTESTATION_LAPSED')),
  );
  test.gate.open();
  expect((await test.ended(jobId)).state).toBe('delivered');
  expect((await jobOf(jobId)).attempt).toBeGreaterThan(1);
  await expectWhole(jobId, terms, manifest);
}, 400_000);

it('a platform that is refused in the middle loses the job to another one, which ends it in the same bits', async () => {
  test.gate.holdAt(segmentSteps);
  const { jobId, terms } = await test.submit('refused', manifest, segmentSteps);
  await test.told(jobId, checkpointAt(segmentSteps));
  demand((policy) => ({ ...policy, id: 'test:chip-denied', snp: { ...policy.snp, chipsAllowed: [secondChip()] } }));
  await test.told(jobId, stateIs('submitted', 'ATTESTATION_REFUSED'));
  const journal = readFileSync(join(test.folder, 'system', 'broker', 'journal.jsonl'), 'utf8');
  expect(journal).toContain('"session-ended"');
  test.gate.open();
  await test.system.start('host-agent-2');
  expect((await test.ended(jobId)).state).toBe('delivered');
  const sessions = await expectWhole(jobId, terms, manifest);
  expect(new Set(sessions).size).toBe(2);
}, 400_000);
