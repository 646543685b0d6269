/** A quorum of attestors on real processes: three are listed, two are needed, whatever the third does. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { JsonRpcProvider } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openChain, type ClientChain } from '../../apps/cli/src/job/chain.js';
import { ownTerms } from '../../apps/cli/src/job/record.js';
import { parseBundle, toHex, type EvidenceBundle, type Terms } from '#attestation';
import { startAttestor, type AttestorProcess } from '#test/attestor-processes';
import { reward, setHost, startTestSystem, stateIs, type TestSystem } from '#test/embedded';
import { expectPaidOnce, seen } from '#test/outcome';
import { runCommand } from '#test/run-command';
import { smallManifest } from '#test/small-job';
import { startAgain, type Change } from '#test/start-again';

const manifest = smallManifest({ steps: 200 });
/** How long the host waits for who is away, seconds. */
const patience = 5;

let test: TestSystem;
let attestors: readonly AttestorProcess[];
let chain: ClientChain;
let rpc: JsonRpcProvider;
beforeAll(async () => {
  test = await startTestSystem({}, { enclave: false });
  attestors = await Promise.all(['one', 'two', 'three'].map((name) => startAttestor(test, `attestor-${name}`)));
  const addresses = Object.fromEntries(attestors.map(({ account, url }) => [account, url]));
  setHost(test, { attestors: addresses, brokerWaitSeconds: patience });
  await test.system.start('host-agent');
  chain = openChain(test.profile);
  rpc = new JsonRpcProvider(test.profile.chain.rpcUrl, undefined, { cacheTimeout: -1 });
}, 300_000);
afterAll(async () => {
  chain?.close();
  rpc?.destroy();
  await Promise.all((attestors ?? []).map(({ kill }) => kill()));
  await test?.stop();
});

const cli = (...args: readonly string[]) => runCommand(...args, '--profile', test.system.profileFile);

interface Ordered {
  readonly jobId: string;
  readonly escrowId: string;
  readonly terms: Terms;
}

/** `veritrain job submit` of a job that two of the three must vouch for. */
async function order(name: string): Promise<Ordered> {
  const dataset = await test.sealed(name, manifest);
  const files = ['--manifest', join(test.folder, `${name}.json`), '--dataset', dataset, '--segment-steps', '100'];
  const listed = ['--attestors', attestors.map(({ account }) => account).join(','), '--needed', '2'];
  const { code, json } = await cli('job', 'submit', ...files, ...listed, '--provider', test.system.provider);
  expect(code, JSON.stringify(json)).toBe(0);
  const { jobId, escrowId } = json as { jobId: string; escrowId: string };
  return { jobId, escrowId, terms: ownTerms(test.profile, jobId) };
}

/** `veritrain job result` and `bundle verify`. @returns the bundle, which the client's policy accepts */
async function settled({ jobId, terms }: Ordered): Promise<EvidenceBundle> {
  const out = join(test.folder, `result-of-${jobId}`);
  const result = await cli('job', 'result', jobId, '--out', out);
  expect(result, JSON.stringify(result.json)).toMatchObject({ code: 0, json: { verdict: 'warning', simulated: true } });
  const file = join(out, 'job.vtb');
  const judged = await runCommand('bundle', 'verify', file, '--policy', test.profile.policy, '--allow-simulated');
  expect(judged, JSON.stringify(judged.json)).toMatchObject({ code: 0, json: { ok: true, tier: 'warning' } });
  await expectPaidOnce({ test, chain, rpc }, jobId, terms);
  return parseBundle(new Uint8Array(readFileSync(file))) as EvidenceBundle;
}

/** Digests of the evidence that each attestor vouched for in this job. */
const appraisedFor = ({ escrowId }: Ordered): (readonly string[])[] =>
  attestors.map(({ appraised }) => appraised(escrowId));

describe('S-H4 two of three attestors', () => {
  it('S-H4 vouch over evidence of their own, and the contract binds the key by both: one may be away', async () => {
    await attestors[2]!.kill();
    const job = await order('one-away');
    const bundle = await settled(job);
    const [session] = bundle.sessions;
    const vouched = appraisedFor(job);
    expect(vouched.map((evidence) => evidence.length)).toEqual([1, 1, 0]);
    expect(session!.appraisals.map(({ evidence }) => `0x${toHex(evidence)}`).sort()).toEqual(vouched.flat().sort());
    const shown = toHex(new Uint8Array(await crypto.subtle.digest('SHA-256', session!.evidence.slice())));
    expect(new Set([...vouched.flat(), `0x${shown}`]).size).toBe(3);
    expect(await seen({ test, chain, rpc }, 'KeyBound', job.terms)).toBe(1);
    const startedWith = (change: Change) =>
      startAgain(rpc, test.profile.chain.deployment.settlement, job.terms, change);
    expect(await startedWith({ without: 0 })).toBe('APPROVALS');
    expect(await startedWith({ without: 1 })).toBe('APPROVALS');
    expect(await startedWith({})).toBe('accepted');
  }, 240_000);

  it('S-H4 with two away nothing is signed or staked, and no attempt is used up; with one of them back it is bound', async () => {
    await attestors[1]!.kill();
    const job = await order('two-away');
    await test.told(job.jobId, stateIs('submitted', 'HOST_TERMS_ATTESTOR'));
    expect((await chain.escrow.job(job.terms)).state).toBe('Open');
    expect(await seen({ test, chain, rpc }, 'JobAccepted', job.terms)).toBe(0);
    await attestors[1]!.start();
    const bundle = await settled(job);
    expect(bundle.sessions[0]!.appraisals).toHaveLength(2);
    expect(await test.api.get(`jobs/${job.jobId}`)).toMatchObject({ state: 'settled', attempt: 1 });
  }, 240_000);

  it('S-H4 that refuse end the job with the reason, before anything is staked; the client has its money back', async () => {
    const stranger = { clients: [`0x${'00'.repeat(19)}01`] };
    for (const attestor of attestors.slice(1)) {
      await attestor.kill();
      await attestor.start(stranger);
    }
    const job = await order('refused');
    const ended = await test.ended(job.jobId);
    expect(ended).toMatchObject({ state: 'refused', code: 'HOST_TERMS_ATTESTOR', attempt: 1 });
    expect(JSON.stringify(ended.reason)).toContain('appraisals by 2 attestors of the terms, got 1; BROKER_CLIENT');
    expect(await seen({ test, chain, rpc }, 'JobAccepted', job.terms)).toBe(0);
    expect(await cli('job', 'exit', job.jobId)).toMatchObject({ code: 0, json: { call: 'cancel' } });
    expect((await cli('job', 'withdraw')).json).toMatchObject({ amountWei: String(reward) });
  }, 240_000);
});
