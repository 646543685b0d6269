/**
 * The main job in its shorter proved form: without trusted hardware every segment is proved and the contract verifies
 * the proofs before it pays; for high value an enclave trains and signs, and every segment is proved besides.
 */
import { randomBytes } from 'node:crypto';
import { totalmem } from 'node:os';
import { join, resolve } from 'node:path';
import { Rejection, to0x } from '#attestation/base';
import { type Assurance } from '#attestation/records';
import {
  fetchBundle,
  fetchResult,
  followJob,
  loadProfile,
  openApi,
  openChain,
  ownTerms,
  sealFiles,
  submitJob,
  type CheckedResult,
  type Profile,
  type ServerEvent,
} from '#libs/client';
import { readPolicy, verifyBundleFile } from '#libs/client/judging';
import { writeWhole } from '#libs/client/files';
import { decideAssurance, largestUnit, type ProofUnit } from '#libs/proof';
import { canonicalManifest, floatOnnx, profileManifest } from '#libs/step';
import { eventLine } from '../job/event-line.js';
import { startEmbedded, type EmbeddedSystem } from '../system/embedded.js';
import { consoleLine } from './console-line.js';
import { logOf, untilLogged, type DemoLog } from './logged.js';
import { mnistFiles, trainImages } from './mnist.js';
import { showProgress, showProofs } from '../progress.js';
import { createPhases, type Phases } from './phases.js';

interface ProvedOptions {
  readonly folder: string;
  /** Whether a node with (simulated) trusted hardware takes part. */
  readonly tee: boolean;
  readonly highValue: boolean;
  readonly steps: number;
  /** Threads of each prover. */
  readonly provers: readonly number[];
  /** Most linear memory of each prover; where absent, half of this machine's, 4 GiB at most. */
  readonly memoryMiB?: number | undefined;
}

export interface ProvedReport {
  readonly assurance: Assurance;
  readonly reason: string;
  readonly jobId: string;
  readonly steps: number;
  readonly segments: number;
  /** What one proof covers, and what was expected of all of them. */
  readonly unit: ProofUnit;
  readonly verdict: string;
  /** Status of the bundle's check of all proofs. */
  readonly proofs: string;
  readonly log: DemoLog;
  readonly simulated: boolean;
  readonly stateDigest: string;
  readonly weightsDigest: string;
  readonly settled: boolean;
  /** Segments whose proofs the contract has verified. */
  readonly provedOnChain: number;
  /** Of the transactions that carried the proofs, as paid. */
  readonly proofGas: number;
  readonly transactionHash: string;
  readonly bundle: string;
  readonly model: string;
  readonly seconds: Readonly<Record<string, number>>;
}

const rewardWei = 10n ** 18n;
/** Most that a WebAssembly memory has. */
const memoryMiBMax = 4096;

/** Of as many images as its steps read, or all, in the largest units that a prover of this machine proves. */
function shortJob(steps: number, memoryMiB: number) {
  const seed = to0x(new Uint8Array(randomBytes(32)));
  const model = profileManifest('fx1', { dims: [784, 64, 10], batch: 64, e: 8, steps, seed });
  const records = Math.min(2 ** Math.ceil(Math.log2(steps)) * model.batch, trainImages);
  return { records, ...largestUnit(model, { memoryBytes: memoryMiB * 2 ** 20, records, variant: 'separate' }) };
}

export async function runProvedDemo(options: ProvedOptions): Promise<ProvedReport> {
  const phases = createPhases();
  const began = performance.now();
  const folder = resolve(options.folder);
  const home = join(folder, options.tee ? 'high-value' : 'no-tee');
  const decision = decideAssurance(
    { requested: 'tee', priceWei: rewardWei, highValueFromWei: null, isHighValue: options.highValue },
    { hasTee: options.tee, attestedUntil: null },
    Math.floor(Date.now() / 1000),
  );
  const memoryMiB = options.memoryMiB ?? Math.min(memoryMiBMax, Math.floor(totalmem() / 2 ** 21));
  const job = shortJob(options.steps, memoryMiB);
  const provers = options.provers.map((threads) => ({ threads, memoryMiB, trains: !options.tee }));
  const system = await phases.run('start', () =>
    startEmbedded({
      ...{ folder: home, vendorFile: join(folder, 'simulated-vendor.json'), onPhase: phases.show },
      ...{ enclave: options.tee, provers, log: true },
    }),
  );
  const { manifest: _manifest, records: _records, ...unit } = job;
  try {
    phases.say(consoleLine(system));
    const done = await train(system, home, job, decision.assurance, phases);
    const checked = await phases.run('check', () => check(done, system.logPolicy!));
    return {
      ...{ ...decision, ...checked, ...done.files, jobId: done.jobId, steps: options.steps, settled: true },
      ...{ provedOnChain: done.proved, proofGas: done.gas, segments: unit.proofs, unit },
      simulated: done.result.verdict.simulated,
      stateDigest: done.result.stateDigest,
      weightsDigest: done.result.weightsDigest,
      transactionHash: done.result.settledBy,
      seconds: { ...phases.seconds, total: Math.round(performance.now() - began) / 1000 },
    };
  } finally {
    await system.stop();
  }
}

