/** Seeds one after the other on one cluster; at the end, what lies on its disks. */
import { join } from 'node:path';
import { startFaultCluster, type FaultCluster } from './cluster.js';
import { openClient } from './jobs.js';
import { knownSecrets } from './known-secrets.js';
import { namespaceMissing } from './namespaces.js';
import { kinds, planOf, type Plan } from './plan.js';
import { withPlant, type PlantName } from './plant.js';
import { runSeed, type SeedReport } from './run-seed.js';
import { findSecrets } from './secrets.js';

export interface SessionReport {
  readonly seeds: readonly SeedReport[];
  /** Secrets that were found where they must not be. */
  readonly leaks: readonly string[];
  /** Kinds of faults that this machine cannot do. */
  readonly leftOut: readonly string[];
  /** How nodes are cut off from everything else, and why not by a network namespace; everybody else is by a proxy. */
  readonly partitions: { readonly nodes: 'network namespaces' | 'proxy'; readonly because: string | null };
}

interface Session {
  readonly plans: Iterable<PlanFor>;
  /** What is broken in the system on purpose. */
  readonly plant?: PlantName;
}

/** A plan, or what makes one of what the cluster can do. */
type PlanFor = Plan | ((cluster: FaultCluster) => Plan);

export const plansOf = (seeds: readonly number[]): PlanFor[] =>
  seeds.map((seed) => (cluster) => planOf(seed, cluster.kinds, cluster.parts, cluster.renews));

export async function runSession(
  { plans, plant }: Session,
  note: (line: string) => void,
  onSeed: (report: SeedReport) => void = () => undefined,
  keeps = false,
  start = startFaultCluster,
): Promise<SessionReport> {
  const cluster = await start(note, keeps, plant);
  const { system, folder } = cluster;
  try {
    const urls = [system.urls['controlPlane']!, system.urls['secondReplica'] ?? []].flat();
    const client = withPlant(
      plant,
      await openClient(join(folder, 'client'), system.profileFile, system.provider, urls),
    );
    const leftOut = kinds.filter((kind) => !cluster.kinds.includes(kind));
    const reports: SeedReport[] = [];
    for (const plan of plans) {
      const report = await runSeed(typeof plan === 'function' ? plan(cluster) : plan, cluster, client);
      reports.push(report);
      onSeed(report);
    }
    client.close();
    const leaks = findSecrets(system.folder, knownSecrets(system.folder, client));
    const because = cluster.namespaceOf('node-tls') === null ? (namespaceMissing() ?? 'embedded system') : null;
    const partitions = { nodes: because === null ? 'network namespaces' : 'proxy', because } as const;
    return { seeds: reports, leaks, leftOut, partitions };
  } finally {
    await cluster.stop();
  }
}
