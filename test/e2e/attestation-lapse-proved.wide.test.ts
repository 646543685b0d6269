/** A job for an enclave that falls silent in the middle: a prover goes on from its sealed checkpoint, and proves. */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { verifyBundle } from '#attestation';
import { fetchResult, sealFiles, submitJob, type JobView, type ServerEvent } from '#libs/client';
import { readPolicy } from '#libs/client/judging';
import { within } from '#libs/process';
import { verifyBundledProof } from '#libs/proof';
import { checkpointAt, startTestSystem, type TestSystem } from '#test/embedded';
import { undisturbed } from '#test/outcome';
import { smallManifest, writeManifest, writeSmallFiles } from '#test/small-job';
import { whileStopped } from '#test/stopped';
import { withDescendants } from '../faults/processes.js';

const windowSeconds = 30;
const secondVendorFile = join(tmpdir(), 'veritrain-test-simulated-vendor-2.json');
const segmentSteps = 16;
const segments = 4;

let test: TestSystem;
beforeAll(async () => {
  test = await startTestSystem({}, { attestation: { seconds: windowSeconds, secondVendorFile } });
}, 300_000);
afterAll(async () => {
  await test?.stop();
});

/** Why a lease ended whose job waits for the next one; null: another event. */
function codeOnReturn({ type, data }: ServerEvent): string | null {
  const { to, code } = data as { readonly to?: string; readonly code?: string | null };
  return type === 'state' && to === 'submitted' ? (code ?? null) : null;
}

/** @throws Error when the job ends without such an event, or it does not come in time */
async function toldWithin(seconds: number, jobId: string, isIt: (event: ServerEvent) => boolean): Promise<ServerEvent> {
  const event = await within(1000 * seconds, test.told(jobId, isIt));
  if (event !== undefined) return event;
  const { state, code } = await test.api.get<JobView>(`jobs/${jobId}`);
  throw new Error(`${jobId} is ${state} (${code}) after ${seconds} s without the event that was waited for`);
}

/**
 * Freezes the enclave at its first checkpoint, until its attestation has lapsed; then it is gone. On a busy machine a renewal may
 * come too late before there is a checkpoint: then nothing is to be frozen, and nothing of its steps is signed.
 * @returns whether there is a checkpoint
 */
async function untilLapsed(jobId: string): Promise<boolean> {
  const isAttestation = (event: ServerEvent): boolean => codeOnReturn(event)?.startsWith('ATTESTATION_') === true;
  const isFirst = checkpointAt(segmentSteps);
  const first = await toldWithin(240, jobId, (event) => isFirst(event) || isAttestation(event));
  if (isAttestation(first)) {
    expect(codeOnReturn(first)).toBe('ATTESTATION_LAPSED');
    return false;
  }
  const enclave = withDescendants(test.system.pidOf('host-agent')).slice(1);
  await whileStopped(enclave, async () => {
    let isBehind = false;
    // Events come in order, past ones first. Whatever ends this lease is looked at: only a lapse makes the job one to prove.
    const isBack = (event: ServerEvent): boolean => {
      isBehind ||= isFirst(event);
      return isBehind && codeOnReturn(event) !== null;
    };
    expect(codeOnReturn(await toldWithin(6 * windowSeconds, jobId, isBack))).toBe('ATTESTATION_LAPSED');
    for (const pid of enclave) process.kill(pid, 'SIGKILL');
  });
  return true;
}

it('is proved instead where its escrow agreed to that: same bits, paid by proofs, and the bundle says who did what', async () => {
  const manifest = smallManifest({ steps: segmentSteps * segments, superblock: segmentSteps });
  const file = writeManifest(join(test.folder, 'manifest.json'), manifest);
  const files = writeSmallFiles(join(test.folder, 'provable'), 4096);
  // Of profiles that the chain takes, one whose proofs cover a superblock each.
  const sealing = { manifest: file, ...files, out: join(test.folder, 'data'), provable: true, proofProfile: 'chain64' };
  await sealFiles({ ...sealing, key: join(test.profile.broker.keysFolder, 'data.json') });
  const request = { manifest: file, dataset: sealing.out, segmentSteps, provider: test.system.provider };
  const order = { ...request, rewardWei: 10n ** 18n, onLapse: 'zk' } as const;
  test.gate.holdAt(segmentSteps);
  const { jobId } = await submitJob(order, test.profile, test.api);
  const hasCheckpoint = await untilLapsed(jobId);
  expect(await test.api.get(`jobs/${jobId}`)).toMatchObject({ assurance: 'zk', attestedUntil: null });
  await test.system.start('host-prover');
  const ended = await test.ended(jobId);
  expect([ended.state, ended.code, ended.reason]).toEqual(['delivered', null, null]);
  const { policy } = readPolicy(test.profile.policy);
  const result = await fetchResult(jobId, test.profile, policy, test.api);
  expect(result.stateDigest).toBe(await undisturbed({ files }, manifest));
  expect(['affirming', 'warning']).toContain(result.verdict.tier);
  const { segments: vouched } = result.verdict;
  expect(vouched).toHaveLength(segments);
  expect(vouched.every(({ isProved }) => isProved)).toBe(true);
  const signed = vouched.findIndex((segment) => !segment.isSigned);
  expect(signed > 0).toBe(hasCheckpoint);
  expect(vouched.slice(signed).some((segment) => segment.isSigned)).toBe(false);
  const bundle = await test.api.getBytes(`jobs/${jobId}/bundle`);
  expect((await verifyBundle({ bundle, policy })).tier).toBe('none');
  expect((await verifyBundle({ bundle, policy, proofs: verifyBundledProof })).tier).toBe(result.verdict.tier);
}, 900_000);
