/** Long jobs on real processes: attested again and again, moved when a renewal is refused or does not come. */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { JsonRpcProvider } from 'ethers';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import type { ServerEvent } from '../../apps/cli/src/api.js';
import { openChain, type ClientChain } from '../../apps/cli/src/job/chain.js';
import type { JobView } from '../../apps/cli/src/job/follow.js';
import { fetchBundle, fetchResult } from '../../apps/cli/src/job/result.js';
import { readPolicy } from '../../apps/cli/src/policy.js';
import { keysDigest, parseSessionEvidence, toHex, type AppraisalPolicy, type Terms } from '#attestation';
import { parseSimulatedVendor } from '#libs/simulated-vendor';
import type { Manifest } from '#libs/step';
import { startTestSystem, type TestSystem } from '#test/embedded';
import { expectPaidOnce, undisturbed } from '#test/outcome';
import { smallManifest } from '#test/small-job';

const windowSeconds = 12;
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
const codeOf = ({ type, data }: ServerEvent) => (type === 'state' ? (data as { code: string | null }).code : null);
const patient = { timeout: 240_000, interval: 200 };

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

/**
 * Lets the enclave, the host agent's only child, work a small part of the time, so that a job lasts on any machine.
 * @returns when `isEnough` or the test is over, with the enclave at work
 */
async function slowly(isEnough: () => boolean): Promise<void> {
  const signal = (name: string) => spawnSync('pkill', [`-${name}`, '-P', String(test.system.pidOf('host-agent'))]);
  while (!isEnough() && !isOver) {
    signal('STOP');
    await sleep(850);
    signal('CONT');
    await sleep(150);
  }
}

let isOver = false;
beforeEach(() => void (isOver = false));
afterEach(() => {
  isOver = true;
  process.kill(test.system.pidOf('key-broker'), 'SIGCONT');
});

/** What the data owner demands of every session from the next appraisal on. */
function demand(change: (policy: AppraisalPolicy) => AppraisalPolicy): void {
  const policy = JSON.parse(readFileSync(test.profile.policy, 'utf8')) as AppraisalPolicy;
  writeFileSync(join(test.folder, 'system', 'broker', 'restrictions.json'), JSON.stringify(change(policy)));
}

it('a job that lasts over several windows is kept by renewals and ends in the same bits', async () => {
  const manifest = smallManifest({ steps: 30_000 });
  const { jobId, terms } = await test.submit('long', manifest, 400);
  const until: string[] = [];
  const slow: Promise<void>[] = [];
  await test.followed(jobId, ({ type, data }) => {
    if (type === 'checkpoint' && slow.length === 0) slow.push(slowly(() => until.length >= 4));
    if (type === 'renewed') until.push((data as { attestedUntil: string }).attestedUntil);
  });
  await Promise.all(slow);
  const { attempt } = await jobOf(jobId);
  expect(until.length).toBeGreaterThanOrEqual(3);
  expect(until).toEqual([...new Set(until)].sort());
  expect(Date.parse(until.at(-1)!) - Date.parse(until[0]!)).toBeGreaterThan(1000 * (windowSeconds / 3));
  const sessions = await expectWhole(jobId, terms, manifest);
  expect([attempt, sessions.length, new Set(sessions).size]).toEqual([1, 2, 1]);
}, 400_000);

it('a broker that falls silent lapses the session; when it is back a fresh decision ends the job in the same bits', async () => {
  const manifest = smallManifest({ steps: 30_000 });
  const { jobId, terms } = await test.submit('silent', manifest, 400);
  let isSilent = false;
  let isLapsed = false;
  const slow: Promise<void>[] = [];
  const ended = test.followed(jobId, (event) => {
    if (event.type === 'checkpoint' && slow.length === 0) slow.push(slowly(() => isLapsed));
    isLapsed ||= codeOf(event) === 'ATTESTATION_LAPSED';
    if (event.type !== 'renewed' || isSilent) return;
    isSilent = true;
    process.kill(test.system.pidOf('key-broker'), 'SIGSTOP');
  });
  await expect.poll(() => isLapsed, patient).toBe(true);
  await Promise.all(slow);
  process.kill(test.system.pidOf('key-broker'), 'SIGCONT');
  expect((await ended).state).toBe('delivered');
  expect((await jobOf(jobId)).attempt).toBeGreaterThan(1);
  await expectWhole(jobId, terms, manifest);
}, 400_000);

it('a platform that is refused in the middle loses the job to another one, which ends it in the same bits', async () => {
  const manifest = smallManifest({ steps: 30_000 });
  const { jobId, terms } = await test.submit('refused', manifest, 400);
  let step = 0;
  let isRefused = false;
  const slow: Promise<void>[] = [];
  const ended = test.followed(jobId, (event) => {
    isRefused ||= codeOf(event) === 'ATTESTATION_REFUSED';
    if (event.type !== 'checkpoint') return;
    step = (event.data as { step: number }).step;
    if (slow.length === 0) slow.push(slowly(() => isRefused));
  });
  await expect.poll(() => step, patient).toBeGreaterThan(0);
  demand((policy) => ({ ...policy, id: 'test:chip-denied', snp: { ...policy.snp, chipsAllowed: [secondChip()] } }));
  await expect.poll(() => isRefused, patient).toBe(true);
  await Promise.all(slow);
  const journal = readFileSync(join(test.folder, 'system', 'broker', 'journal.jsonl'), 'utf8');
  expect(journal).toContain('"session-ended"');
  await test.system.start('host-agent-2');
  expect((await ended).state).toBe('delivered');
  const sessions = await expectWhole(jobId, terms, manifest);
  expect(new Set(sessions).size).toBe(2);
}, 400_000);
