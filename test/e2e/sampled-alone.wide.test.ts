/**
 * A sampled job whose control plane and key broker are gone once it is delivered, and whose node is killed: the node starts again
 * without them, proves from its disk what the chain drew, and brings it there.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { JsonRpcProvider } from 'ethers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  followJob,
  loadProfile,
  openApi,
  openChain,
  ownSeed,
  sealFiles,
  settleEscrow,
  submitJob,
  type ClientChain,
  type Profile,
} from '#libs/client';
import { startEmbedded, type EmbeddedSystem } from '../../apps/cli/src/system/embedded.js';
import { smallManifest, writeManifest, writeSmallFiles } from '../support/small-job.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-alone-'));
let system: EmbeddedSystem;
let profile: Profile;
let chain: ClientChain;
beforeAll(async () => {
  system = await startEmbedded({
    folder: join(folder, 'system'),
    vendorFile: join(tmpdir(), 'veritrain-test-simulated-vendor.json'),
    enclave: false,
    provers: [{ threads: 1 }],
  });
  profile = loadProfile(system.profileFile);
  chain = openChain(profile);
}, 600_000);
afterAll(async () => {
  chain?.close();
  await system?.stop();
  rmSync(folder, { recursive: true, force: true });
});

it('a node that was killed proves what was drawn of its run, with the chain and its disk alone', async () => {
  const manifest = writeManifest(join(folder, 'manifest.json'), smallManifest({ steps: 16, superblock: 4 }));
  const dataset = join(folder, 'data');
  const key = join(profile.broker.keysFolder, 'data.json');
  await sealFiles({ manifest, ...writeSmallFiles(join(folder, 'idx'), 512), out: dataset, key, provable: true });
  const request = { manifest, dataset, segmentSteps: 4, provider: system.prover, rewardWei: 10n ** 18n };
  const api = openApi(profile);
  const { jobId, terms } = await submitJob({ ...request, assurance: 'sampled', samples: 2 }, profile, api);
  await followJob(jobId, api, () => undefined, ['delivered']);
  await chain.untilCommitted(terms);
  for (const app of ['prover-1', 'control-plane', 'key-broker'] as const) await system.kill(app);
  await settleEscrow(chain.escrow, terms, await chain.now(), ownSeed(profile, jobId));
  expect(await chain.escrow.duties.undischarged(terms)).not.toEqual([]);
  const started = system.start('prover-1');
  started.catch(() => undefined);
  const rpc = new JsonRpcProvider(system.urls['chain']);
  // Past half of the time to prove: what the control plane did not take is brought all the same.
  await rpc.send('evm_increaseTime', [Math.ceil(0.6 * terms.windows.prove)]);
  await rpc.send('evm_mine', []);
  rpc.destroy();
  await expect.poll(() => chain.escrow.duties.undischarged(terms), { timeout: 150_000 }).toEqual([]);
  await system.start('control-plane');
  await started;
}, 600_000);
