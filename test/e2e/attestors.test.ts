/** A quorum of attestors on real processes: three are listed, two are needed, whatever the third does. */
import { JsonRpcProvider } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { to0x, toHex } from '#attestation/base';
import { openChain, type ClientChain } from '#libs/client';
import { startAttestor, type AttestorProcess } from '#test/attestor-processes';
import { leave, order, settle, type Ordered } from '#test/by-command';
import { reward, setHost, startTestSystem, stateIs, type TestSystem } from '#test/embedded';
import { seen, type Watched } from '#test/outcome';
import { startAgain, type Change } from '#test/start-again';

/** How long the host waits for who is away, seconds. */
const brokerWaitSeconds = 5;

let test: TestSystem;
let attestors: readonly AttestorProcess[];
let chain: ClientChain;
let rpc: JsonRpcProvider;
let watched: Watched;
beforeAll(async () => {
  test = await startTestSystem({}, { enclave: false });
  attestors = await Promise.all(['one', 'two', 'three'].map((name) => startAttestor(test, `attestor-${name}`)));
  setHost(test, {
    attestors: Object.fromEntries(attestors.map(({ account, url }) => [account, url])),
    brokerWaitSeconds,
  });
  await test.system.start('host-agent');
  chain = openChain(test.profile);
  rpc = new JsonRpcProvider(test.profile.chain.rpcUrl, undefined, { cacheTimeout: -1 });
  watched = { test, chain, rpc };
}, 300_000);
afterAll(async () => {
  chain?.close();
  rpc?.destroy();
  await Promise.all((attestors ?? []).map(({ kill }) => kill()));
  await test?.stop();
});

/** A job that two of the three must vouch for. */
const orderVouched = (name: string): Promise<Ordered> =>
  order(test, name, '--attestors', attestors.map(({ account }) => account).join(','), '--needed', '2');

/** Digests of the evidence that each attestor vouched for in this job. */
const appraisedFor = ({ escrowId }: Ordered): (readonly string[])[] =>
  attestors.map(({ appraised }) => appraised(escrowId));

describe('S-H4 two of three attestors', () => {
  it('S-H4 vouch over evidence of their own, and the contract binds the key by both: one may be away', async () => {
    await attestors[2]!.kill();
    const job = await orderVouched('one-away');
    const bundle = await settle(watched, job);
    const [session] = bundle.sessions;
    const vouched = appraisedFor(job);
    expect(vouched.map((evidence) => evidence.length)).toEqual([1, 1, 0]);
    expect(session!.appraisals.map(({ evidence }) => to0x(evidence)).sort()).toEqual(vouched.flat().sort());
    const shown = toHex(new Uint8Array(await crypto.subtle.digest('SHA-256', session!.evidence.slice())));
    expect(new Set([...vouched.flat(), `0x${shown}`]).size).toBe(3);
    expect(await seen(watched, 'KeyBound', job.terms)).toBe(1);
    const startedWith = (change: Change) =>
      startAgain(rpc, test.profile.chain.deployment.settlement, job.terms, change);
    expect(await startedWith({ without: 0 })).toBe('APPROVALS');
    expect(await startedWith({ without: 1 })).toBe('APPROVALS');
    expect(await startedWith({})).toBe('accepted');
  }, 240_000);

  it('S-H4 with two away nothing is signed or staked, and no attempt is used up; with one of them back it is bound', async () => {
    await attestors[1]!.kill();
    const job = await orderVouched('two-away');
    await test.told(job.jobId, stateIs('submitted', 'HOST_TERMS_ATTESTOR'));
    expect((await chain.escrow.job(job.terms)).state).toBe('Open');
    expect(await seen(watched, 'JobAccepted', job.terms)).toBe(0);
    await attestors[1]!.start();
    const bundle = await settle(watched, job);
    expect(bundle.sessions[0]!.appraisals).toHaveLength(2);
    expect(await test.api.get(`jobs/${job.jobId}`)).toMatchObject({ state: 'settled', attempt: 1 });
  }, 240_000);

  it('S-H4 that refuse end the job with the reason, before anything is staked; the client has its money back', async () => {
    const clients = [`0x${'00'.repeat(19)}01`]; // a stranger
    for (const attestor of attestors.slice(1)) {
      await attestor.kill();
      await attestor.start({ clients });
    }
    const job = await orderVouched('refused');
    const ended = await test.ended(job.jobId);
    expect(ended).toMatchObject({ state: 'refused', code: 'HOST_TERMS_ATTESTOR', attempt: 1 });
    expect(JSON.stringify(ended.reason)).toContain('appraisals by 2 attestors of the terms, got 1; BROKER_CLIENT');
    expect(await seen(watched, 'JobAccepted', job.terms)).toBe(0);
    expect(await leave(test, job)).toBe(reward);
  }, 240_000);
});
