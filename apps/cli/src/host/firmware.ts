/** What a report of this machine says of its firmware, who vouches for that, and whether a policy's floors are reached. */
import {
  candidateProducts,
  parseCertificate,
  parsePemCertificates,
  parseSnpReport,
  productLayout,
  readTcb,
  tcbBelow,
  tcbText,
  verifySnp,
  type AppraisalPolicy,
  type Certificate,
  type Check,
  type SnpProduct,
  type SnpReport,
} from '#attestation';
import { CollateralError, equalBytes, Rejection } from '#attestation/base';
import { readBytes } from '#libs/client/files';
import { AmdKds, CollateralStore } from '#libs/collateral';
import type { HostCheck } from '#libs/guest';
import { simulatedMeasurement } from '#libs/simulated-vendor';
import { revocationCheck, revocationLists, revocationUnasked } from './revocation.js';

interface FirmwareQuestion {
  readonly policy?: AppraisalPolicy;
  /** Files. */
  readonly report?: string;
  readonly vcek?: string;
  readonly crl?: string;
  readonly offline?: boolean;
  readonly cache: string;
}
interface FirmwareAnswer {
  /** The report is of no hardware. */
  readonly simulated: boolean;
  readonly checks: readonly HostCheck[];
}

const reportMost = 4096;
const name = 'firmware TCB';
const booting = 'boot once: veritrain host up N --check keeps a report, and this command reads it';

/** @throws ConfigurationError FILE_*; Rejection SNP_REPORT_*, SNP_PRODUCT_UNSUPPORTED, SNP_TCB_RESERVED */
export async function firmwareChecks(question: FirmwareQuestion): Promise<FirmwareAnswer> {
  const { policy, report: file, offline, cache } = question;
  if (file === undefined) {
    const expected = 'TCB at or above the policy’s floors, and a certificate for it';
    const none = { name, state: 'warning', found: 'no report of this machine yet', expected, action: booting } as const;
    return { simulated: false, checks: [none, ...(question.vcek === undefined ? [] : [vcekAlone(question.vcek)])] };
  }
  const bytes = readBytes(file, reportMost);
  const report = parseSnpReport(bytes);
  const at = Math.floor(Date.now() / 1000);
  const floors = floorCheck(policy, report, at);
  if (equalBytes(report.measurement, simulatedMeasurement)) return { simulated: true, checks: [asSimulated(floors)] };
  const store = new CollateralStore({ directory: cache, offline: offline === true });
  const { standing, check, revocation } = await vouch(bytes, report, store, question, at);
  const simulated = standing === 'simulated';
  const held = simulated ? asSimulated(floors) : standing === 'vouched' ? floors : asUnproven(floors);
  return { simulated, checks: [held, check, revocation ?? revocationUnasked] };
}

function floorCheck(policy: AppraisalPolicy | undefined, report: SnpReport, at: number): HostCheck {
  const product: SnpProduct = candidateProducts(report)[0]!;
  const tcbs = { reported: report.reportedTcb, committed: report.committedTcb, launch: report.launchTcb };
  const tcb = (which: keyof typeof tcbs) => readTcb(tcbs[which], productLayout[product]);
  const found = `${product} ${tcbText(tcb('reported'))}`;
  const unheld = (expected: string, action: string): HostCheck => ({ name, state: 'warning', found, expected, action });
  if (policy === undefined) return unheld('a policy to hold it against', 'name one: --policy');
  const all = policy.snp.tcbFloors;
  const floors = all.filter((floor) => floor.product === product && floor.since <= at);
  const expected = floors.map(({ advisory, floor }) => `${advisory}: ${tcbText(floor)}`).join('; ');
  if (floors.length === 0) {
    const none = unheld(`a floor for ${product}`, `no floor to hold it against: add one to tcbFloors of ${policy.id}`);
    // A policy with floors decides nothing about a product that has none of its own.
    return all.length > 0 && !all.some((floor) => floor.product === product) ? { ...none, state: 'missing' } : none;
  }
  for (const { advisory, floor, appliesTo } of floors) {
    const below = appliesTo.find((which) => tcbBelow(tcb(which), floor).length > 0);
    if (below === undefined) continue;
    const action = `update the machine’s firmware (${advisory}), then snphost commit, and boot a guest again`;
    return { name, state: 'missing', found: `${found}; ${below} TCB ${tcbText(tcb(below))}`, expected, action };
  }
  return { name, state: 'ok', found, expected, action: '' };
}

function asSimulated({ found, ...check }: HostCheck): HostCheck {
  const [expected, action] = ['a report of hardware', `a simulated one says nothing of this machine; ${booting}`];
  return { ...check, state: 'missing', found: `SIMULATED: ${found}`, expected, action };
}

function asUnproven(check: HostCheck): HostCheck {
  const found = `${check.found}; nothing vouches for the report`;
  if (check.state !== 'ok') return { ...check, found };
  const action = 'see VCEK certificate and revocation list below: AMD has to stand behind what signed the report';
  return { ...check, state: 'warning', found, action };
}

/** Whether the report was signed by a chip's key that AMD endorsed. */
type Standing = 'vouched' | 'unproven' | 'simulated' | 'refused';
interface Vouching {
  readonly standing: Standing;
  readonly check: HostCheck;
  /** Of a report that AMD's chain stands behind. */
  readonly revocation?: HostCheck;
}

