/**
 * One data-parallel job on two nodes beside the same steps as a plain job on one: the embedded system with two host agents
 * and their enclaves, one thread each. Timed between the first checkpoint and the last, when all who take part are at work;
 * runs alternate. Two processes can only be quicker where two cores are free, and no quicker than two bare engines at once
 * are to one: that ceiling of the machine is measured beside.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  followJob,
  loadProfile,
  openApi,
  sealFiles,
  submitJob,
  type Profile,
  type ServerEvent,
  type SubmitRequest,
} from '#libs/client';
import { writeWhole } from '#libs/client/files';
import { canonicalManifest, profileManifest } from '#libs/step';
import { mnistFiles } from '../../apps/cli/src/demo/mnist.js';
import { startEmbedded } from '../../apps/cli/src/system/embedded.js';
import { enginesAtOnce } from './parallel/engines.js';
import { phasesOf, type Phases } from './parallel/phases.js';
import type { BenchResult } from './result.js';

const runs = Number(process.env['VERITRAIN_PARALLEL_RUNS'] ?? 3);
/** Timed from the checkpoint of the first to that of the last but one: the last ends in the result. */
const rounds = 4;
/** Sixteen passes over the data. A border costs the same half second whatever lies between two of them. */
const segmentSteps = Number(process.env['VERITRAIN_PARALLEL_STEPS'] ?? 1872);
const workers = 2;
const manifest = profileManifest('fx1', {
  ...{ dims: [784, 256, 128, 64, 10], batch: 512, e: 12, steps: rounds * workers * segmentSteps },
  seed: '0x2286f594e2d9d4f86cd48a448da1879709cdd33fcbcdefef2e14a88b9367a120',
});

export async function run(): Promise<BenchResult[]> {
  const folder = mkdtempSync(join(tmpdir(), 'veritrain-bench-'));
  const vendorFile = join(tmpdir(), 'veritrain-test-simulated-vendor.json');
  const system = await startEmbedded({ folder: join(folder, 'system'), vendorFile, nodes: workers });
  try {
    const profile = loadProfile(system.profileFile);
    const request = await prepared(folder, profile, system.provider);
    const [one, two, ceilings]: [number[], number[], number[]] = [[], [], []];
    const phases: Phases[] = [];
    for (let run = 0; run < runs; run++) {
      ceilings.push(await ceiling());
      one.push(speedOf(await trained(request, profile)));
      const events = await trained({ ...request, parallel: workers }, profile);
      two.push(speedOf(events));
      phases.push(phasesOf(events));
    }
    const times = two.map((value, at) => value / one[at]!);
    const ofRounds = (name: string, phase: keyof Phases): BenchResult =>
      summary(
        `a round: ${name}`,
        'ms',
        phases.flatMap((all) => all[phase]),
      );
    const shape = `${manifest.dims.join('-')} batch ${manifest.batch}, ${segmentSteps} steps a segment`;
    return [
      summary(`one process, ${shape}`, 'samples/s', one),
      summary(`${workers} processes, ${shape}`, 'samples/s', two),
      summary(`${workers} processes to one, ${shape}`, 'times', times),
      summary(`${workers} bare engines at once to one, the ceiling of this machine`, 'times', ceilings),
      summary(
        'share of the ceiling',
        '%',
        times.map((value, at) => (100 * value) / ceilings[at]!),
      ),
      ofRounds('from its start to the last claim', 'claim'),
      ofRounds('from there to the first partial', 'train'),
      ofRounds('from the first partial to the last', 'straggle'),
      ofRounds('from there to the average', 'average'),
    ];
  } finally {
    await system.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function prepared(folder: string, { broker }: Profile, provider: string): Promise<SubmitRequest> {
  const [file, dataset] = [join(folder, 'manifest.json'), join(folder, 'dataset')];
  writeWhole(file, canonicalManifest(manifest));
  const idx = { images: mnistFiles.trainImages, labels: mnistFiles.trainLabels };
  const key = join(broker.keysFolder, 'mnist.json');
  await sealFiles({ manifest: file, ...idx, out: dataset, key });
  return { manifest: file, dataset, segmentSteps, provider, rewardWei: 10n ** 15n };
}

/** What two bare engines at once do, to what one does. */
async function ceiling(): Promise<number> {
  const [alone, together] = [1, workers].map((count) => () => enginesAtOnce(manifest, segmentSteps, count));
  const one = await alone!();
  return (await together!()) / one;
}

/** The job's events until it is delivered. */
async function trained(request: SubmitRequest, profile: Profile): Promise<ServerEvent[]> {
  const api = openApi(profile);
  const { jobId } = await submitJob(request, profile, api);
  const events: ServerEvent[] = [];
  await followJob(jobId, api, (event) => events.push(event), ['delivered', 'settled']);
  return events;
}

/** Samples a second from the first checkpoint to the last. */
function speedOf(events: readonly ServerEvent[]): number {
  const seen = events
    .filter(({ type }) => type === 'checkpoint')
    .map(({ data }) => data as { step: number; at: string });
  const [first, last] = [seen[0]!, seen.at(-1)!];
  return (1000 * (last.step - first.step) * manifest.batch) / (Date.parse(last.at) - Date.parse(first.at));
}

function summary(name: string, unit: string, values: readonly number[]): BenchResult {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (index: number): number => Math.round(1000 * sorted[index]!) / 1000;
  return { name, unit, n: sorted.length, min: at(0), median: at(sorted.length >> 1), max: at(sorted.length - 1) };
}
