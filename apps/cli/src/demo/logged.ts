/** What a demo's own log shows of its job, by the bundle alone. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Rejection } from '#attestation/base';
import { parseBundle } from '#attestation/records';

interface LogCheck {
  readonly id: string;
  readonly status: string;
  readonly got: string;
}

export interface DemoLog {
  readonly met: number;
  readonly total: number;
  /** Organisations other than the log's own that saw it. */
  readonly independent: 0;
  /** Trust policy, for `bundle verify --log-policy`. */
  readonly policy: string;
}

const loggedWithinMs = 60_000;
const pauseMs = 200;
/** What a newer log would say, which nobody was asked for. */
const unasked = 'LOG_REVOKED';

/** The bundle is there at once, its log when the witness has seen it. */
export async function untilLogged(fetch: () => Promise<Uint8Array>): Promise<Uint8Array> {
  const until = performance.now() + loggedWithinMs;
  for (;;) {
    const bundle = await fetch();
    const read = parseBundle(bundle);
    if ((read.version === 4 && read.log !== undefined) || performance.now() > until) return bundle;
    await sleep(pauseMs);
  }
}

/** @throws Rejection DEMO_LOG where the log does not show what it should */
export function logOf(checks: readonly LogCheck[], policy: string): DemoLog {
  const ofLog = checks.filter(({ id }) => id.startsWith('LOG_'));
  const met = ofLog.filter(({ status }) => status === 'met');
  const open = ofLog.find(({ id, status }) => status !== 'met' && id !== unasked);
  if (open !== undefined || met.length === 0) {
    throw new Rejection('DEMO_LOG', {
      expected: 'a bundle whose log shows all that it should',
      got: open === undefined ? 'nothing logged' : `${open.id}: ${open.got}`,
      rule: 'attestation/LOG.md §4',
      action: 'read the log files of control plane, key broker, log and witness',
    });
  }
  return { met: met.length, total: ofLog.length, independent: 0, policy };
}

export function logLine({ met, total, independent, policy }: DemoLog): string {
  const rest = met === total ? '' : ` (${unasked}: no newer log was asked)`;
  return `${met} of ${total} checks met${rest}; log and witness are this demo's own, ${independent} independent: ${policy}`;
}
