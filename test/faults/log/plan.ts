/** What befalls a log under a seed: which engine, how many replicas, and which faults at which of their steps. */
import { randomOf } from '../random.js';

export type LogFault =
  /** The process ends amid a step; its connection is gone with it. */
  | { readonly kind: 'kill'; readonly step: number }
  /** Stopped amid a file until its session is ended, then it goes on (SIGSTOP, SIGCONT). */
  | { readonly kind: 'sleep'; readonly step: number }
  /** No block left for some files: half of the first one is written beside its place. */
  | { readonly kind: 'disk-full'; readonly step: number; readonly files: number }
  /** The server ends its sessions. */
  | { readonly kind: 'database'; readonly step: number };

/** A backup of the rows, or of rows and newest checkpoint file, put back while nobody runs. */
export type Restore = 'rows' | 'rows-and-checkpoint';

interface Phase {
  readonly entries: number;
  /** One list for each replica that starts. */
  readonly replicas: readonly (readonly LogFault[])[];
  /** Before the phase: what is put back of the backup that was taken at the end of the first phase. */
  readonly restore: Restore | null;
}

export interface LogPlan {
  readonly seed: number;
  readonly engine: 'server' | 'embedded';
  readonly phases: readonly Phase[];
}

/** Every fourth seed is of the embedded database, which one process has; a backup is restored under every third. */
export function planOf(seed: number): LogPlan {
  const random = randomOf(seed);
  const engine = seed % 4 === 3 ? 'embedded' : 'server';
  const most = engine === 'server' ? 3 : 1;
  const fault = (): LogFault => {
    const step = random.whole(0, 120);
    const kind = random.pick(['kill', 'kill', 'sleep', 'disk-full', 'database'] as const);
    if (kind === 'disk-full') return { kind, step, files: random.whole(1, 4) };
    // The embedded database has no session that somebody else could end.
    return engine === 'embedded' && kind !== 'kill' ? { kind: 'kill', step } : { kind, step };
  };
  const phase = (restore: Restore | null): Phase => ({
    entries: random.whole(4, 24),
    replicas: Array.from({ length: random.whole(1, most) }, () => Array.from({ length: random.whole(1, 3) }, fault)),
    restore,
  });
  const restore = seed % 3 === 0 ? random.pick(['rows', 'rows-and-checkpoint'] as const) : null;
  return { seed, engine, phases: [phase(null), phase(null), phase(restore)] };
}
