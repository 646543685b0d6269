/** Nodes of the first node's operator that its jobs may move to; each starts when it is asked for. */
import { startApp, type RunningProcess } from './process.js';
import { hostOperator, layOutHost, layOutProver, type HostOptions, type Site } from './site.js';

export type Successor = 'host-agent-2' | 'host-prover';

export type HostParts = Omit<HostOptions, 'name'> & {
  readonly environment?: Readonly<Record<string, string>> | undefined;
};

/** @param host where to dial in, and the file of another simulated vendor */
export function successors(
  site: Site,
  { environment, ...host }: HostParts,
): Readonly<Record<Successor, () => Promise<RunningProcess>>> {
  const settings = layOutHost(site, { ...host, name: 'simulated-node-2' });
  const env = { VERITRAIN_HOST_SETTINGS: settings, ...environment };
  const prover = layOutProver(site, { ...host, name: 'host-prover', operator: hostOperator(site), threads: 2 });
  return {
    'host-agent-2': () => startApp('host-agent', site.logs, env, [], 'host-agent-2'),
    'host-prover': () => startApp('prover-worker', site.logs, { VERITRAIN_PROVER_SETTINGS: prover }, [], 'host-prover'),
  };
}
