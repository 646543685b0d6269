/**
 * The main job, end to end, as an enterprise client would do it: seal a data set, submit a job, fund its escrow, watch
 * an attested enclave train, check the evidence, pay for the result and use the model.
 */
import { join, resolve } from 'node:path';
import { Rejection, type Check } from '#attestation';
import { canonicalManifest, floatOnnx } from '#libs/step';
import { createApi, type ServerEvent } from '../api.js';
import { sealFiles } from '../dataset/seal-files.js';
import { readBytes, writeWhole } from '../files.js';
import { eventLine } from '../job/event-line.js';
import { followJob } from '../job/follow.js';
import { fetchResult } from '../job/result.js';
import { submitJob } from '../job/submit.js';
import { readPolicy } from '../policy.js';
import { loadProfile } from '../profile.js';
import { startEmbedded } from '../system/embedded.js';
import { verifyBundleFile } from '../bundle/verify.js';
import { mnistFiles, mnistManifest, stepsPerEpoch, testSet } from './mnist.js';
import { createPhases } from './phases.js';
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
  readonly samplesPerSecond: number;
  readonly seconds: Readonly<Record<string, number>>;
  readonly enclave: EnclaveTimings;
}

const accuracyMin = 0.97;
const rewardWei = 10n ** 18n;
/** A commitment costs 15 ms, an epoch 400: every second epoch keeps it well below one twentieth. */
const checkpointEpochs = 2;

export async function runDemo(options: { readonly folder: string; readonly epochs: number }): Promise<DemoReport> {
  const phases = createPhases();
  const folder = resolve(options.folder);
  const home = join(folder, 'demo');
  const began = performance.now();
  const system = await phases.run('start', () =>
    startEmbedded({ folder: home, vendorFile: join(folder, 'simulated-vendor.json'), onPhase: phases.show }),
  );
  try {
    const profile = loadProfile(system.profileFile);
    const api = createApi(profile.controlPlane.url, profile.controlPlane.apiKey);
    const manifestFile = join(home, 'manifest.json');
    const dataset = join(home, 'dataset');
    writeWhole(manifestFile, canonicalManifest(mnistManifest(options.epochs)));
    const sealRequest = {
      manifest: manifestFile,
      images: mnistFiles.trainImages,
      labels: mnistFiles.trainLabels,
      out: dataset,
      key: join(profile.broker.keysFolder, 'mnist.json'),
    };
    await phases.run('seal', () => sealFiles(sealRequest, phases.show));
    const { jobId } = await phases.run('submit', () =>
      submitJob(
        {
          manifest: manifestFile,
          dataset,
          segmentSteps: checkpointEpochs * stepsPerEpoch,
          provider: system.provider,
          rewardWei,
        },
        profile,
        api,
      ),
    );
    let timings: Readonly<Record<string, number>> = {};
    const watch = (event: ServerEvent): void => {
      if (event.type === 'delivery') timings = (event.data as { timings: typeof timings }).timings;
      else phases.show(eventLine(event));
    };
    await phases.run('train', () => followJob(jobId, api, watch, ['delivered', 'settled']));
    const policy = readPolicy(profile.policy);
    const result = await phases.run('settle', () => fetchResult(jobId, profile, policy.policy, api));
    const files = { bundle: join(home, 'job.vtb'), model: join(home, 'model.onnx') };
    writeWhole(files.bundle, result.bundle);
    writeWhole(files.model, floatOnnx(result.manifest, result.weights));
    return await phases.run('check', async () => {
      const verdict = await verifyBundleFile(files.bundle, { policy: profile.policy });
      const { images, labels } = testSet();
      const testAccuracy = await accuracyOf(readBytes(files.model, 2 ** 28), images, labels);
      const enclave = enclaveTimings(phases.seconds.seal ?? 0, timings);
      demand(
        testAccuracy >= accuracyMin || options.epochs < 10,
        'DEMO_ACCURACY',
        `at least ${accuracyMin}`,
        `${testAccuracy}`,
      );
      demand(
        verdict.tier === 'affirming' || verdict.tier === 'warning',
        'DEMO_BUNDLE',
        'a bundle that verifies',
        verdict.tier,
      );
      return {
        testAccuracy,
        stateDigest: result.stateDigest,
        weightsDigest: result.weightsDigest,
        ...files,
        settled: true,
        transactionHash: result.settledBy,
        jobId,
        verdict: verdict.tier,
        simulated: verdict.simulated,
        checks: countChecks(verdict.checks),
        samplesPerSecond: Math.round((result.manifest.steps * result.manifest.batch) / enclave.trainSeconds),
        enclave,
        seconds: { ...phases.seconds, total: (performance.now() - began) / 1000 },
      };
    });
  } finally {
    await system.stop();
  }
}

function countChecks(checks: readonly Check[]): DemoReport['checks'] {
  const count = (status: Check['status']): number => checks.filter((check) => check.status === status).length;
  return { met: count('met'), warned: count('warned'), total: checks.length };
}

function demand(holds: boolean, code: string, expected: string, got: string): void {
  if (!holds) throw new Rejection(code, { expected, got, rule: 'the main job', action: 'read the log files' });
}
