/** What `veritrain host preflight` says: the host's parts, and, with a report of the machine, its firmware and certificate. */
import { readPolicy } from '#libs/client/judging';
import { checkHost, readHostFacts, type HostCheck } from '#libs/guest';
import { firmwareChecks } from './firmware.js';

export interface HostReport {
  /** Nothing that the profile needs is missing. */
  readonly ok: boolean;
  readonly profile: 'snp' | 'dev';
  readonly simulated: boolean;
  readonly checks: readonly HostCheck[];
}

interface HostQuestion {
  readonly profile: 'snp' | 'dev';
  readonly qemu: string;
  readonly memory: number;
  readonly root: string;
  readonly stateDirectory: string;
  readonly policy?: string;
  readonly report?: string;
  readonly vcek?: string;
  readonly crl?: string;
  readonly offline?: boolean;
  readonly cache: string;
}

/** Image, ciphertexts and what is owed. */
const diskMiB = 2048;

/** @throws ConfigurationError FILE_*, POLICY_*; Rejection DOCUMENT_*, SNP_* */
export async function hostReport(question: HostQuestion): Promise<HostReport> {
  const { profile, qemu, root, stateDirectory, memory, policy: file, ...asked } = question;
  const policy = file === undefined ? {} : { policy: readPolicy(file).policy };
  const facts = await readHostFacts(root, qemu, stateDirectory);
  const machine = checkHost(facts, { profile, memoryMiB: memory, diskMiB });
  const firmware = profile === 'dev' ? { simulated: true, checks: [] } : await firmwareChecks({ ...asked, ...policy });
  const checks = [...machine, ...firmware.checks];
  const ok = checks.every(({ state }) => state !== 'missing');
  return { ok, profile, simulated: firmware.simulated, checks };
}

const marks = { ok: '✓', missing: '✗', warning: '!', skipped: '–' } as const;

export function hostReportText({ ok, profile, simulated, checks }: HostReport): string {
  const lines = checks.map(({ name, state, found, expected, action }) => {
    const head = `${marks[state]} ${name}: ${found}`;
    return action === '' ? head : `${head}\n    expected ${expected}\n    do       ${action}`;
  });
  const can = simulated
    ? 'this machine can start guests for development: SIMULATED'
    : 'this machine can start measured guests';
  const verdict = ok ? can : `this machine can NOT start guests of profile ${profile}`;
  return [...lines, '', verdict].join('\n');
}
