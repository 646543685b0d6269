/** What a reader asks first of the machines: which code they ran, and whether a vendor took their certificates back. */
import type { BundleVerdict, Check } from '#libs/review';
import { utc } from './text.js';
import { revokedWords, words } from './words.js';

type Line = readonly [name: string, value: string];

/** Each measurement once, in the order of the sessions; one that no accepted session has is called so. */
export function codeLines({ sessions }: Pick<BundleVerdict, 'sessions'>): readonly Line[] {
  const lines = new Map<string, Line>();
  for (const { instance, tier } of sessions) {
    if (instance === undefined) continue;
    const isAccepted = tier === 'affirming' || tier === 'warning';
    const name = isAccepted ? words.code : words.codeRefused;
    const { measurement } = instance;
    lines.set(`${name} ${measurement}`, [name, measurement]);
  }
  return [...lines.values()];
}

const ofGpu = ['NVIDIA_CERTIFICATE_REVOKED', 'NVIDIA_CERTIFICATE_ON_HOLD'];
const ofRevocation: ReadonlySet<string> = new Set(['SNP_REVOKED', 'QUOTE_REVOKED', ...ofGpu]);

/** As of the time of the judgement; nothing where no machine took part. */
export function revokedLine({ checks }: Pick<BundleVerdict, 'checks'>, at: number): readonly Line[] {
  const own = checks.filter(({ id }) => ofRevocation.has(id)).map(({ status }) => stateOf(status));
  const isGpuOpen =
    checks.some(({ id }) => id.startsWith('NVIDIA_')) && !checks.some(({ id }) => id === 'NVIDIA_CERTIFICATE_REVOKED');
  if (isGpuOpen) own.push('unknown');
  const worst = (['yes', 'unknown', 'no'] as const).find((state) => own.includes(state));
  return worst === undefined ? [] : [[words.revoked, `${revokedWords[worst]}, as of ${utc(at)} UTC`]];
}

/** Of a line: what its reader must not pass over. */
export const isRevoked = (name: string, value: string): boolean =>
  name === words.revoked && value.startsWith(revokedWords.yes);

function stateOf(status: Check['status']): keyof typeof revokedWords {
  if (status === 'met') return 'no';
  return status === 'refused' || status === 'forged' ? 'yes' : 'unknown';
}
