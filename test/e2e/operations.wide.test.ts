/**
 * Backup, upgrade and rollback as RUNBOOK.md has them, under both profiles, with a job in flight each time and sessions of two
 * images of the enclave under a policy that lists both.
 */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { parseSnpReport } from '#attestation';
import { CollateralError, toHex } from '#attestation/base';
import { parseSessionEvidence } from '#attestation/records';
import { createApi, followJob, type JobView, type Submitted } from '#libs/client';
import { checkpointAt, toldEvent } from '#test/embedded';
import {
  acceptImages,
  attestWithin,
  images,
  openDistributed,
  openEmbedded,
  setImage,
  type Operated,
} from '#test/operated';
import { findServer } from '../../apps/cli/src/system/server-process.js';
import { checkPaidOnce } from '../faults/checks.js';
import { openClient, type FaultClient } from '../faults/jobs.js';

const binaries = ['postgres', 'initdb', 'pg_dump', 'pg_restore', 'nats-server'];
const hasServers = binaries.every((binary) => {
  try {
    return findServer(binary, '') !== '';
  } catch {
    return false;
  }
});
if (!hasServers) console.warn(`SKIPPED: the distributed profile needs ${binaries.join(', ')} on this machine`);

/** Sessions are attested again after a third of it. */
const attestedSeconds = 90;
/** A node's question for a job stands for so long at most (apps/host-agent, 2 s). */
const questionMilliseconds = 2_500;
const segmentSteps = 200;
const job = { steps: 1200, segmentSteps, parallel: 1 };

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

interface Watch {
  readonly system: Operated;
  readonly client: FaultClient;
}

/** Again where nobody answers. */
async function patiently<T>(look: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await look();
    } catch (error) {
      if (!(error instanceof CollateralError)) throw error;
      await setTimeout(200);
    }
  }
}

interface NodeView {
  readonly id: string;
  readonly name: string;
}
type Attested = JobView & { readonly attestedUntil: string | null };
const jobOf = ({ client }: Watch, jobId: string) => patiently(() => client.api.get<Attested>(`jobs/${jobId}`));

/** Under the policy that is there. */
async function clientOf(system: Operated, name: string): Promise<Watch> {
  rmSync(join(system.folder, 'data-keys', 'fault-runs.json'), { force: true });
  const folder = join(system.folder, '..', name);
  const client = await openClient(folder, system.profileFile, system.provider, system.urls);
  stops.push(async () => client.close());
  return { system, client };
}

/** A job that waits at its first checkpoint. */
async function inFlight({ system, client }: Watch): Promise<Submitted> {
  system.gate.holdAt(segmentSteps);
  const submitted = await client.submit(job);
  await patiently(() => toldEvent(client.api, submitted.jobId, checkpointAt(segmentSteps)));
  return submitted;
}

/** Its session is attested again after this moment, under the policy as it is. */
async function expectRenewed(watch: Watch, jobId: string): Promise<void> {
  const until = Date.now() + 1000 * (attestedSeconds - 1);
  const look = async () => Date.parse((await jobOf(watch, jobId)).attestedUntil ?? '');
  await expect.poll(look, { timeout: 180_000, interval: 500 }).toBeGreaterThan(until);
  expect((await jobOf(watch, jobId)).state).toBe('running');
}

/** The same bits, paid once. @returns what its sessions measured, in order */
async function expectWhole({ client }: Watch, { jobId, terms }: Submitted): Promise<string[]> {
  await patiently(() => followJob(jobId, client.api, () => undefined, ['delivered', 'settled', 'failed', 'refused']));
  const { stateDigest, verdict } = await client.settle(jobId);
  expect(stateDigest).toBe(await client.undisturbed(job));
  expect(await checkPaidOnce(terms, client.profile)).toEqual([]);
  const measured = verdict.bundle.sessions.map(({ evidence }) =>
    toHex(parseSnpReport(parseSessionEvidence(evidence).cpu.report).measurement),
  );
  return [...new Set(measured)];
}

/** `node cordon`, `node drain`, `node uncordon` of the operator. */
async function steer({ system }: Watch, name: string, way: 'cordon' | 'drain' | 'ready'): Promise<void> {
  const keys = JSON.parse(readFileSync(join(system.folder, 'api-keys.test.json'), 'utf8')) as {
    readonly role: string;
    readonly key: string;
    readonly tenant?: string;
  }[];
  const { key } = keys.find(({ role, tenant }) => role === 'operator' && tenant === 'demo')!;
  const api = createApi(system.urls, key);
  const { items } = await patiently(() => api.get<{ readonly items: readonly NodeView[] }>('nodes'));
  await api.post(`nodes/${items.find((node) => node.name === name)!.id}/${way}`, {});
}

const profiles = [
  ['embedded', openEmbedded, false],
  ['distributed', openDistributed, !hasServers],
] as const;

describe.each(profiles)('the %s profile', (_profile, open, isSkipped) => {
  it.skipIf(isSkipped)(
    'is backed up, upgraded, rolled back and restored with a job in flight: each ends in the same bits, paid once',
    async () => {
      const system = await open();
      stops.push(() => system.stop());
      const [first, second] = system.nodes;
      await system.stopNode(second);
      await setTimeout(questionMilliseconds);
      attestWithin(system, attestedSeconds);
      await system.restartBroker();
      const before = await clientOf(system, 'before');

      // The policy first: it lists the new image beside the old one. A job under the former policy is in flight.
      const former = await inFlight(before);
      acceptImages(system);
      await system.restartBroker();
      await expectRenewed(before, former.jobId);
      system.gate.open();
      expect(await expectWhole(before, former)).toEqual([images.old]);
      expect((await jobOf(before, former.jobId)).attempt).toBe(1);

      const watch = await clientOf(system, 'since');
      const { client } = watch;
      const old = await inFlight(watch);
      const backup = join(system.folder, '..', 'backup');
      await system.backUp(backup);
      await system.replaceControlPlane();
      setImage(system, second, 'new');
      await system.startNode(second);
      await expectRenewed(watch, old.jobId);
      system.gate.open();
      expect(await expectWhole(watch, old)).toEqual([images.old]);
      expect((await jobOf(watch, old.jobId)).attempt).toBe(1);

      await steer(watch, first, 'cordon');
      const upgraded = await inFlight(watch);
      // Back: the first node has the old image still, and the control plane is replaced again.
      await system.replaceControlPlane();
      await steer(watch, first, 'ready');
      await expectRenewed(watch, upgraded.jobId);
      await steer(watch, second, 'drain');
      system.gate.open();
      expect(await expectWhole(watch, upgraded)).toEqual([images.new, images.old]);

      await system.stopNode(second);
      setImage(system, second, 'old');
      await system.startNode(second);
      await system.restore(backup);
      // The chain has paid the first since, and nobody has its delivery to tell; of the second the backup knows nothing.
      const known = async () => (await jobOf(watch, old.jobId)).code;
      await expect.poll(known).toBe('ESCROW_SETTLED');
      expect((await jobOf(watch, old.jobId)).state).toBe('failed');
      await expect(client.api.get(`jobs/${upgraded.jobId}`)).rejects.toMatchObject({ code: 'JOB_UNKNOWN' });
      const next = await client.submit(job);
      expect(await expectWhole(watch, next)).toEqual([images.old]);
    },
    1_500_000,
  );
});
