/**
 * What outbound.test.ts traces: every kind of process at work, on one job. `traced-main FOLDER VENDOR`. A system with
 * simulated hardware and a prover, a job that an enclave trains and the prover proves, the client that settles it and
 * scores the model, and the engine by itself.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { accuracyOf } from '../../apps/cli/src/demo/score.js';
import { startEmbedded } from '../../apps/cli/src/system/embedded.js';
import { fetchResult, followJob, loadProfile, openApi, sealFiles, submitJob } from '#libs/client';
import { readPolicy } from '#libs/client/judging';
import { nodeCommand } from '#libs/process';
import { canonicalManifest, floatOnnx } from '#libs/step';
import { smallManifest, writeManifest, writeSmallFiles } from '../support/small-job.js';

const [folder, vendorFile] = process.argv.slice(2) as [string, string];
const manifest = smallManifest({ steps: 8, superblock: 4, loss: 'mse' });
const file = writeManifest(join(folder, 'manifest.json'), manifest);
const files = writeSmallFiles(join(folder, 'idx'), 512);

const system = await startEmbedded({
  folder: join(folder, 'system'),
  vendorFile,
  provers: [{ threads: 1, trains: false }],
});
try {
  const profile = loadProfile(system.profileFile);
  const api = openApi(profile);
  const sealing = { manifest: file, ...files, out: join(folder, 'data'), provable: true };
  await sealFiles({ ...sealing, key: join(profile.broker.keysFolder, 'data.json') });
  const request = { manifest: file, dataset: sealing.out, segmentSteps: 4, provider: system.provider };
  const { jobId } = await submitJob({ ...request, rewardWei: 10n ** 18n, assurance: 'tee+zk' }, profile, api);
  await followJob(jobId, api, () => undefined, ['delivered', 'settled']);
  const { weights } = await fetchResult(jobId, profile, readPolicy(profile.policy).policy, api);
  const images = { count: 1, pixels: 784, data: new Uint8Array(784) };
  await accuracyOf(floatOnnx(manifest, weights), images, Uint8Array.of(0));
} finally {
  await system.stop();
}

const [engine, ...words] = nodeCommand('../../enclave/src/engine/engine-main', import.meta.url);
const { status, stderr } = spawnSync(engine, words, {
  input: JSON.stringify({
    manifest: JSON.parse(Buffer.from(canonicalManifest(manifest)).toString('utf8')) as unknown,
    ...files,
    digestAt: [8],
  }),
  encoding: 'utf8',
});
if (status !== 0) throw new Error(stderr);
process.stdout.write('done\n');
