/** The embedded system for tests, with a client at hand. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbedded, type EmbeddedOptions, type EmbeddedSystem } from '../../apps/cli/src/system/embedded.js';
import {
  followJob,
  loadProfile,
  openApi,
  sealFiles,
  submitJob,
  type ControlPlaneApi,
  type JobView,
  type Profile,
  type ServerEvent,
  type Submitted,
} from '#libs/client';
import type { Manifest } from '#libs/step';
import { openGate, type Gate } from './gate.js';
import { writeManifest, writeSmallFiles, type SmallFiles } from './small-job.js';

export interface TestSystem {
  readonly system: EmbeddedSystem;
  readonly folder: string;
  readonly profile: Profile;
  readonly api: ControlPlaneApi;
  readonly files: SmallFiles;
  /** Seals the small data set for a manifest. @returns its folder */
  sealed(name: string, manifest: Manifest): Promise<string>;
  submit(
    name: string,
    manifest: Manifest,
    segmentSteps: number,
    dataset?: string,
    parallel?: number,
  ): Promise<Submitted>;
  /** Follows a job until it is delivered or at an end. */
  ended(jobId: string, onCheckpoint?: (step: number) => void): Promise<JobView>;
  /** Its events too. */
  followed(jobId: string, onEvent: (event: ServerEvent) => void): Promise<JobView>;
  /** The job's first event of which this is true, past ones included. @throws Error when the job ends without it */
  told(jobId: string, isIt: (event: ServerEvent) => boolean): Promise<ServerEvent>;
  /** In front of the training of all enclaves of the system. */
  readonly gate: Gate;
  stop(): Promise<void>;
}

export const reward = 10n ** 18n;
/** Of the hardware of test systems; kept between runs. */
export const vendorFile = join(tmpdir(), 'veritrain-test-simulated-vendor.json');

const ends = ['delivered', 'settled', 'refused', 'failed', 'expired', 'cancelled', 'disputed'];

/** @throws Error when the job ends without such an event */
export async function toldEvent(
  api: ControlPlaneApi,
  jobId: string,
  isIt: (event: ServerEvent) => boolean,
): Promise<ServerEvent> {
  const found: ServerEvent[] = [];
  const stop = new AbortController();
  const look = (event: ServerEvent): void => {
    if (!isIt(event)) return;
    found.push(event);
    stop.abort();
  };
  let last: JobView | undefined;
  const isOver = async (): Promise<boolean> => {
    last = await api.get<JobView>(`jobs/${jobId}`);
    return ends.includes(last.state);
  };
  await api.events(`jobs/${jobId}/events`, look, isOver, stop.signal);
  if (found[0] === undefined) {
    throw new Error(`${jobId} is ${last?.state} (${last?.code}) without the event that was waited for`);
  }
  return found[0];
}

/** A checkpoint at this step or beyond. */
export const checkpointAt =
  (step: number) =>
  ({ type, data }: ServerEvent): boolean =>
    type === 'checkpoint' && (data as { readonly step: number }).step >= step;

/** A change of the job's state to this one. */
export const stateIs =
  (state: string, code?: string) =>
  ({ type, data }: ServerEvent): boolean => {
    const change = data as { readonly to?: string; readonly code?: string | null };
    return type === 'state' && change.to === state && (code === undefined || change.code === code);
  };

/** Adds settings to those of the first node with simulated hardware, as its operator would; it reads them when it starts. */
export function setHost({ folder }: Pick<TestSystem, 'folder'>, more: Readonly<Record<string, unknown>>): void {
  const file = join(folder, 'system', 'simulated-node-1', 'host.json');
  const settings = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
  writeFileSync(file, JSON.stringify({ ...settings, ...more }));
}

/** @param controlPlane settings of the control plane beyond the usual ones */
export async function startTestSystem(
  controlPlane: Readonly<Record<string, string>> = {},
  more: Pick<EmbeddedOptions, 'attestation' | 'enclave' | 'enclaveAddress' | 'nodes' | 'provers'> &
    Partial<Pick<EmbeddedOptions, 'vendorFile'>> = {},
): Promise<TestSystem> {
  const folder = mkdtempSync(join(tmpdir(), 'veritrain-e2e-'));
  const gate = openGate(join(folder, 'gate'));
  const hostEnvironment = gate.environment;
  const system = await startEmbedded({
    ...{ folder: join(folder, 'system'), vendorFile, controlPlane, hostEnvironment },
    ...more,
  });
  const profile = loadProfile(system.profileFile);
  const api = openApi(profile);
  const files = writeSmallFiles(join(folder, 'idx'));
  const sealed = async (name: string, manifest: Manifest): Promise<string> => {
    const out = join(folder, name);
    const manifestFile = writeManifest(join(folder, `${name}.json`), manifest);
    const key = join(profile.broker.keysFolder, `${name}.json`);
    await sealFiles({ manifest: manifestFile, ...files, out, key });
    return out;
  };
  const followed: TestSystem['followed'] = (jobId, onEvent) => followJob(jobId, api, onEvent, ends);
  return {
    system,
    folder,
    profile,
    api,
    files,
    sealed,
    async submit(name, manifest, segmentSteps, dataset, parallel) {
      const folderOfData = dataset ?? (await sealed(name, manifest));
      const manifestFile = writeManifest(join(folder, `${name}.json`), manifest);
      const { provider } = system;
      return submitJob(
        { manifest: manifestFile, dataset: folderOfData, segmentSteps, provider, rewardWei: reward, parallel },
        profile,
        api,
      );
    },
    followed,
    gate,
    told: (jobId, isIt) => toldEvent(api, jobId, isIt),
    ended: (jobId, onCheckpoint) =>
      followed(jobId, ({ type, data }) => {
        if (type === 'checkpoint') onCheckpoint?.((data as { step: number }).step);
      }),
    async stop() {
      await system.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
