/**
 * The main job, end to end, as an enterprise client would do it: seal a data set, submit a job, fund its escrow, watch
 * an attested enclave train, check the evidence, pay for the result and use the model.
 */
import { join, resolve } from 'node:path';
import { type Check } from '#attestation';
import { Rejection } from '#attestation/base';
import {
  fetchBundle,
  fetchResult,
  followJob,
  loadProfile,
  openApi,
  sealFiles,
  submitJob,
  type CheckedResult,
  type Profile,
  type ServerEvent,
} from '#libs/client';
import { readPolicy, verifyBundleFile } from '#libs/client/judging';
import { readBytes, writeWhole } from '#libs/client/files';
import { inputsCache, type InputSources } from '#libs/guest';
import { canonicalManifest, floatOnnx } from '#libs/step';
import { startDevelopmentGuests } from '../guest/development-machine.js';
import { eventLine } from '../job/event-line.js';
import { startEmbedded, type EmbeddedSystem } from '../system/embedded.js';
import { consoleLine } from './console-line.js';
import { logOf, untilLogged, type DemoLog } from './logged.js';
import { mnistFiles, mnistManifest, stepsPerEpoch, testSet } from './mnist.js';
import { showProgress } from '../progress.js';
import { createPhases, type Phases } from './phases.js';
import { accuracyOf } from './score.js';
import { enclaveTimings, type EnclaveTimings } from './timings.js';

export interface DemoReport {
  readonly testAccuracy: number;
  readonly stateDigest: string;
  readonly weightsDigest: string;
  readonly bundle: string;
  readonly model: string;
  readonly settled: boolean;
  readonly transactionHash: string;
  readonly jobId: string;
  readonly verdict: string;
  /** The hardware was simulated: this run shows the software, not a machine. */
  readonly simulated: boolean;
  readonly checks: { readonly met: number; readonly warned: number; readonly total: number };
  readonly log: DemoLog;
  readonly samplesPerSecond: number;
  readonly seconds: Readonly<Record<string, number>>;
  readonly enclave: EnclaveTimings;
}

const accuracyMin = 0.97;
const modelBytesMax = 2 ** 28;
const rewardWei = 10n ** 18n;
/** A commitment costs 15 ms, an epoch 400: every second epoch keeps it well below one twentieth. */
const checkpointEpochs = 2;

interface DemoOptions {
  readonly folder: string;
  readonly epochs: number;
  /** Whether the enclave runs in a guest under QEMU; a process of this machine where not. */
  readonly guest?: boolean | undefined;
}

/** @throws ConfigurationError GUEST_QEMU_ABSENT and others as startDevelopmentGuests, for a guest */
export async function runDemo(options: DemoOptions): Promise<DemoReport> {
  const phases = createPhases();
  const folder = resolve(options.folder);
  if (options.guest !== true) return runIn(folder, options.epochs, phases, null);
  const guests = await phases.run('guest', () => startGuests(join(folder, 'guest'), phases.show));
  try {
    return await runIn(folder, options.epochs, phases, guests);
  } finally {
    await guests.stop();
  }
}

type Guests = Awaited<ReturnType<typeof startDevelopmentGuests>>;

function startGuests(folder: string, show: (line: string) => void): Promise<Guests> {
  const onProgress: InputSources['onProgress'] = ({ stage, done, of, unit }) =>
    show(`${stage} ${done} of ${of} ${unit}`);
  return startDevelopmentGuests(folder, show, { cache: inputsCache, onProgress });
}

async function runIn(folder: string, epochs: number, phases: Phases, guests: Guests | null): Promise<DemoReport> {
  const home = join(folder, 'demo');
  const began = performance.now();
  const vendorFile = guests?.vendorFile ?? join(folder, 'simulated-vendor.json');
  const { enclaveAddress } = guests ?? {};
  const system = await phases.run('start', () =>
    startEmbedded({ folder: home, vendorFile, enclaveAddress, log: true, onPhase: phases.show }),
  );
  try {
    phases.say(consoleLine(system));
    const trained = await train(system, home, epochs, phases);
    const checked = await phases.run('check', () => check(trained, epochs, system.logPolicy!));
    const { result, timings, files, jobId } = trained;
    const enclave = enclaveTimings(phases.seconds.seal ?? 0, timings);
    return {
      ...checked,
      ...files,
      stateDigest: result.stateDigest,
      weightsDigest: result.weightsDigest,
      settled: true,
      transactionHash: result.settledBy,
      jobId,
      samplesPerSecond: Math.round((result.manifest.steps * result.manifest.batch) / enclave.trainSeconds),
      enclave,
      seconds: { ...phases.seconds, total: Math.round(performance.now() - began) / 1000 },
    };
  } finally {
    await system.stop();
  }
}

