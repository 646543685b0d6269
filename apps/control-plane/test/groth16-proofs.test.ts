/** A genuine Groth16 proof at the control plane: claimed under its key, refused where it is altered or another's, taken once. */
import { afterAll, beforeAll, describe as describeAlways, expect, it } from 'vitest';
import { to0x, toBase64 } from '#attestation/base';
import {
  domainSeparator,
  encodeJobSpec,
  encodeStepStatement,
  escrowIdOf,
  jobIdOf,
  JobMode,
  specDigestOf,
  termsJson,
} from '#attestation/records';
import type { Deployment, SettlementClient } from '#libs/settlement';
import { manifestDigest } from '#libs/step';
import { pattern, ProofTask } from '#libs/wire';
import { groth16Job, proveGroth16Run, type ProvedRun } from '#test/groth16-run';
import { hasGroth16Tools } from '#test/groth16-tools';
import { codeOf, startTestPlane, type TestPlane } from './harness.js';
import {
  acquire,
  capabilities,
  fund,
  makeJob,
  providers,
  refOf,
  sha256,
  storeBlob,
  upload,
  type Fixture,
} from './job-fixture.js';

const describe = describeAlways.skipIf(!hasGroth16Tools);

let test: TestPlane;
let job: Fixture;
let run: ProvedRun;
let prover: string;
let keyless: string;

async function node(name: string, keys: readonly string[]): Promise<string> {
  const offered = { ...capabilities, tee: 'none', groth16Keys: keys };
  const message = { name, provider: providers.operator, capabilities: offered };
  return (await test.send<{ nodeId: string }>(pattern.nodeRegister, message)).nodeId;
}

/** One segment, its escrow on the test plane's chain. */
async function orderedJob(): Promise<{ job: Fixture; run: ProvedRun; plan: string }> {
  const plain = makeJob(test.clock.at());
  const { chainId, contract } = plain.spec.settlement;
  const made = await groth16Job({ chainId, settlement: to0x(contract) } as Deployment, 1);
  const shards = [new Uint8Array(22)];
  const { manifest } = made.shape;
  const dataset = {
    ...{ ...plain.dataset, records: 2, features: manifest.dims[0]!, classes: manifest.dims.at(-1)! },
    ...{ batch: manifest.batch, superblock: manifest.superblock },
    shards: [{ records: 2, bytes: 22, nonce: new Uint8Array(12), sha256: sha256(shards[0]!) }],
    groth16: { root: made.spec.dataset.root, commitments: made.digests },
  };
  const { policyDigest, recipient, salt, settlement } = plain.spec;
  const spec = {
    ...made.spec,
    dataset: { ...made.spec.dataset, id: dataset.id },
    policyDigest,
    recipient,
    salt,
    settlement,
  };
  const terms = {
    ...{ ...plain.terms, specDigest: specDigestOf(spec), initialWeights: made.start, segments: 1 },
    mode: JobMode.full,
  };
  const escrow = { domain: domainSeparator({ chainId, verifyingContract: contract }) } as SettlementClient;
  const body = { ...plain.body, spec: toBase64(encodeJobSpec(spec)), terms: termsJson(terms) };
  const ids = { jobId: to0x(jobIdOf(spec)), escrowId: to0x(escrowIdOf(terms)) };
  const ordered: Fixture = { dataset, shards, spec, terms, ...ids, body };
  return { job: ordered, run: await proveGroth16Run({ ...made, spec }, escrow, terms), plan: to0x(made.plan) };
}

beforeAll(async () => {
  if (!hasGroth16Tools) return;
  test = await startTestPlane();
  let plan: string;
  ({ job, run, plan } = await orderedJob());
  keyless = await node('keyless', []);
  prover = await node('prover', [plan]);
  await upload(test, job);
  await test.as('client').post('/v1/jobs', job.body).expect(201);
  await fund(test, job);
  const grant = await acquire(test, prover);
  await test.send(pattern.leaseEntrusted, refOf(grant));
  await test.send(pattern.leaseRunning, refOf(grant));
  const statement = encodeStepStatement({
    ...{
      jobId: jobIdOf(job.spec),
      programDigest: manifestDigest(JSON.parse(Buffer.from(job.spec.manifest).toString())),
    },
    ...{ datasetRoot: job.spec.dataset.root, stepFrom: 0, stepCount: 1 },
    ...{ weightsBefore: run.borders[0]!, weightsAfter: run.borders[1]! },
  });
  const border = { step: 1, statement: toBase64(statement), receipt: '', blob: await storeBlob(test) };
  await test.send(pattern.leaseCheckpoint, { ...refOf(grant), ...border });
}, 240_000);
afterAll(() => test?.stop());

describe('a Groth16 proof', () => {
  it('is claimed by nodes with its key alone, refused where it is not the one, and taken', async () => {
    const claim = async (nodeId: string) =>
      test.send<{ task: ProofTask | null; left: number }>(pattern.proofAcquire, {
        nodeId,
        waitMs: 0,
        jobId: job.jobId,
      });
    expect(await claim(keyless)).toEqual({ task: null, elsewhere: null, left: 1 });
    const { jobId, index, fence } = ProofTask.parse((await claim(prover)).task);
    const deliver = async (bundle: Uint8Array, document: string) => {
      const message = { nodeId: prover, jobId, index, fence, blob: await storeBlob(test, bundle), document };
      return codeOf(test.send(pattern.proofDeliver, message));
    };
    const changed = (at: number) => run.bundle.map((byte, i) => (i === at ? byte ^ 1 : byte));
    const signs = run.bundle.slice();
    signs.set(signs.subarray(-64), signs.length - 256);
    const document = (change: object) => JSON.stringify({ ...(JSON.parse(run.document) as object), ...change });
    const { borders } = JSON.parse(run.document) as { borders: string[] };
    expect(await deliver(changed(run.bundle.length - 1), run.document)).toBe('STEP_NONCANONICAL');
    expect(await deliver(signs, run.document)).toBe('STEP_FINAL_CHECK');
    expect(await deliver(changed(100), run.document)).toBe('PROOF_FOREIGN');
    expect(await deliver(run.bundle, document({ jobId: to0x(new Uint8Array(32)) }))).toBe('PROOF_FOREIGN');
    expect(await deliver(run.bundle, document({ borders: [borders[1], borders[0]] }))).toBe('STEP_FINAL_CHECK');
    expect((await claim(prover)).left).toBe(1);
    expect(await deliver(run.bundle, run.document)).toBe('ok');
    expect((await claim(prover)).left).toBe(0);
  });
});
