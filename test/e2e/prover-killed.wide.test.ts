/** A node without a TEE that is killed between its training and its delivery: the job goes on, and is paid once delivered. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fetchResult, followJob, loadProfile, openApi, sealFiles, submitJob, type ServerEvent } from '#libs/client';
import { readPolicy } from '#libs/client/judging';
import { startEmbedded, type EmbeddedSystem } from '../../apps/cli/src/system/embedded.js';
import { smallManifest, writeManifest, writeSmallFiles } from '../support/small-job.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-prover-killed-'));
const segments = 2;
let system: EmbeddedSystem;
beforeAll(async () => {
  system = await startEmbedded({
    folder: join(folder, 'system'),
    vendorFile: join(tmpdir(), 'veritrain-test-simulated-vendor.json'),
    controlPlane: { VERITRAIN_LEASE_SECONDS: '4', VERITRAIN_HEARTBEAT_SECONDS: '1' },
    enclave: false,
    provers: [{ threads: 1 }],
  });
}, 600_000);
afterAll(async () => {
  await system?.stop();
  rmSync(folder, { recursive: true, force: true });
});

it('a trainer that is killed while its segments are proved takes the job up again and delivers it', async () => {
  const profile = loadProfile(system.profileFile);
  const api = openApi(profile);
  const file = writeManifest(join(folder, 'manifest.json'), smallManifest({ steps: 4 * segments, superblock: 4 }));
  const sealing = { manifest: file, ...writeSmallFiles(join(folder, 'idx'), 512), out: join(folder, 'data') };
  const key = join(profile.broker.keysFolder, 'data.json');
  await sealFiles({ ...sealing, provable: true, key });
  const request = { manifest: file, dataset: sealing.out, segmentSteps: 4, provider: system.prover };
  const { jobId } = await submitJob({ ...request, rewardWei: 10n ** 18n, assurance: 'zk' }, profile, api);
  const events: ServerEvent[] = [];
  let killed: Promise<void> | undefined;
  const watch = (event: ServerEvent): void => {
    events.push(event);
    if (event.type !== 'proof' || killed !== undefined) return;
    killed = system.kill('prover-1').then(() => system.start('prover-1'));
  };
  await followJob(jobId, api, watch, ['delivered', 'settled']);
  await killed;
  const states = events.filter(({ type }) => type === 'state').map(({ data }) => (data as { to: string }).to);
  expect(states.filter((state) => state === 'running')).toHaveLength(2);
  const result = await fetchResult(jobId, profile, readPolicy(profile.policy).policy, api);
  expect(result.verdict).toMatchObject({ tier: 'affirming', steps: 4 * segments });
  expect(result.settledBy).toMatch(/^0x[0-9a-f]{64}$/);
}, 600_000);