interface TrainedModel {
  readonly jobId: string;
  readonly profile: Profile;
  readonly result: CheckedResult;
  readonly files: { readonly bundle: string; readonly model: string };
  /** Seconds by phase, as the node reported them. */
  readonly timings: Readonly<Record<string, number>>;
}

/** The client's way from a data set to a paid model. */
async function train(system: EmbeddedSystem, home: string, epochs: number, phases: Phases): Promise<TrainedModel> {
  const profile = loadProfile(system.profileFile);
  const api = openApi(profile);
  const manifest = join(home, 'manifest.json');
  const dataset = join(home, 'dataset');
  const program = mnistManifest(epochs);
  writeWhole(manifest, canonicalManifest(program));
  const key = join(profile.broker.keysFolder, 'mnist.json');
  const idx = { images: mnistFiles.trainImages, labels: mnistFiles.trainLabels };
  await phases.run('seal', () => sealFiles({ manifest, ...idx, out: dataset, key }, showProgress({}, phases.show)));
  const segmentSteps = Math.min(checkpointEpochs, epochs) * stepsPerEpoch;
  const request = { manifest, dataset, segmentSteps, provider: system.provider, rewardWei };
  const { jobId } = await phases.run('submit', () => submitJob(request, profile, api));
  let timings: TrainedModel['timings'] = {};
  const watch = (event: ServerEvent): void => {
    if (event.type === 'delivery') timings = (event.data as Pick<TrainedModel, 'timings'>).timings;
    else phases.show(eventLine(event));
  };
  await phases.run('train', () => followJob(jobId, api, watch, ['delivered', 'settled']));
  const { policy } = readPolicy(profile.policy);
  const files = { bundle: join(home, 'job.vtb'), model: join(home, 'model.onnx') };
  const result = await phases.run('settle', async () => {
    const paid = await fetchResult(jobId, profile, policy, api);
    writeWhole(files.model, floatOnnx(program, paid.weights));
    writeWhole(files.bundle, await untilLogged(() => fetchBundle(jobId, profile, policy, api)));
    return paid;
  });
  return { jobId, profile, result, files, timings };
}

/** What a reviewer and a user do with the two files, and nothing but them. */
async function check(
  { files, profile }: TrainedModel,
  epochs: number,
  logPolicy: string,
): Promise<Pick<DemoReport, 'testAccuracy' | 'verdict' | 'simulated' | 'checks' | 'log'>> {
  const { tier, simulated, checks } = await verifyBundleFile(files.bundle, { policy: profile.policy, logPolicy });
  demand(tier === 'affirming' || tier === 'warning', 'DEMO_BUNDLE', 'a bundle that verifies', tier);
  const { images, labels } = testSet();
  const testAccuracy = await accuracyOf(readBytes(files.model, modelBytesMax), images, labels);
  demand(testAccuracy >= accuracyMin || epochs < 10, 'DEMO_ACCURACY', `at least ${accuracyMin}`, `${testAccuracy}`);
  return { testAccuracy, verdict: tier, simulated, checks: countChecks(checks), log: logOf(checks, logPolicy) };
}

function countChecks(checks: readonly Check[]): DemoReport['checks'] {
  const count = (status: Check['status']): number => checks.filter((check) => check.status === status).length;
  return { met: count('met'), warned: count('warned'), total: checks.length };
}

function demand(holds: boolean, code: string, expected: string, got: string): void {
  if (!holds) throw new Rejection(code, { expected, got, rule: 'the main job', action: 'read the log files' });
}
