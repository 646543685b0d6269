/** One GPU serves the sessions of one provider alone, as long as these live. */
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { documentDigest, encodeDocument } from '#attestation';
import { fromHex, toBase64 } from '#attestation/base';
import { encodeEndorsements } from '#attestation/records';
import { pattern, type AppraisalAnswer, type LeaseGrant } from '#libs/wire';
import { gpuMachineAt, gpuPolicy, madeGpuVendor, type GpuVendor } from '#test/made-machine';
import { PolicyAppraiser } from '../src/evidence/policy-appraiser.js';
import { codeOf, startTestPlane, type TestPlane } from './harness.js';
import {
  acquire,
  capabilities,
  keyReleaseTo,
  providers,
  refOf,
  register,
  stateOf,
  submitFunded,
} from './job-fixture.js';

const pins = vi.hoisted(() => ({ device: [] as string[], rim: [] as string[] }));
vi.mock('../../../attestation/src/nvidia/constants.js', async (original) => ({
  ...(await original<object>()),
  nvidiaPins: pins,
}));

type Who = keyof typeof providers;
let test: TestPlane;
let vendor: GpuVendor;
beforeAll(async () => {
  vendor = await madeGpuVendor();
  pins.device.push(...vendor.nvidia.pins.device);
  pins.rim.push(...vendor.nvidia.pins.rim);
  test = await startTestPlane({}, { appraiser: new PolicyAppraiser() });
  test.clock.pass(gpuMachineAt - test.clock.at());
});
afterAll(() => test?.stop());

let sessions = 0;

/** A node of the provider shows a session on the one GPU for a job of its own. */
async function show(who: Who) {
  sessions += 1;
  const nodeId = await register(test, `node ${sessions}`, who);
  const provider = fromHex(providers[who]);
  const spec = { policyDigest: fromHex(documentDigest(gpuPolicy)) };
  const job = await submitFunded(test, { policy: encodeDocument(gpuPolicy), spec, terms: { provider } });
  const grant = await acquire(test, nodeId, who);
  const { evidence, endorsements } = await vendor.session(provider, sessions);
  const shown = { evidence: toBase64(evidence), endorsements: toBase64(encodeEndorsements(endorsements)) };
  const answer = await test.send<AppraisalAnswer>(pattern.leaseAttested, { ...refOf(grant), ...shown }, who);
  return { job, grant, answer };
}

async function end(grant: LeaseGrant, who: Who = 'operator'): Promise<void> {
  const over = { ...refOf(grant), code: 'ENCLAVE_LOST', detail: 'for the test', retry: false };
  expect(await codeOf(test.send(pattern.leaseFail, over, who))).toBe('ok');
}

it('A-M2 refuses a GPU that a live session of another provider has, and takes one of the same', async () => {
  const first = await show('operator');
  expect(first.answer).toMatchObject({ tier: 'warning' });
  const rival = await show('otherOperator');
  expect(rival.answer.tier).toBe('contraindicated');
  const refused = rival.answer.checks.filter(({ status }) => status === 'refused').map(({ code }) => code);
  expect(refused).toEqual(['COMPOSITE_DEVICE_IN_USE']);
  expect(await stateOf(test, rival.job)).toMatchObject({ state: 'refused', code: 'COMPOSITE_DEVICE_IN_USE' });
  const successor = await show('operator');
  expect(successor.answer).toMatchObject({ tier: 'warning' });

  for (const { grant } of [first, successor]) await end(grant);
  const heir = await show('otherOperator');
  expect(heir.answer).toMatchObject({ tier: 'warning' });
  expect((await show('operator')).answer.tier).toBe('contraindicated');
  await end(heir.grant, 'otherOperator');
});

it('A-M2 refuses a GPU that a worker of a data-parallel job has, as long as its session is relied on', async () => {
  sessions += 1;
  const message = {
    name: `node ${sessions}`,
    provider: providers.operator,
    capabilities: { ...capabilities, parallel: true },
  };
  const { nodeId } = await test.send<{ nodeId: string }>(pattern.nodeRegister, message, 'operator');
  const provider = fromHex(providers.operator);
  const spec = { policyDigest: fromHex(documentDigest(gpuPolicy)), parallel: 2, segmentSteps: 1 };
  const job = await submitFunded(test, { policy: encodeDocument(gpuPolicy), spec, terms: { provider } });
  const { evidence, endorsements } = await vendor.session(provider, sessions);
  const shown = { evidence: toBase64(evidence), endorsements: toBase64(encodeEndorsements(endorsements)) };
  const join = (notAfter: number) => {
    const release = keyReleaseTo(job, { evidence, notAfter });
    return codeOf(test.send(pattern.segmentJoin, { nodeId, jobId: job.jobId, ...shown, release }, 'operator'));
  };
  expect(await join(gpuMachineAt + 20)).toBe('ok');
  expect((await show('otherOperator')).answer.tier).toBe('contraindicated');
  test.clock.pass(21);
  expect((await show('otherOperator')).answer.tier).toBe('warning');
});
