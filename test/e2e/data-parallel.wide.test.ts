/** One job on two nodes of one provider: real host agents and enclaves, one exact result, one payment. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { JsonRpcProvider } from 'ethers';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { to0x } from '#attestation/base';
import { parseBundle } from '#attestation/records';
import { fetchBundle, fetchResult, openChain, submitJob, type ClientChain, type ServerEvent } from '#libs/client';
import { readPolicy, verifyBundleFile } from '#libs/client/judging';
import { canonicalManifest, drawnParameters, encodeWeights, splitNetRecords, startRoot } from '#libs/step';
import { reward, startTestSystem, type TestSystem } from '#test/embedded';
import { tableData, tableNet, tableRecords, writeTable } from '#test/net-job';
import { roundsDigest } from '#test/net-training';
import { expectPaidOnce, undisturbed } from '#test/outcome';
import { smallManifest } from '#test/small-job';
import { eventLine } from '../../apps/cli/src/job/event-line.js';

let test: TestSystem;
let chain: ClientChain;
let rpc: JsonRpcProvider;
beforeAll(async () => {
  const shortLease = { VERITRAIN_LEASE_SECONDS: '5', VERITRAIN_HEARTBEAT_SECONDS: '1' };
  test = await startTestSystem(shortLease, { nodes: 2 });
  chain = openChain(test.profile);
  rpc = new JsonRpcProvider(test.profile.chain.rpcUrl, undefined, { cacheTimeout: -1 });
}, 300_000);
afterAll(async () => {
  chain?.close();
  rpc?.destroy();
  await test?.stop();
});

interface Segment {
  readonly round: number;
  readonly worker: number;
  readonly nodeId: string;
  readonly done: boolean;
}

const segmentOf = ({ type, data }: ServerEvent): Segment | null => (type === 'segment' ? (data as Segment) : null);

const segmentOfWorker = (wanted: number) => (event: ServerEvent) => segmentOf(event)?.worker === wanted;

/** Settles it, and verifies its bundle from the file alone. */
async function settled(jobId: string, name: string) {
  const { policy } = readPolicy(test.profile.policy);
  const result = await fetchResult(jobId, test.profile, policy, test.api);
  const file = join(test.folder, `${name}.vtb`);
  const bytes = await fetchBundle(jobId, test.profile, policy, test.api);
  writeFileSync(file, bytes);
  const verdict = await verifyBundleFile(file, { policy: test.profile.policy });
  return { result, verdict, bundle: parseBundle(bytes) };
}

describe('a data-parallel job on two nodes', () => {
  afterEach(() => test.gate.open());

  it('is trained by both, ends in the bits of its rounds, is paid once, and its bundle affirms offline', async () => {
    const manifest = smallManifest({ steps: 3600 });
    test.gate.holdAt(0);
    const { jobId, terms } = await test.submit('parallel', manifest, 600, undefined, 2);
    await test.told(jobId, segmentOfWorker(1));
    test.gate.open();
    const segments: Segment[] = [];
    const lines: string[] = [];
    const job = await test.followed(jobId, (event) => {
      lines.push(eventLine(event));
      const segment = segmentOf(event);
      if (segment !== null) segments.push(segment);
    });
    expect([job.state, job.code]).toEqual(['delivered', null]);
    expect(new Set(segments.map(({ nodeId }) => nodeId)).size).toBe(2);
    expect(lines).toContain('round 2: worker 1 is done');
    const { result, verdict, bundle } = await settled(jobId, 'parallel');
    expect(result.stateDigest).toBe(await undisturbed(test, manifest, { segmentSteps: 600, parallel: 2 }));
    expect(result.stateDigest).not.toBe(await undisturbed(test, manifest));
    expect(verdict.tier).toBe('warning');
    expect(verdict.checks.find(({ rule }) => rule.startsWith('Each round'))?.got).toBe('3 rounds of 2 workers');
    expect(bundle.version === 4 && bundle.sessions.length).toBe(2);
    await expectPaidOnce({ test, chain, rpc }, jobId, terms);
  }, 300_000);

  it('loses a node mid-round and ends in the same bits, paid once: a worker’s segment is redone', async () => {
    const manifest = smallManifest({ steps: 3600 });
    test.gate.holdAt(0);
    const { jobId, terms } = await test.submit('lost', manifest, 900, undefined, 2);
    const { items } = await test.api.get<{ items: { id: string; name: string }[] }>('nodes?limit=10');
    // The node with the lease claims first; the other one is lost.
    const lost = segmentOf(await test.told(jobId, segmentOfWorker(1)))!;
    const app = items.find(({ id }) => id === lost.nodeId)!.name.endsWith('1') ? 'host-agent' : 'host-agent-2';
    await test.system.kill(app);
    test.gate.open();
    const segments: Segment[] = [];
    const job = await test.followed(jobId, (event) => {
      const segment = segmentOf(event);
      if (segment !== null) segments.push(segment);
    });
    expect([job.state, job.code]).toEqual(['delivered', null]);
    const redone = segments.find(({ round, worker, done }) => round === lost.round && worker === lost.worker && done)!;
    expect(redone.nodeId).not.toBe(lost.nodeId);
    const { result, verdict } = await settled(jobId, 'lost');
    expect(result.stateDigest).toBe(await undisturbed(test, manifest, { segmentSteps: 900, parallel: 2 }));
    expect(verdict.tier).toBe('warning');
    await expectPaidOnce({ test, chain, rpc }, jobId, terms);
    await test.system.start(app);
  }, 400_000);

  it('of a net that starts from weights, both begin with these and end in the bits of their rounds', async () => {
    const layers = [{ op: 'dense', out: 8, frozen: true }, { op: 'relu' }, { op: 'dense', out: 2 }];
    const parameters = drawnParameters(tableNet({ layers, seed: `0x${'79'.repeat(32)}` }));
    const root = to0x(startRoot(tableNet({ layers }), parameters));
    const net = tableNet({ layers, start: { kind: 'weights', root } });
    const salt = 31;
    const folder = join(test.folder, 'brought');
    mkdirSync(folder);
    const manifest = join(folder, 'manifest.json');
    writeFileSync(manifest, canonicalManifest(net));
    writeFileSync(join(folder, 'start.bin'), encodeWeights(parameters));
    const key = join(test.profile.broker.keysFolder, 'brought.json');
    const dataset = writeTable(await tableData(net, { salt }), join(folder, 'data'), key);
    const divided = { segmentSteps: 4, parallel: 2 };
    const { provider } = test.system;
    const { jobId, terms } = await submitJob(
      { manifest, dataset, provider, rewardWei: reward, ...divided },
      test.profile,
      test.api,
    );
    expect(await test.followed(jobId, () => undefined)).toMatchObject({ state: 'delivered', code: null });
    const { result, verdict, bundle } = await settled(jobId, 'brought');
    const examples = splitNetRecords(net, tableRecords(32, salt));
    expect(result.stateDigest).toBe(await roundsDigest(net, examples, parameters, divided));
    expect(result.weights.map(({ name }) => name)).toEqual(['n2.W', 'n2.b', 'm1.n2.W', 'm1.n2.b']);
    expect(verdict.tier).toBe('warning');
    expect(bundle.version === 4 && bundle.evaluations).toHaveLength(3);
    const judged = await verifyBundleFile(join(test.folder, 'brought.vtb'), { start: join(folder, 'start.bin') });
    expect(judged.checks.find(({ id }) => id === 'BUNDLE_START')).toMatchObject({ status: 'met' });
    await expectPaidOnce({ test, chain, rpc }, jobId, terms);
  }, 300_000);
});