interface Done {
  readonly jobId: string;
  readonly policy: string;
  readonly result: CheckedResult;
  readonly proved: number;
  readonly gas: number;
  readonly files: { readonly bundle: string; readonly model: string };
}

async function train(
  system: EmbeddedSystem,
  home: string,
  { manifest: program, records, profile: proofProfile, steps: segmentSteps }: ReturnType<typeof shortJob>,
  assurance: Assurance,
  phases: Phases,
): Promise<Done> {
  const profile = loadProfile(system.profileFile);
  const api = openApi(profile);
  const [manifest, dataset] = [join(home, 'manifest.json'), join(home, 'dataset')];
  writeWhole(manifest, canonicalManifest(program));
  const key = join(profile.broker.keysFolder, 'mnist.json');
  const idx = { images: mnistFiles.trainImages, labels: mnistFiles.trainLabels };
  const sealing = { manifest, ...idx, out: dataset, key, provable: true, proofProfile, recordsMax: records };
  await phases.run('seal', () => sealFiles(sealing, showProgress({}, phases.show)));
  const provider = assurance === 'zk' ? system.prover : system.provider;
  const request = { manifest, dataset, segmentSteps, provider, rewardWei, assurance };
  const { jobId } = await phases.run('submit', () =>
    submitJob(request, profile, api, { onProofs: showProofs({}, phases.say) }),
  );
  const watch = (event: ServerEvent): void => phases.show(eventLine(event));
  await phases.run('work', () => followJob(jobId, api, watch, ['delivered', 'settled']));
  const { policy } = readPolicy(profile.policy);
  const result = await phases.run('settle', () => fetchResult(jobId, profile, policy, api));
  const [bundle, model] = [join(home, 'job.vtb'), join(home, 'model.onnx')];
  writeWhole(bundle, await untilLogged(() => fetchBundle(jobId, profile, policy, api)));
  writeWhole(model, floatOnnx(program, result.weights));
  return { jobId, policy: profile.policy, result, ...(await provedOnChain(jobId, profile)), files: { bundle, model } };
}

/** @throws Rejection DEMO_UNPROVED where the contract has paid for a segment that nobody proved to it */
async function provedOnChain(jobId: string, profile: Profile): Promise<Pick<Done, 'proved' | 'gas'>> {
  const terms = ownTerms(profile, jobId);
  const chain = openChain(profile);
  try {
    const { proved } = await chain.escrow.job(terms);
    if (proved === terms.segments) return { proved, gas: await chain.escrow.duties.gasOfProofs(terms) };
    const [expected, got] = [`${terms.segments} segments proved on chain`, `${proved}`];
    throw new Rejection('DEMO_UNPROVED', { expected, got, rule: 'contracts/SPEC.md §7' });
  } finally {
    chain.close();
  }
}

/** The bundle alone, as a third party would judge it. */
async function check(
  { files, policy }: Done,
  logPolicy: string,
): Promise<Pick<ProvedReport, 'verdict' | 'proofs' | 'log'>> {
  const { tier, checks } = await verifyBundleFile(files.bundle, { policy, logPolicy });
  if (tier !== 'affirming' && tier !== 'warning') {
    const open = checks.filter(({ status }) => status !== 'met' && status !== 'warned').map(({ code }) => code);
    throw new Rejection('DEMO_VERDICT', {
      expected: 'a bundle that verifies offline',
      got: `${tier}: ${open.join(', ')}`,
      rule: 'attestation/SPEC.md, bundle',
    });
  }
  const proofs = checks.find(({ code }) => code === 'BUNDLE_PROOFS')!.got;
  return { verdict: tier, proofs, log: logOf(checks, logPolicy) };
}
