/** What every run of a job must come to, whatever happened to it: the same bits, paid once. */
import { readFileSync } from 'node:fs';
import { Contract, type JsonRpcProvider } from 'ethers';
import { expect } from 'vitest';
import { toHex } from '#attestation/base';
import { escrowIdOf, type Terms } from '#attestation/records';
import type { ClientChain } from '#libs/client';
import { settlementAbi } from '#libs/settlement';
import {
  averageWeights,
  divideSteps,
  initialWeights,
  orderExamples,
  parseIdxImages,
  parseIdxLabels,
  shuffledIndices,
  stateDigest,
  type Divided,
  type Manifest,
  type Weights,
} from '#libs/step';
import { Engine } from '../../enclave/src/engine/engine.js';
import type { TestSystem } from './embedded.js';

/** State digest of a run of the engine alone, hexadecimal; in rounds where the job has several workers. */
export async function undisturbed(
  { files }: Pick<TestSystem, 'files'>,
  manifest: Manifest,
  divided: Divided = { segmentSteps: manifest.steps },
): Promise<string> {
  const images = parseIdxImages(new Uint8Array(readFileSync(files.images)));
  const labels = parseIdxLabels(new Uint8Array(readFileSync(files.labels)));
  const engine = await Engine.open(manifest);
  const dataset = engine.load(orderExamples(manifest, images, labels, shuffledIndices(manifest.seed, images.count)));
  const { workers, segmentSteps, rounds } = divideSteps(manifest, divided);
  let weights = initialWeights(manifest);
  for (let round = 0; round < rounds; round++) {
    const models: Weights[] = [];
    for (let worker = 0; worker < workers; worker++) {
      const fromStep = (round * workers + worker) * segmentSteps;
      const stepCount = Math.min(segmentSteps, manifest.steps - fromStep);
      models.push(await engine.train({ dataset, weights, fromStep, stepCount }));
    }
    weights = averageWeights(manifest, models);
  }
  await engine.close();
  return toHex(stateDigest(manifest, weights));
}

export interface Watched {
  readonly test: TestSystem;
  readonly chain: ClientChain;
  readonly rpc: JsonRpcProvider;
}

/** How often the chain that is there now has seen an event of this job. */
export async function seen({ test, rpc }: Watched, event: string, terms: Terms): Promise<number> {
  const contract = new Contract(test.profile.chain.deployment.settlement, settlementAbi, rpc);
  return (await contract.queryFilter(contract.getEvent(event)(escrowIdOf(terms)), 0)).length;
}

export async function expectPaidOnce(watched: Watched, jobId: string, terms: Terms): Promise<void> {
  const { test, chain } = watched;
  expect((await chain.escrow.job(terms)).state).toBe('Settled');
  for (const event of ['JobOpened', 'JobAccepted', 'JobCommitted', 'KeyRevealed', 'JobEnded']) {
    expect([event, await seen(watched, event, terms)]).toEqual([event, 1]);
  }
  expect(await test.api.get(`jobs/${jobId}`)).toMatchObject({ state: 'settled', escrowState: 'settled' });
  await expect.poll(() => chain.escrow.creditOf(test.system.provider, terms.token), { timeout: 20_000 }).toBe(0n);
}
