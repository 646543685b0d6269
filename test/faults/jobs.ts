/** What a client of the fault runs does: one small data set, one job after the other, its result checked and paid. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  createApi,
  fetchBundle,
  fetchResult,
  loadProfile,
  openChain,
  sealFiles,
  submitJob,
  type CheckedResult,
  type ClientChain,
  type ControlPlaneApi,
  type Profile,
  type Submitted,
} from '#libs/client';
import { readPolicy } from '#libs/client/judging';
import { undisturbed } from '#test/outcome';
import { smallManifest, writeManifest, writeSmallFiles, type SmallFiles } from '#test/small-job';
import type { Plan } from './plan.js';

type JobShape = Pick<Plan, 'steps' | 'segmentSteps' | 'parallel'>;

export interface FaultClient {
  readonly api: ControlPlaneApi;
  readonly profile: Profile;
  readonly chain: ClientChain;
  readonly files: SmallFiles;
  /** Account of the nodes, and what it is paid for each job. */
  readonly provider: string;
  readonly reward: bigint;
  submit(shape: JobShape): Promise<Submitted>;
  /** Verifies, acknowledges, decrypts. */
  settle(jobId: string): Promise<CheckedResult>;
  /** Digest of the state that a run without any fault ends in. */
  undisturbed(shape: JobShape): Promise<string>;
  close(): void;
}

const reward = 10n ** 15n;

/** @param folder  of the client alone: what lies there is plaintext */
export async function openClient(
  folder: string,
  profileFile: string,
  provider: string,
  urls: readonly string[],
): Promise<FaultClient> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const profile = loadProfile(profileFile);
  const api = createApi(urls, profile.controlPlane.apiKey);
  const files = writeSmallFiles(join(folder, 'idx'));
  const manifestOf = (steps: number): string => writeManifest(join(folder, `${steps}.json`), smallManifest({ steps }));
  const dataset = join(folder, 'sealed');
  const key = join(profile.broker.keysFolder, 'fault-runs.json');
  await sealFiles({ manifest: manifestOf(100), ...files, out: dataset, key });
  const { policy } = readPolicy(profile.policy);
  const digests = new Map<string, Promise<string>>();
  const chain = openChain(profile);
  return {
    api,
    profile,
    chain,
    files,
    provider,
    reward,
    submit: ({ steps, segmentSteps, parallel }) => {
      const request = { manifest: manifestOf(steps), dataset, segmentSteps, parallel };
      return submitJob({ ...request, provider, rewardWei: reward }, profile, api);
    },
    async settle(jobId) {
      const result = await fetchResult(jobId, profile, policy, api);
      await fetchBundle(jobId, profile, policy, api);
      return result;
    },
    undisturbed({ steps, segmentSteps, parallel }) {
      // Segments leave no trace in the bits of a plain job.
      const name = parallel === 1 ? `${steps}` : `${steps} in rounds of ${parallel} times ${segmentSteps}`;
      const divided = parallel === 1 ? undefined : { segmentSteps, parallel };
      const digest = digests.get(name) ?? undisturbed({ files }, smallManifest({ steps }), divided);
      digests.set(name, digest);
      return digest;
    },
    close: () => chain.close(),
  };
}
