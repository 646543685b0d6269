/** Nodes of the first node's operator that its jobs may move to; each starts when it is asked for. */
import { startApp, type RunningProcess } from './process.js';
import { hostOperator, layOutHost, layOutProver, type HostOptions, type Site } from './site.js';

export type Successor = 'host-agent-2' | 'host-prover';

/** @param options where to dial in, and the file of another simulated vendor */
export function successors(
  site: Site,
  options: Omit<HostOptions, 'name'>,
): Readonly<Record<Successor, () => Promise<RunningProcess>>> {
  const host = layOutHost(site, { ...options, name: 'simulated-node-2' });
  const prover = layOutProver(site, { ...options, name: 'host-prover', operator: hostOperator(site), threads: 2 });
  return {
    'host-agent-2': () => startApp('host-agent', site.logs, { VERITRAIN_HOST_SETTINGS: host }, [], 'host-agent-2'),
    'host-prover': () => startApp('prover-worker', site.logs, { VERITRAIN_PROVER_SETTINGS: prover }, [], 'host-prover'),
  };
}
