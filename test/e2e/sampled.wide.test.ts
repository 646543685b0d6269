/**
 * Sampled jobs, whole: a node without a TEE trains and commits, the client draws, only what was drawn is proved, and the
 * contract pays. A second node is stopped between the draw and its proofs, and loses its stake.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { JsonRpcProvider } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  fetchBundle,
  fetchResult,
  followJob,
  loadProfile,
  openApi,
  openChain,
  ownSeed,
  sealFiles,
  settleEscrow,
  submitJob,
  type CheckedResult,
  type ClientChain,
  type ControlPlaneApi,
  type Profile,
  type ServerEvent,
} from '#libs/client';
import { readPolicy, verifyBundleFile } from '#libs/client/judging';
import { startEmbedded, type EmbeddedSystem } from '../../apps/cli/src/system/embedded.js';
import { smallManifest, writeManifest, writeSmallFiles } from '../support/small-job.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-sampled-'));
const segments = 4;
const steps = 4 * segments;
const native = new Uint8Array(20);
const reward = 10n ** 18n;
let system: EmbeddedSystem;
let profile: Profile;
let api: ControlPlaneApi;
let chain: ClientChain;
let submit: (samples: number) => ReturnType<typeof submitJob>;
beforeAll(async () => {
  system = await startEmbedded({
    folder: join(folder, 'system'),
    vendorFile: join(tmpdir(), 'veritrain-test-simulated-vendor.json'),
    enclave: false,
    provers: [{ threads: 1 }],
  });
  profile = loadProfile(system.profileFile);
  api = openApi(profile);
  chain = openChain(profile);
  const manifest = writeManifest(join(folder, 'manifest.json'), smallManifest({ steps, superblock: 4 }));
  const dataset = join(folder, 'data');
  const key = join(profile.broker.keysFolder, 'data.json');
  const sealing = { manifest, ...writeSmallFiles(join(folder, 'idx'), 512), out: dataset, key, provable: true };
  await sealFiles(sealing);
  const request = { manifest, dataset, segmentSteps: 4, provider: system.prover, rewardWei: reward };
  submit = (samples) => submitJob({ ...request, assurance: 'sampled', samples }, profile, api);
}, 600_000);
afterAll(async () => {
  chain?.close();
  await system?.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe('a sampled job', () => {
  const events: ServerEvent[] = [];
  const proved = (): number[] =>
    events.flatMap(({ type, data }) => (type === 'proof' ? [(data as { index: number }).index] : []));
  let provedBeforeDraw: number[];
  let drawn: readonly number[];
  let result: CheckedResult;
  let bundle: string;
  beforeAll(async () => {
    const { jobId, terms } = await submit(2);
    const { policy } = readPolicy(profile.policy);
    await followJob(jobId, api, (event) => events.push(event), ['delivered']);
    provedBeforeDraw = proved();
    const settled = followJob(jobId, api, (event) => events.push(event), ['settled']);
    result = await fetchResult(jobId, profile, policy, api);
    await settled;
    drawn = (await chain.escrow.duties.sampleOf(terms))!;
    bundle = join(folder, 'job.vtb');
    writeFileSync(bundle, await fetchBundle(jobId, profile, policy, api));
  }, 600_000);

  it('is proved after the draw, where it was drawn and nowhere else, and paid', () => {
    expect(provedBeforeDraw).toEqual([]);
    expect(drawn).toHaveLength(2);
    expect(new Set(proved())).toEqual(new Set(drawn));
    expect(result.settledBy).toMatch(/^0x[0-9a-f]{64}$/);
  });

  it('shows its client proofs of the segments that the chain drew', () => {
    const { tier, checks, segments: vouched } = result.verdict;
    expect(tier).toBe('affirming');
    expect(checks.find(({ code }) => code === 'BUNDLE_SAMPLE')?.status).toBe('met');
    expect(vouched.map(({ isProved }) => isProved)).toEqual(vouched.map((_, index) => drawn.includes(index)));
  });

  it('warns whoever has the file alone that the draw is the chain’s word', async () => {
    const { tier, checks } = await verifyBundleFile(bundle, { policy: profile.policy });
    expect(tier).toBe('warning');
    expect(checks.filter(({ status }) => status !== 'met').map(({ code, status }) => [code, status])).toEqual([
      ['BUNDLE_SAMPLE', 'warned'],
      ['BUNDLE_TRANSACTIONS', 'not-checked'],
      ['LOG_BUNDLE', 'warned'],
    ]);
  });
});

describe('a sampled job whose node proves nothing of what was drawn', () => {
  it('gives price and half of the stake to the client, and says which proofs did not come', async () => {
    const { jobId, terms } = await submit(2);
    await followJob(jobId, api, () => undefined, ['delivered']);
    await chain.untilCommitted(terms);
    await system.kill('prover-1');
    const drawing = await settleEscrow(chain.escrow, terms, await chain.now(), ownSeed(profile, jobId));
    expect(drawing.move.call).toBe('draw');
    const drawn = [...new Set(await chain.escrow.duties.sampleOf(terms))].sort((a, b) => a - b);
    const { setDeadline } = await chain.escrow.job(terms);
    const rpc = new JsonRpcProvider(system.urls['chain']);
    await rpc.send('evm_setNextBlockTimestamp', [setDeadline + 1]);
    await rpc.send('evm_mine', []);
    rpc.destroy();
    const { policy } = readPolicy(profile.policy);
    await expect(fetchResult(jobId, profile, policy, api)).rejects.toMatchObject({ code: 'ESCROW_ENDED' });
    const view = await followJob(jobId, api, () => undefined, ['disputed']);
    expect(view).toMatchObject({ code: 'ESCROW_SLASHED', escrowState: 'slashed', reason: { unproved: drawn } });
    const client = await chain.escrow.signer.getAddress();
    expect(await chain.escrow.creditOf(client, native)).toBe(reward + terms.stake / 2n);
  }, 300_000);
});
