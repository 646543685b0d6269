/** What `veritrain host preflight` says: the host's parts, and, with a report of the machine, its firmware and certificate. */
import {
  candidateProducts,
  parseSnpReport,
  productLayout,
  readTcb,
  tcbBelow,
  tcbText,
  type SnpProduct,
  type SnpReport,
  type Tcb,
} from '#attestation';
import { CollateralError } from '#attestation/base';
import { readBytes, readPolicy } from '#libs/client';
import { AmdKds, CollateralStore } from '#libs/collateral';
import { checkHost, readHostFacts, type HostCheck } from '#libs/guest';

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
  readonly offline?: boolean;
  readonly cache: string;
}

const reportMost = 4096;
const certificateMost = 16 * 1024;
/** Image, ciphertexts and what is owed. */
const diskMiB = 2048;

/** @throws ConfigurationError FILE_*, POLICY_*; Rejection SNP_REPORT_* */
export async function hostReport(question: HostQuestion): Promise<HostReport> {
  const { profile, qemu, root, stateDirectory, memory } = question;
  const facts = await readHostFacts(root, qemu, stateDirectory);
  const machine = checkHost(facts, { profile, memoryMiB: memory, diskMiB });
  const firmware = profile === 'dev' ? [] : await firmwareChecks(question);
  const checks = [...machine, ...firmware];
  return { ok: checks.every(({ state }) => state !== 'missing'), profile, simulated: profile === 'dev', checks };
}

async function firmwareChecks(question: HostQuestion): Promise<HostCheck[]> {
  const expected = 'TCB at or above the policy’s floors, and a certificate for it';
  if (question.report === undefined) {
    const action = 'boot once: veritrain host up N --check keeps a report, and this command reads it';
    return [{ name: 'firmware TCB', state: 'warning', found: 'no report of this machine yet', expected, action }];
  }
  const report = parseSnpReport(readBytes(question.report, reportMost));
  const product = candidateProducts(report)[0];
  if (product === undefined) {
    const action = 'read it with veritrain evidence show';
    return [{ name: 'firmware TCB', state: 'missing', found: 'a product that is not known', expected, action }];
  }
  const tcb = readTcb(report.reportedTcb, productLayout[product]);
  return [floorCheck(question.policy, product, tcb), await certificateCheck(question, product, report, tcb)];
}

function floorCheck(policy: string | undefined, product: SnpProduct, tcb: Tcb): HostCheck {
  const found = `${product} ${tcbText(tcb)}`;
  const name = 'firmware TCB';
  if (policy === undefined)
    return { name, state: 'warning', found, expected: 'a policy to hold it against', action: 'name one: --policy' };
  const floors = readPolicy(policy).policy.snp.tcbFloors.filter((entry) => entry.product === product);
  const below = floors.find(({ floor }) => tcbBelow(tcb, floor).length > 0);
  const expected = floors.map(({ advisory, floor }) => `${advisory}: ${tcbText(floor)}`).join('; ') || 'no floor';
  const action = below === undefined ? '' : `update the machine’s firmware (${below.advisory}), then snphost commit`;
  return { name, state: below === undefined ? 'ok' : 'missing', found, expected, action };
}

async function certificateCheck(
  { vcek, offline, cache }: HostQuestion,
  product: SnpProduct,
  { chipId }: SnpReport,
  tcb: Tcb,
): Promise<HostCheck> {
  const [name, expected] = [
    'VCEK certificate',
    'a certificate of this chip for this TCB, from a file or AMD’s service',
  ];
  if (vcek !== undefined) {
    const found = `${vcek}, ${readBytes(vcek, certificateMost).length} bytes`;
    return { name, state: 'ok', found, expected, action: '' };
  }
  try {
    const store = new CollateralStore({ directory: cache, offline: offline === true });
    const { body } = await new AmdKds(store).vcek(product, chipId, tcb);
    return { name, state: 'ok', found: `${body.length} bytes`, expected, action: '' };
  } catch (error) {
    if (!(error instanceof CollateralError)) throw error;
    const action = 'let this machine reach the service, name a mirror in endorsements.mirrors, or give --vcek';
    return { name, state: 'missing', found: `${error.code}: ${error.detail.got}`, expected, action };
  }
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
