/** One job, three nodes without a TEE: one trains and proves nothing, two prove its segments; one of these is killed. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  fetchResult,
  followJob,
  loadProfile,
  openApi,
  sealFiles,
  submitJob,
  type CheckedResult,
  type ControlPlaneApi,
  type Profile,
  type ServerEvent,
} from '#libs/client';
import { readPolicy } from '#libs/client/judging';
import { startEmbedded, type EmbeddedSystem } from '../../apps/cli/src/system/embedded.js';
import { smallManifest, writeManifest, writeSmallFiles } from '../support/small-job.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-provers-'));
const segments = 4;
let system: EmbeddedSystem;
let profile: Profile;
let api: ControlPlaneApi;
beforeAll(async () => {
  system = await startEmbedded({
    folder: join(folder, 'system'),
    vendorFile: join(tmpdir(), 'veritrain-test-simulated-vendor.json'),
    controlPlane: { VERITRAIN_LEASE_SECONDS: '10', VERITRAIN_HEARTBEAT_SECONDS: '2' },
    enclave: false,
    provers: [
      { threads: 1, proves: false },
      { threads: 1, trains: false },
      { threads: 1, trains: false },
    ],
  });
  profile = loadProfile(system.profileFile);
  api = openApi(profile);
}, 600_000);
afterAll(async () => {
  await system?.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe('a job that several nodes prove', () => {
  const events: ServerEvent[] = [];
  const ofType = (type: string) => events.filter((event) => event.type === type).map(({ data }) => data as Proving);
  let result: CheckedResult;
  let nodes: Readonly<Record<string, string>>;
  /** What prover-2 was at when it was killed. */
  let lost: number | null = null;

  beforeAll(async () => {
    const manifest = smallManifest({ steps: 4 * segments, superblock: 4, loss: 'mse' });
    const file = writeManifest(join(folder, 'manifest.json'), manifest);
    const files = writeSmallFiles(join(folder, 'idx'), 512);
    const sealing = { manifest: file, ...files, out: join(folder, 'data'), provable: true };
    await sealFiles({ ...sealing, key: join(profile.broker.keysFolder, 'data.json') });
    const request = { manifest: file, dataset: sealing.out, segmentSteps: 4, provider: system.prover };
    const { jobId } = await submitJob({ ...request, rewardWei: 10n ** 18n, assurance: 'zk' }, profile, api);
    const { items } = await api.get<{ items: { id: string; name: string }[] }>('nodes?limit=10');
    nodes = Object.fromEntries(items.map(({ id, name }) => [name, id]));
    const watch = (event: ServerEvent): void => {
      events.push(event);
      const { nodeId, phase, index } = event.data as Proving;
      if (lost !== null || nodeId !== nodes['prover-2'] || phase !== 'execute') return;
      lost = index;
      process.kill(system.pidOf('prover-2'), 'SIGKILL');
    };
    await followJob(jobId, api, watch, ['delivered', 'settled']);
    result = await fetchResult(jobId, profile, readPolicy(profile.policy).policy, api);
  }, 600_000);

  it('is proved by those that prove, all of it, each segment once', () => {
    expect(
      ofType('proof')
        .map(({ index }) => index)
        .sort(),
    ).toEqual([0, 1, 2, 3]);
    const provers = new Set(ofType('proving').map(({ nodeId }) => nodeId));
    expect(provers).toEqual(new Set([nodes['prover-2'], nodes['prover-3']]));
    expect(ofType('checkpoint')).toHaveLength(segments);
  });

  it('loses no segment with the node that was killed: the other takes it over', () => {
    expect(lost).not.toBeNull();
    const taken = ofType('proof').find(({ index }) => index === lost);
    expect(taken?.nodeId).toBe(nodes['prover-3']);
  });

  it('settles through the contract with a bundle that verifies', () => {
    expect(result.verdict.tier).toBe('affirming');
    expect(result.verdict.steps).toBe(4 * segments);
    expect(result.settledBy).toMatch(/^0x[0-9a-f]{64}$/);
  });
});

interface Proving {
  readonly index: number;
  readonly nodeId: string;
  readonly phase: string;
}
