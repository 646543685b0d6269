/** What a set of contracts says of plans of step proofs, which decides whether a job with proofs is worth money. */
import type { JsonRpcProvider } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { profileManifest } from '#libs/step';
import { derivePlan, profileNamed, type Plan } from '#libs/zk/verifier';
import { walletOf } from '#test/escrow-market';
import { forgetProfile } from '#test/older-floor';
import { startAnvil, type Anvil } from './anvil.js';
import { connect } from './chain.js';
import { deploy } from './deploy.js';
import type { Deployment } from './deployment.js';
import { takesPlan } from './takes-plan.js';

let anvil: Anvil;
let chain: JsonRpcProvider;
let deployment: Deployment;
beforeAll(async () => {
  anvil = await startAnvil();
  chain = connect(anvil.url, anvil.chainId, 20);
  deployment = await deploy(walletOf('deployer').connect(chain));
});
afterAll(async () => {
  chain?.destroy();
  await anvil?.stop();
});

/** Of a job of so many steps in segments of `superblock`. */
function plan(profile: string, superblock: number): Plan {
  const sizes = { dims: [784, 64, 10], batch: 64, e: 5, steps: 2048, superblock };
  const manifest = profileManifest('fx1', { ...sizes, seed: `0x${'5e'.repeat(32)}` });
  return derivePlan(manifest, profileNamed(profile), 'separate');
}
const takes = (asked: Plan, set: Parameters<typeof takesPlan>[0] = deployment) => takesPlan(set, chain, asked);

describe('a set of contracts', () => {
  it.each([
    ['chain26', 16],
    ['chain64', 64],
    ['chain256', 256],
    ['unit2048', 64],
  ])('of today takes plans under %s', async (profile, superblock) => {
    expect(await takes(plan(profile, superblock))).toBe(true);
  });

  it.each([
    ['chain26', 16],
    ['unit2048', 64],
  ])('takes no plan under %s with fewer queries than its floor has', async (profile, superblock) => {
    const weaker = { ...plan(profile, superblock), profile: { ...profileNamed(profile), queries0: 20 } };
    expect(await takes(weaker)).toBe(false);
  });

  it('takes no plan under a profile that its floor never had', async () => {
    expect(await takes(plan('fast16', 16))).toBe(true);
    expect(await takes(plan('large', 16))).toBe(false);
  });

  it('takes nothing where it has no verifier, or none stands', async () => {
    const { zkStepVerifier, extensions } = deployment;
    const { zkUnitMatmuls: _, ...noUnits } = extensions!;
    expect(await takes(plan('chain256', 256), { zkStepVerifier, extensions: {} })).toBe(false);
    expect(await takes(plan('unit2048', 64), { zkStepVerifier, extensions: noUnits })).toBe(false);
    expect(await takes(plan('chain26', 16), { zkStepVerifier: walletOf('client').address })).toBe(false);
  });

  it('from before a profile takes none of its plans, and those that it knew', async () => {
    for (const [forgotten, superblock] of [
      ['unit2048', 64],
      ['chain26', 16],
    ] as const) {
      await forgetProfile(chain, deployment, forgotten);
      expect(await takes(plan(forgotten, superblock))).toBe(false);
    }
    expect(await takes(plan('chain256', 256))).toBe(true);
    expect(await takes(plan('chain64', 64))).toBe(true);
  });

  it('says nothing where the chain is away, or answers with no reason', async () => {
    const away = connect('http://127.0.0.1:9', 31_337, 20);
    try {
      const asked = takesPlan(deployment, away, plan('chain26', 16));
      await expect(asked).rejects.toMatchObject({ family: 'collateral', code: 'CHAIN_UNREACHABLE' });
    } finally {
      away.destroy();
    }
    // REVERT without data, as endpoints answer that cut it.
    await chain.send('anvil_setCode', [deployment.zkStepVerifier, '0x5f5ffd']);
    await expect(takes(plan('chain64', 64))).rejects.toMatchObject({ code: 'CHAIN_REVERT' });
  });
});
