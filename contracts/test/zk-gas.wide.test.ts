/** What a step proof of a model of use costs on chain: one transaction each, as contracts/snapshots/zk-gas.json says. */
import { readFileSync, writeFileSync } from 'node:fs';
import { AbiCoder, Interface, Transaction } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseManifest, profileManifest, type Loss, type Manifest, type ProfileParameters } from '#libs/step';
import { createEngine, KernelBackend } from '#libs/zk';
import { profiles } from '#libs/zk/verifier';
import { testSeed } from '../../libs/zk/src/testing/segments.js';
import { artefact, hardfork, openStepVerifier, transactionGasMax, type StepVerifierOnChain } from './zk-chain.js';
import { encodeSeal, sealSegment, type SealFields } from './zk-seal.js';

/** What the usual mempools carry. */
const transactionBytesMax = 131_072;
const settlement = new Interface(artefact('Settlement').abi);
const snapshotFile = new URL('../snapshots/zk-gas.json', import.meta.url);

const backend = new KernelBackend(createEngine({ rowLogMax: 16 }));
let stepVerifier: StepVerifierOnChain;
beforeAll(async () => {
  stepVerifier = await openStepVerifier();
});
afterAll(() => stepVerifier?.stop());

/** Squared errors of the test's random records are large: they need room, and small steps. */
function gasManifest(parameters: Omit<ProfileParameters, 'e'>): Manifest {
  if (parameters.loss === 'softmax-ce') return profileManifest('fx1', { ...parameters, e: 8 });
  return parseManifest({ ...profileManifest('fx1', { ...parameters, e: 11 }), g: [10, 8] });
}

/** Gas and bytes of one accepted proof of 784-64-10, batch 64. */
async function measure(profile: string, superblock: number, loss: Loss['kind'] = 'softmax-ce') {
  const dims = [784, 64, 10];
  const manifest = gasManifest({ dims, batch: 64, steps: 64, seed: testSeed, superblock, loss });
  const { fields, digest } = sealSegment(backend, { manifest, profile: profiles.get(profile)! });
  expect(await stepVerifier.judgeStrictly(fields, digest)).toBe('accepted');
  const { signer, verifier } = stepVerifier;
  const data = verifier.interface.encodeFunctionData('verify', [encodeSeal(fields), digest]);
  const sent = await signer.sendTransaction({ to: verifier.target, data, gasLimit: transactionGasMax });
  const receipt = await sent.wait();
  return {
    profile,
    loss,
    superblock,
    gas: Number(receipt!.gasUsed),
    proofBytes: fields.proof.length,
    calldataBytes: data.length / 2 - 1,
    dischargeBytes: dischargeBytes(fields),
  };
}

/** Bytes of the signed transaction that discharges a segment of the longest run with this seal. */
function dischargeBytes(fields: SealFields): number {
  const border = new Uint8Array(32).fill(1);
  const path = new Array<Uint8Array>(12).fill(border);
  const terms = AbiCoder.defaultAbiCoder().decode([settlement.getFunction('discharge')!.inputs[0]!], fields.terms)[0];
  const data = settlement.encodeFunctionData('discharge', [
    terms,
    3999,
    [border, border, path, path],
    encodeSeal(fields),
  ]);
  const sent = Transaction.from({
    ...{ to: `0x${'f'.repeat(40)}`, data, chainId: 31337, nonce: 2 ** 20, type: 2, gasLimit: transactionGasMax },
    ...{ maxFeePerGas: 10n ** 18n, maxPriorityFeePerGas: 10n ** 18n },
    signature: { r: `0x${'ff'.repeat(31)}01`, s: `0x${'7f'.repeat(32)}`, v: 27 },
  });
  return sent.serialized.length / 2 - 1;
}

describe('gas', () => {
  it('of proofs of 784-64-10, batch 64, in one transaction each', { timeout: 900_000 }, async () => {
    const proofs = [
      await measure('chain1', 1),
      await measure('chain1', 4),
      await measure('chain26', 16),
      await measure('chain64', 64),
      await measure('chain1', 1, 'mse'),
      await measure('chain26', 16, 'mse'),
    ];
    const { chain, verifier, relations } = stepVerifier;
    const addresses = { ZkStepVerifier: verifier.target, ...relations };
    const codeBytes: Record<string, number> = {};
    for (const [name, address] of Object.entries(addresses))
      codeBytes[name] = (await chain.getCode(address)).length / 2 - 1;
    const text = `${JSON.stringify({ hardfork, proofs, codeBytes }, undefined, 2)}\n`;
    if (process.env['VERITRAIN_BLESS'] === '1') writeFileSync(snapshotFile, text);
    expect(text).toBe(readFileSync(snapshotFile, 'utf8'));
    for (const { superblock, gas, dischargeBytes } of proofs) {
      expect(gas).toBeLessThanOrEqual(superblock === 1 ? 6_000_000 : 8_000_000);
      expect(dischargeBytes).toBeLessThan(transactionBytesMax);
    }
    expect(Math.max(...Object.values(codeBytes))).toBeLessThan(24_576);
  });
});
