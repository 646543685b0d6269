/**
 * Runner for folders of SNP evidence: files `report`, `leaf` and, where present, `hclReport`; a bare `leaf` with a
 * `message` and its `signature`; launch digest `vectors` with firmware images.
 */
import { fromHex, fromUtf8, toHex } from '../base/bytes.js';
import { Rejection } from '../base/errors.js';
import { ecdsaFromDer, verifySignature } from '../base/signatures.js';
import { authenticityOf, openChecks, tierOf } from '../check/checks.js';
import type { CheckRule } from '../check/checks.js';
import { launchDigest } from '../measure/launch-digest.js';
import { cpuSignature } from '../measure/vmsa.js';
import type { Vmm } from '../measure/vmsa.js';
import type { SnpReport } from '../snp/abi.js';
import { appraiseSnp } from '../snp/appraise.js';
import { checkHclBinding, parseHclReport } from '../snp/hcl.js';
import { amdRoots } from '../snp/roots.js';
import { verifySnp } from '../snp/verify.js';
import { parseCertificate, parsePemCertificates } from '../x509/certificate.js';
import { verifyPath } from '../x509/path.js';
import { samplePolicy, verdictOf } from './types.js';
import type { SampleEntry, SampleRunner, SampleVerdict } from './types.js';

export const runSnpSample: SampleRunner = (entry) => {
  if (entry.files.has('vectors')) return runLaunchDigests(entry);
  if (entry.files.has('message')) return runMessage(entry);
  return runReport(entry);
};

async function runReport(entry: SampleEntry): Promise<SampleVerdict> {
  const report = entry.files.get('report') ?? new Uint8Array();
  const leaf = entry.files.get('leaf');
  const anchors = entry.anchors.flatMap(parsePemCertificates).map(({ raw }) => raw);
  const crls = [...entry.files].filter(([role]) => /crl/i.test(role)).map(([, bytes]) => bytes);
  const verified = await verifySnp({ report, certificates: [...(leaf ? [leaf] : []), ...anchors], crls, at: entry.at });
  const checks = [
    ...verified.checks,
    ...(await hclChecks(entry, verified.claims?.report)),
    ...(verified.claims ? appraiseSnp(verified.claims, samplePolicy.snp, entry.at) : []),
  ];
  const forged = checks.some(({ status }) => status === 'forged');
  return verdictOf(forged ? 'forged' : verified.authenticity, tierOf(checks), checks);
}

const source = 'attestation/SPEC.md §7';
const identity: CheckRule = { claim: 'instance-identity', expected: '', rule: '', source, action: 'do not use it' };

const hclRules = {
  HCL_REPORT_DATA: { ...identity, expected: 'SHA-256 of the claims', rule: 'REPORT_DATA covers the runtime claims.' },
};

/** The paravisor's claims under the report that was verified. */
async function hclChecks({ files }: SampleEntry, report: SnpReport | undefined) {
  const bytes = files.get('hclReport');
  if (bytes === undefined) return [];
  const book = openChecks(hclRules);
  if (report !== undefined) {
    await book.attempt('HCL_REPORT_DATA', () => {
      const hcl = parseHclReport(bytes);
      checkHclBinding(hcl, report.reportData);
      return `${hcl.runtimeClaims.length} bytes of claims`;
    });
  }
  return book.checks();
}

/** A message signed by an endorsed key: shows what only a deny-list can stop. */
async function runMessage(entry: SampleEntry): Promise<SampleVerdict> {
  const book = openChecks({
    SNP_CHAIN: { ...identity, expected: 'a pinned root', rule: 'The endorsement chains to a pinned root.' },
    SNP_MESSAGE_SIGNATURE: {
      ...identity,
      expected: 'a signature by the leaf',
      rule: 'The leaf’s key signed the message.',
    },
  });
  const pool = entry.anchors.flatMap(parsePemCertificates);
  const rootSpkiSha256 = new Set(amdRoots.map(({ spkiSha256 }) => spkiSha256));
  const leaf = await book.derive(
    'SNP_CHAIN',
    async () => {
      const certificate = parseCertificate(entry.files.get('leaf') ?? new Uint8Array());
      await verifyPath({ leaf: certificate, pool, rootSpkiSha256, at: entry.at });
      return certificate;
    },
    ({ subjectText }) => subjectText,
  );
  if (leaf !== undefined) {
    await book.attempt('SNP_MESSAGE_SIGNATURE', async () => {
      const signature = ecdsaFromDer(entry.files.get('signature') ?? new Uint8Array(), 'ecdsa-p384-sha384');
      await verifySignature('ecdsa-p384-sha384', leaf.spki, signature, entry.files.get('message')!);
      return 'holds';
    });
  }
  const checks = book.checks();
  return verdictOf(authenticityOf(checks), null, checks);
}

interface LaunchVector {
  readonly name: string;
  readonly vcpus: number;
  readonly vcpuType: string | null;
  readonly ovmf: string;
  readonly kernel: string | null;
  readonly initrd: string | null;
  readonly cmdline: string;
  readonly guestFeatures: string;
  readonly vmm: Vmm;
  readonly precomputedOvmfHash: string | null;
  readonly launchDigest: string;
}

async function runLaunchDigests(entry: SampleEntry): Promise<SampleVerdict> {
  const vectors = JSON.parse(fromUtf8(entry.files.get('vectors')!)) as LaunchVector[];
  const rules = vectors.map(({ name }) => [
    `SNP_LAUNCH_DIGEST ${name}`,
    { ...identity, rule: 'The launch digest is the published one.' },
  ]);
  const book = openChecks(Object.fromEntries(rules) as Record<`SNP_LAUNCH_DIGEST ${string}`, CheckRule>);
  for (const vector of vectors) {
    await book.attempt(`SNP_LAUNCH_DIGEST ${vector.name}`, () => {
      const got = toHex(launchDigest(launchInput(entry, vector)));
      if (got === vector.launchDigest) return got;
      throw new Rejection('SNP_LAUNCH_DIGEST', { expected: vector.launchDigest, got, rule: source });
    });
  }
  const checks = book.checks();
  return verdictOf(authenticityOf(checks), null, checks);
}

/** Firmware is named by its file, in the vectors as in the manifest. @throws Rejection SAMPLE_FILES */
function launchInput(entry: SampleEntry, vector: LaunchVector) {
  const firmware = entry.named?.get(vector.ovmf);
  if (firmware === undefined)
    throw new Rejection('SAMPLE_FILES', { expected: vector.ovmf, got: 'no file of that name', rule: source });
  const empty = new Uint8Array();
  return {
    firmware,
    ...(vector.precomputedOvmfHash !== null && { firmwareDigest: fromHex(vector.precomputedOvmfHash) }),
    ...(vector.kernel !== null && { kernel: { image: empty, initrd: empty, commandLine: vector.cmdline } }),
    vcpus: vector.vcpus,
    cpuSignature: vector.vcpuType === null ? 0 : cpuSignature(vector.vcpuType),
    guestFeatures: BigInt(vector.guestFeatures),
    vmm: vector.vmm,
  };
}
