/** The main job through public interfaces, with real processes and a real chain; then everything that can go wrong. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { toQuantity, Wallet } from 'ethers';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { to0x, toHex } from '#attestation/base';
import { fetchBundle, fetchResult, openChain, type CheckedResult } from '#libs/client';
import { readPolicy } from '#libs/client/judging';
import { connect } from '#libs/settlement';
import {
  encodeWeights,
  initialWeights,
  orderExamples,
  parseIdxImages,
  parseIdxLabels,
  shuffledIndices,
  stateDigest,
  type Manifest,
} from '#libs/step';
import { checkpointAt, reward, startTestSystem, stateIs, type TestSystem } from '#test/embedded';
import { smallManifest } from '#test/small-job';
import { whileStopped } from '#test/stopped';
import { Engine } from '../../enclave/src/engine/engine.js';

let test: TestSystem;
beforeAll(async () => {
  test = await startTestSystem();
}, 120_000);
afterAll(() => test?.stop());

/** What an undisturbed engine gives: the oracle of every run here. */
async function undisturbed(manifest: Manifest): Promise<{ digest: string; weights: Uint8Array }> {
  const images = parseIdxImages(new Uint8Array(readFileSync(test.files.images)));
  const labels = parseIdxLabels(new Uint8Array(readFileSync(test.files.labels)));
  const engine = await Engine.open(manifest);
  const dataset = engine.load(orderExamples(manifest, images, labels, shuffledIndices(manifest.seed, images.count)));
  const weights = await engine.train({
    dataset,
    weights: initialWeights(manifest),
    fromStep: 0,
    stepCount: manifest.steps,
  });
  await engine.close();
  return { digest: toHex(stateDigest(manifest, weights)), weights: encodeWeights(weights) };
}

async function settle(jobId: string): Promise<CheckedResult> {
  const { policy } = readPolicy(test.profile.policy);
  const result = await fetchResult(jobId, test.profile, policy, test.api);
  await fetchBundle(jobId, test.profile, policy, test.api);
  return result;
}

/** Reads every file below a folder. */
function* filesBelow(folder: string): Generator<readonly [path: string, bytes: Buffer]> {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) yield* filesBelow(path);
    else if (statSync(path).isFile()) yield [path, readFileSync(path)];
  }
}

describe('the main job', () => {
  const manifest = smallManifest();

  it('gives the state of the engine alone, verifies and is paid', async () => {
    const { jobId, terms } = await test.submit('plain', manifest, 200);
    await test.ended(jobId);
    const result = await settle(jobId);
    expect(result.stateDigest).toBe((await undisturbed(manifest)).digest);
    expect(result.verdict).toMatchObject({ tier: 'warning', simulated: true, steps: 600 });
    const chain = openChain(test.profile);
    expect((await chain.escrow.job(terms)).state).toBe('Settled');
    chain.close();
    expect((await test.api.get<{ state: string }>(`jobs/${jobId}`)).state).toBe('settled');
  });

  it('leaves no plaintext byte, data key or weight with control plane or host', async () => {
    const key = JSON.parse(readFileSync(join(test.profile.broker.keysFolder, 'plain.json'), 'utf8')) as { key: string };
    const raw = Buffer.from(key.key.slice(2), 'hex');
    const images = readFileSync(test.files.images).subarray(16);
    const { weights } = await undisturbed(manifest);
    const secrets: [string, Buffer][] = [
      ['data key', raw],
      ['data key in hexadecimal', Buffer.from(raw.toString('hex'))],
      ['data key in base64', Buffer.from(raw.toString('base64').replace(/=+$/, ''))],
      ['weights', Buffer.from(weights.subarray(8 * 784, 8 * 784 + 48))],
    ];
    for (let image = 0; image < 20; image++) {
      const pixels = images.subarray(image * 784, (image + 1) * 784);
      const start = pixels.findIndex((value, at) => value > 0 && new Set(pixels.subarray(at, at + 24)).size > 8);
      if (start >= 0) secrets.push([`image ${image}`, Buffer.from(pixels.subarray(start, start + 24))]);
    }
    expect(secrets.length).toBeGreaterThan(10);
    const places = ['control-plane', 'simulated-node-1', 'logs'].map((name) => join(test.folder, 'system', name));
    let searched = 0;
    for (const place of places) {
      for (const [path, bytes] of filesBelow(place)) {
        searched += bytes.length;
        for (const [name, secret] of secrets) expect(bytes.includes(secret), `${name} in ${path}`).toBe(false);
      }
    }
    expect(searched).toBeGreaterThan(2_000_000);
  });
});

