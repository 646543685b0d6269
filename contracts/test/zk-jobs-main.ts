/**
 * Writes contracts/cache/zk-jobs.json: jobs with genuine step proofs for ZkJobs.t.sol. A proof binds chain, escrow and
 * terms, so the escrow stands at the address that its deployer's first contract gets.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { computeAddress, getCreateAddress, keccak256, toBeHex } from 'ethers';
import { fromHex, keccak, to0x, utf8 } from '#attestation/base';
import {
  domainSeparator,
  encodeTerms,
  escrowIdOf,
  JobMode,
  segmentDigest,
  teeSelector,
  type Terms,
} from '#attestation/records';
import { manifestDigest } from '#libs/step';
import { createEngine, KernelBackend, proveSegment, type WeightSecret } from '#libs/zk';
import { planBytes, weightsDigestOf, type Variant } from '#libs/zk/verifier';
import { testManifest, testSegment } from '../../libs/zk/src/testing/segments.js';
import { contextOf } from '../../libs/zk/src/verifier/statement.js';
import { encodeSeal, selector, specDigestOf } from './zk-seal.js';

const account = (key: number): Uint8Array => fromHex(computeAddress(toBeHex(key, 32)).toLowerCase());

/** Keys, policy and seed of test/Fixture.sol. */
const [clientKey, providerKey, brokerKey] = [0xc11, 0x9999, 0xb0b];
const seedClient = fromHex(keccak256(utf8("client's seed")));
const policy = fromHex(keccak256(utf8('policy')));
const deployer = '0x000000000000000000000000000000000000de91';
const escrow = getCreateAddress({ from: deployer, nonce: 0 });
const domain = domainSeparator({ chainId: 31337, verifyingContract: fromHex(escrow.toLowerCase()) });

const steps = 2;
const manifest = testManifest({ steps });
const windows = {
  ...{ start: 60, compute: 600, finality: 0, draw: 0, challenge: 200, prove: 30, provePer: 10 },
  ...{ hold: 0, reveal: 0, ack: 0, drawBlocks: 32 },
};

interface Job {
  readonly variant: Variant;
  readonly mode: number;
  readonly samples?: number;
  readonly windows?: Partial<Terms['windows']>;
}

const jobs: Readonly<Record<string, Job>> = {
  full: { variant: 'joint', mode: JobMode.full },
  sampled: { variant: 'joint', mode: JobMode.sample, samples: 1, windows: { draw: 50 } },
  optimistic: { variant: 'joint', mode: JobMode.optimistic },
  // Weights that an enclave committed to are proved with a tree of their own.
  attested: { variant: 'separate', mode: JobMode.tee },
};

const backend = new KernelBackend(createEngine({ rowLogMax: 16 }));

/** Terms, borders and a seal for every segment of one job. */
function proveJob(name: string, job: Job) {
  const { variant } = job;
  const first = testSegment(backend, { manifest, variant });
  const { recordCount, datasetRoot } = first.input.statement;
  const plan = planBytes(first.plan);
  const spec = {
    jobSpec: keccak(utf8(name)),
    manifestDigest: manifestDigest(manifest),
    datasetRoot,
    seed: fromHex(manifest.seed),
    steps,
    recordCount,
    schedule: manifest.optimizer.m.map(([from, m]) => (BigInt(from) << 8n) | BigInt(m)),
  };
  const initialWeights = weightsDigestOf(first.input.statement.before, first.plan);
  const terms = termsOf(job, fromHex(specDigestOf(spec, plan)), initialWeights);
  const borders = [initialWeights];
  const seals: string[] = [];
  let before: WeightSecret | undefined;
  for (let index = 0; index < steps; index++) {
    const { input } = testSegment(backend, { manifest, variant, index, ...(before ? { before } : {}) });
    const weightsBefore = borders[index]!;
    const outerDigest = (weightsAfter: Uint8Array): Uint8Array =>
      segmentDigest(domain, { job: escrowIdOf(terms), index, weightsBefore, weightsAfter });
    const { proof, statement, after } = proveSegment(backend, first.plan, {
      ...input,
      statement: { ...input.statement, outerDigest },
    });
    before = after;
    borders.push(weightsDigestOf(statement.after, first.plan));
    seals.push(
      encodeSeal({
        domain,
        terms: encodeTerms(terms),
        index,
        spec,
        before: statement.before,
        afterwards: statement.after,
        data: statement.data,
        dataPath: statement.dataPath,
        sizes: Uint8Array.from(contextOf(statement, first.plan).stepSizes),
        plan,
        proof,
      }),
    );
  }
  return { terms: to0x(encodeTerms(terms)), borders: borders.map(to0x), seals };
}

function termsOf(job: Job, specDigest: Uint8Array, initialWeights: Uint8Array): Terms {
  return {
    client: account(clientKey),
    provider: account(providerKey),
    keyBroker: account(brokerKey),
    token: new Uint8Array(20),
    specDigest,
    initialWeights,
    policy,
    ...{ snpPolicy: new Uint8Array(32), planDigest: new Uint8Array(32), attestors: [], needed: 0 },
    teeSelector,
    dutySelectors: [fromHex(selector)],
    price: 90n,
    stake: 60n,
    liveness: 6n,
    bond: 10n,
    bondFee: 1n,
    publishFee: 0n,
    failShareBps: 0,
    holdbackBps: 0,
    segments: steps,
    samples: job.samples ?? 0,
    ...{ unit: 0, unitSegments: 1, parts: 1, providers: new Uint8Array(32) },
    mode: job.mode,
    seedCommitClient: keccak(seedClient),
    acceptBy: 2 ** 32,
    windows: { ...windows, ...job.windows },
  };
}

const folder = new URL('../cache/', import.meta.url);
mkdirSync(folder, { recursive: true });
const proved = Object.fromEntries(Object.entries(jobs).map(([name, job]) => [name, proveJob(name, job)]));
writeFileSync(new URL('zk-jobs.json', folder), `${JSON.stringify({ deployer, escrow, ...proved }, undefined, 1)}\n`);