const certificateFileMost = 16 * 1024;
const certificate = {
  name: 'VCEK certificate',
  expected: 'a certificate of this chip for this TCB, from a file or AMD’s service, whose key signed the report',
} as const;
const fetching = 'let this machine reach the service, name a mirror in endorsements.mirrors, or give --vcek';

/** Without a report to hold it against. @throws ConfigurationError FILE_* */
function vcekAlone(file: string): HostCheck {
  const read = readCertificates(file);
  if (!Array.isArray(read)) return read.check;
  const action = 'name a report besides: --report, or boot once with veritrain host up N --check';
  return { ...certificate, state: 'warning', found: `${named(file, read)}, but no report to hold it against`, action };
}

/** @param at  Unix seconds; @throws ConfigurationError FILE_* */
async function vouch(
  bytes: Uint8Array,
  report: SnpReport,
  store: CollateralStore,
  { vcek: file, crl }: Pick<FirmwareQuestion, 'vcek' | 'crl'>,
  at: number,
): Promise<Vouching> {
  const kds = new AmdKds(store);
  const read = file === undefined ? await askAmd(kds, report) : readCertificates(file);
  if (!Array.isArray(read)) return read;
  const found = named(file ?? 'AMD’s service', read);
  if (read.some(({ issuerText }) => issuerText.includes('SIMULATED'))) {
    const action = 'name the certificate of this chip, as AMD issues it';
    return { standing: 'simulated', check: { ...certificate, state: 'missing', found: `SIMULATED: ${found}`, action } };
  }
  const { chain, absent } = await chainOf(kds, report);
  const certificates = [...read, ...chain].map(({ raw }) => raw);
  const judge = (crls: readonly Uint8Array[]) => verifySnp({ report: bytes, certificates, crls, at });
  const { claims, checks } = await judge([]);
  if (claims === undefined) return doubted(found, checks, absent);
  // Which product's list to ask for is known by the chain that held.
  const lists = await revocationLists(kds, [claims.product, claims.endorsement.kind], crl);
  const judged = (await judge(lists.crls)).claims ?? claims;
  const revocation = revocationCheck(judged.revocation, lists);
  const said = `${found}; it signed the report, and AMD’s root stands behind it`;
  const standing = revocation.state === 'missing' ? 'refused' : 'vouched';
  return { standing, check: { ...certificate, state: 'ok', found: said, action: '' }, revocation };
}

function doubted(found: string, checks: readonly Check[], absent: CollateralError | undefined): Vouching {
  const failed = checks.filter(({ status }) => status !== 'met' && status !== 'warned' && status !== 'not-checked');
  const wrong = failed.find(({ id }) => id !== 'SNP_CHAIN') ?? (absent === undefined ? failed[0] : undefined);
  if (wrong === undefined) {
    const said = `${found}; it signed the report, but AMD’s chain is not at hand: ${absent?.code ?? 'none was given'}`;
    return { standing: 'unproven', check: { ...certificate, state: 'warning', found: said, action: fetching } };
  }
  const { code, got, expected: wanted, action } = wrong;
  const said = `${found}: ${code}: ${got}`;
  return {
    standing: 'refused',
    check: { ...certificate, state: 'missing', found: said, expected: wanted || certificate.expected, action },
  };
}

/** DER, or PEM with or without its issuers. @throws ConfigurationError FILE_* */
function readCertificates(file: string): Certificate[] | Vouching {
  const bytes = readBytes(file, certificateFileMost);
  const text = new TextDecoder().decode(bytes);
  try {
    return text.includes('-----BEGIN CERTIFICATE') ? parsePemCertificates(text) : [parseCertificate(bytes)];
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    const found = `${file}: no X.509 certificate, ${error.code}`;
    const action = 'name the certificate as AMD’s service gives it, DER or PEM; or leave --vcek out to ask the service';
    return { standing: 'refused', check: { ...certificate, state: 'missing', found, action } };
  }
}

async function askAmd(kds: AmdKds, report: SnpReport): Promise<Certificate[] | Vouching> {
  const product = candidateProducts(report)[0]!;
  if (report.signingKey === 'vlek') {
    const action = 'name the VLEK that the host has: --vcek';
    const check = { ...certificate, state: 'missing', found: 'none: a VLEK signed the report', action } as const;
    return { standing: 'unproven', check };
  }
  try {
    const tcb = readTcb(report.reportedTcb, productLayout[product]);
    return [parseCertificate((await kds.vcek(product, report.chipId, tcb)).body)];
  } catch (error) {
    if (!(error instanceof CollateralError)) throw error;
    const found = `${error.code}: ${error.detail.got}`;
    return { standing: 'unproven', check: { ...certificate, state: 'missing', found, action: fetching } };
  }
}

/** Issuers for each product that the report can be of. */
async function chainOf(
  kds: AmdKds,
  report: SnpReport,
): Promise<{ chain: readonly Certificate[]; absent?: CollateralError }> {
  const chain: Certificate[] = [];
  let absent: CollateralError | undefined;
  for (const product of candidateProducts(report)) {
    try {
      const { body } = await kds.chain(product, report.signingKey);
      chain.push(...parsePemCertificates(new TextDecoder().decode(body)));
    } catch (error) {
      if (!(error instanceof CollateralError)) throw error;
      absent = error;
    }
  }
  return { chain, ...(absent && { absent }) };
}

function named(from: string, [leaf]: readonly Certificate[]): string {
  return `${from}: ${leaf?.subjectText ?? 'no certificate'}`;
}