describe('disturbances', () => {
  afterEach(() => test.gate.open());

  it('ends in the same bits and pays once when the enclave is killed in training', async () => {
    const manifest = smallManifest({ steps: 1800 });
    test.gate.holdAt(600);
    const { jobId, terms } = await test.submit('killed', manifest, 300);
    await test.told(jobId, checkpointAt(600));
    execFileSync('pkill', ['-9', '-P', String(test.system.pidOf('host-agent'))]);
    test.gate.open();
    await test.ended(jobId);
    const result = await settle(jobId);
    expect(result.stateDigest).toBe((await undisturbed(manifest)).digest);
    expect((await test.api.get<{ attempt: number }>(`jobs/${jobId}`)).attempt).toBe(2);
    expect(result.verdict.bundle.sessions).toHaveLength(2);
    const chain = openChain(test.profile);
    const { escrow } = chain;
    expect((await escrow.job(terms)).paid <= reward).toBe(true);
    chain.close();
  });

  it('goes on where it was when the control plane is killed in training', async () => {
    const manifest = smallManifest({ steps: 1800 });
    test.gate.holdAt(300);
    const { jobId } = await test.submit('restarted', manifest, 300);
    await test.told(jobId, checkpointAt(300));
    await test.system.restart('control-plane');
    test.gate.open();
    await test.ended(jobId);
    expect((await settle(jobId)).stateDigest).toBe((await undisturbed(manifest)).digest);
  });

  it('waits for a key broker and a chain that are away', async () => {
    const manifest = smallManifest();
    const dataset = await test.sealed('away', manifest);
    const { jobId } = await whileStopped([test.system.pidOf('key-broker')], async () => {
      const submitted = await test.submit('away', manifest, 200, dataset);
      // From here on the node waits for the broker, and then for the chain.
      await test.told(submitted.jobId, stateIs('assigned'));
      await whileStopped([test.system.chainPid], () => sleep(3000));
      return submitted;
    });
    await test.ended(jobId);
    expect((await settle(jobId)).verdict.tier).toBe('warning');
  });
});

describe('failures', () => {
  it('ends a diverging job with step and tensor, and refunds the client', async () => {
    const manifest = smallManifest({ e: 1 });
    const { jobId, terms } = await test.submit('diverging', manifest, 200);
    const job = await test.ended(jobId);
    expect(job).toMatchObject({ state: 'failed', code: 'GUARD_VIOLATION' });
    expect(job.reason).toMatchObject({
      step: expect.any(Number) as number,
      tensor: expect.stringMatching(/^[YGWb]\d$/) as string,
    });
    const chain = openChain(test.profile);
    await expect.poll(async () => (await chain.escrow.job(terms)).state).toBe('Stopped');
    const credit = await chain.escrow.creditOf(to0x(terms.client), terms.token);
    expect(credit).toBe(reward);
    chain.close();
  });

  it('refuses the key for a result that nobody allowed', async () => {
    const manifest = smallManifest();
    const stranger = join(test.folder, 'stranger.test-key');
    writeFileSync(stranger, `0x${'07'.repeat(32)}`);
    const original = test.profile.recipientKey;
    Object.assign(test.profile, { recipientKey: stranger });
    const { jobId } = await test.submit('stranger', manifest, 200);
    Object.assign(test.profile, { recipientKey: original });
    const job = await test.ended(jobId);
    expect(job).toMatchObject({ state: expect.stringMatching(/refused|failed/) as string, code: 'BROKER_RECIPIENT' });
  });

  it('names a shard that was changed in the store', async () => {
    const manifest = smallManifest();
    const dataset = await test.sealed('flipped', manifest);
    await test.system.kill('host-agent');
    const { jobId } = await test.submit('flipped', manifest, 200, dataset);
    const { shards } = JSON.parse(readFileSync(join(dataset, 'dataset.json'), 'utf8')) as {
      shards: { sha256: string }[];
    };
    const name = shards[0]!.sha256.slice(2);
    const stored = [...filesBelow(join(test.folder, 'system', 'control-plane'))].find(([path]) => path.includes(name));
    const [path, bytes] = stored!;
    bytes[1000]! ^= 1;
    writeFileSync(path, bytes);
    await test.system.start('host-agent');
    expect(await test.ended(jobId)).toMatchObject({ state: 'failed', code: 'SHARD_DIGEST' });
  });

  it('does not train before the escrow holds the reward', async () => {
    const manifest = smallManifest();
    const poor = join(test.folder, 'poor.test-key');
    const secret = `0x${'11'.repeat(32)}`;
    writeFileSync(poor, secret);
    const { rpcUrl, deployment, accountKey: original } = test.profile.chain;
    const rpc = connect(rpcUrl, deployment.chainId);
    // Enough for the reward, and not for gas: with less nothing is posted.
    await rpc.send('anvil_setBalance', [new Wallet(secret).address, toQuantity(reward + 1n)]);
    rpc.destroy();
    Object.assign(test.profile.chain, { accountKey: poor });
    await expect(test.submit('poor', manifest, 200)).rejects.toThrow(/CHAIN_FUNDS/);
    Object.assign(test.profile.chain, { accountKey: original });
    const { items } = await test.api.get<{ items: { state: string; code: string | null }[] }>('jobs?limit=1');
    expect(items[0]).toMatchObject({ state: 'submitted', code: 'ESCROW_MISSING' });
  });
});
