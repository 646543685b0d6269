/** What a preflight found, as the control plane keeps it for the operator's page: `--post`. */
import { preflightLimits, type PreflightCheck, type PreflightReport as Posted } from '#libs/wire';
import { visibleText } from '#libs/review/text';
import { apiOf } from '../connection.js';
import type { HostReport } from '../host/report.js';
import { log } from '../output.js';
import type { Finding } from './findings.js';
import type { PreflightReport } from './preflight.js';

export interface PostOptions {
  /** Id of the node. */
  readonly post?: string;
  readonly url?: string;
  readonly apiKey?: string;
}

/**
 * Says on stderr where it went; where it went nowhere, what was found.
 * @throws ConfigurationError, Rejection NODE_UNKNOWN, REQUEST_MALFORMED
 */
export async function postPreflight(options: PostOptions, report: Posted, readable: () => string): Promise<void> {
  const { post: node, url, apiKey } = options;
  if (node === undefined) return;
  try {
    const api = apiOf({ ...(url !== undefined && { url }), ...(apiKey !== undefined && { apiKey }) });
    const { id } = await api.post<{ readonly id: string }>(`nodes/${encodeURIComponent(node)}/preflight`, report);
    log(visibleText(`posted as preflight ${id} of node ${node}`));
  } catch (error) {
    log(readable());
    throw error;
  }
}

export function postedHost({ simulated, checks }: HostReport, at: Date): Posted {
  return { kind: 'host', simulated, at: at.toISOString(), policy: null, checks: checksOf(checks) };
}

/** @param simulated the evidence came of no hardware */
export function postedPolicy({ ok, appraisal, at, policy, findings }: PreflightReport, simulated: boolean): Posted {
  const verdict: PreflightCheck = {
    name: 'the policy',
    state: ok ? 'ok' : 'missing',
    ...{ found: appraisal ?? 'no evidence could be collected', expected: 'affirming or warning' },
    action: ok ? '' : 'mend what is missing below, then ask again',
  };
  const checks = checksOf([verdict, ...findings.map(checkOf)]);
  const when = new Date(1000 * at).toISOString();
  return { kind: 'policy', simulated, at: when, policy: cut(policy, preflightLimits.name), checks };
}

function checkOf({ area, weight, code, expected, got, action }: Finding): PreflightCheck {
  return {
    name: `${area}: ${code}`,
    state: weight === 'blocking' ? 'missing' : 'warning',
    found: got,
    expected,
    action,
  };
}

/** What is missing first, where not all have room. */
function checksOf(checks: readonly PreflightCheck[]): PreflightCheck[] {
  const weight = { missing: 0, warning: 1, ok: 2, skipped: 3 } as const;
  const all = checks.map(({ name, state, found, expected, action }) => ({
    name: cut(name, preflightLimits.name),
    state,
    found: cut(found, preflightLimits.text),
    expected: cut(expected, preflightLimits.text),
    action: cut(action, preflightLimits.text),
  }));
  if (all.length <= preflightLimits.checks) return all;
  return all.toSorted((a, b) => weight[a.state] - weight[b.state]).slice(0, preflightLimits.checks);
}

/** Lines and what hides in them become blanks: what is posted is shown to people. */
function cut(text: string, most: number): string {
  const plain = text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu, ' ');
  return plain.length <= most ? plain : `${plain.slice(0, most - 1).replace(/\p{Cs}$/u, '')}…`;
}
