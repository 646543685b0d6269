/** `veritrain evidence verify-samples | verify | show | measure`. */
import { InvalidArgumentError, Option, type Command } from 'commander';
import {
  evidenceBytesMax,
  evidenceKinds,
  kindOf,
  neutralPolicy,
  showEvidence,
  type AppraisalComparison,
  type FieldRow,
  type FileKind,
  type Section,
} from '#attestation';
import { CodedError, ConfigurationError, fromHex } from '#attestation/base';
import { readPolicy } from '#libs/client/judging';
import { readBytes } from '#libs/client/files';
import { visibleText } from '#libs/review/text';
import { checkLines } from '../checks.js';
import { readEndorsements, readPieces, type MaterialFiles } from '../evidence/material.js';
import { measureGuest, type GuestFiles } from '../evidence/measure.js';
import { verifySamples, type JudgedSample } from '../evidence/samples.js';
import { appraiseFiles, type EvidenceVerdict } from '../evidence/verify.js';
import { isoTime, judgingTime, timeText } from '../judging-time.js';
import { printResult, table, type OutputOptions } from '../output.js';
import { reliance, simulatedRefused } from '../reliance.js';

export function addEvidenceCommands(evidence: Command): void {
  addSamples(evidence);
  addVerify(evidence);
  addShow(evidence);
  addMeasure(evidence);
}

function addSamples(evidence: Command): void {
  evidence
    .command('verify-samples')
    .argument('<folder>', 'folders of samples: manifest.json, files, anchors/')
    .description('verify every sample below a folder at its own time, with its own anchors, under the neutral policy')
    .option('--anchors <folder>', 'PEM certificates to use instead of each folder’s own anchors/')
    .option('--json', 'print one JSON document')
    .action(async (folder: string, options: OutputOptions & { anchors?: string }) => {
      const report = await verifySamples(folder, clock(), options.anchors);
      printResult(options, report, () => {
        const { samples, compared, unexpected, failedUncompared: failed } = report.counts;
        const other = `${unexpected - failed} with another one, ${failed} failed without one`;
        const count = `${samples} samples, ${compared} with an expected verdict, ${other}`;
        return `${table(report.samples.map(sampleLine))}\n\n${count}`;
      });
      if (!report.ok) process.exitCode = 1;
    });
}

const shownCodesMax = 5;

function sampleLine(sample: JudgedSample): readonly [string, string] {
  const { id, vendor, authenticity, appraisal, codes, expected, asExpected, failedUncompared } = sample;
  const mark = failedUncompared ? '✗' : asExpected === null ? '–' : asExpected ? '✓' : '✗';
  const verdict = `${authenticity}, ${appraisal ?? 'not appraised'}`;
  const wanted =
    asExpected === false && expected !== null
      ? `; expected ${expected.authentic === false ? 'not authentic' : 'authentic'}, ${expected.appraisal ?? 'any'}`
      : '';
  const shown = codes.slice(0, shownCodesMax).join(' ');
  const more = codes.length > shownCodesMax ? ` and ${codes.length - shownCodesMax} more` : '';
  return [`${mark} ${vendor ?? 'unknown'} ${id}`, `${verdict}${wanted}  ${shown}${more}`];
}

interface VerifyOptions extends OutputOptions, MaterialFiles {
  readonly report: string;
  readonly kind?: FileKind;
  readonly policy?: string;
  readonly neutralPolicy?: boolean;
  readonly allowSimulated?: boolean;
  readonly nonce?: Uint8Array;
  readonly at?: number;
  readonly andAt?: number;
}

const kindOption = () =>
  new Option('--kind <kind>', 'what the file is, where its bytes do not tell').choices(evidenceKinds);

function addVerify(evidence: Command): void {
  const many = (path: string, before: readonly string[]): readonly string[] => [...before, path];
  evidence
    .command('verify')
    .description('verify and appraise one file of evidence offline and explain every check')
    .requiredOption('--report <file>', 'SNP report, NVIDIA report or JSON evidence, TDX or SGX quote, Nitro document')
    .option('--cert <file>', 'certificates, PEM or DER; a GPU’s chain leaf first; repeat it', many, [])
    .option('--rim <file>', 'NVIDIA reference manifest; repeat it', many, [])
    .option('--crl <file>', 'revocation list, DER or PEM; repeat it', many, [])
    .option('--ocsp <file>', 'OCSP answer, DER; repeat it', many, [])
    .option('--collateral <file>', 'Intel collateral as one JSON document')
    .option('--advisories <file>', 'advisories, as JSON or signed by a key that the policy names; repeat it', many, [])
    .option('--policy <file>', 'your own appraisal policy; else the neutral one')
    .option('--neutral-policy', 'be content with the neutral policy, which demands no code and no firmware')
    .option('--allow-simulated', 'be content with simulated hardware, which shows the software alone')
    .option('--nonce <hex>', 'what the evidence must answer; in REPORT_DATA filled up with zeros', hexBytes)
    .option('--at <time>', `judge as of then, else as of now by this machine’s clock: ${timeText}`, judgingTime)
    .option('--and-at <time>', 'judge as of then too and say what differs; --at alone decides', judgingTime)
    .addOption(kindOption())
    .option('--json', 'print one JSON document')
    .action(async (options: VerifyOptions) => {
      const verdict = await verifyFile(options);
      const atSource = options.at === undefined ? 'clock' : 'argument';
      const refusedFor = refusal(verdict, options);
      const ok = refusedFor === null;
      printResult(options, { atSource, ...verdict, ok, refusedFor }, () => readable(verdict, atSource, refusedFor));
      if (!ok) process.exitCode = 1;
    });
}

/** Why a reader who trusts nobody may not rely on the evidence; null: it may. */
function refusal({ ok, codes }: EvidenceVerdict, options: VerifyOptions): string | null {
  if (!ok) return 'the evidence does not show what it claims';
  if (options.policy === undefined && options.neutralPolicy !== true) {
    return 'judged by the neutral policy alone, which demands no code: name yours with --policy, or say --neutral-policy';
  }
  return codes.includes('SIMULATED_HARDWARE') && options.allowSimulated !== true ? simulatedRefused : null;
}

function verifyFile(options: VerifyOptions): Promise<EvidenceVerdict> {
  const bytes = readBytes(options.report, evidenceBytesMax);
  const kind = options.kind ?? kindOf(bytes);
  return appraiseFiles({
    kind,
    pieces: readPieces(bytes, kind, readEndorsements(options)),
    policy: options.policy === undefined ? neutralPolicy : readPolicy(options.policy).policy,
    at: options.at ?? clock(),
    ...(options.nonce && { nonce: options.nonce }),
    ...(options.andAt !== undefined && { andAt: options.andAt }),
  });
}

function readable(verdict: EvidenceVerdict, atSource: string, refusedFor: string | null): string {
  const head = table([
    ['evidence', verdict.kind],
    ['authentic', { authentic: 'yes', forged: 'no', undecided: 'not decided' }[verdict.authenticity]],
    ['appraisal', verdict.appraisal],
    ['policy', `${verdict.policy.id} ${verdict.policy.digest}`],
    ['as of', `${isoTime(verdict.at)} (${atSource === 'clock' ? 'now, by this machine’s clock' : 'as asked'})`],
    ['rely on it', reliance(refusedFor)],
  ]);
  const compared = (verdict.comparisons ?? []).map(comparisonLines).join('\n\n');
  return [checkLines(verdict.checks), head, ...(compared ? [compared] : [])].join('\n\n');
}

function comparisonLines({ before, after, change, differences }: AppraisalComparison): string {
  const lines = differences.map(
    ({ submodule, rule, cause, before: old, after: now }) =>
      `${submodule}: ${rule}\n    ${old?.status ?? 'absent'} → ${now?.status ?? 'absent'} (${cause}): ${visibleText(now?.got ?? '')}`,
  );
  const turn = {
    none: '',
    'verified-then-not-now': 'verified then, not now: ',
    'verified-now-not-then': 'verified now, not then: ',
  };
  const tiers = `${before.tier} as of ${isoTime(before.at)}, ${after.tier} as of ${isoTime(after.at)}`;
  const head = `${before.at <= after.at ? turn[change] : ''}${tiers}`;
  return [head, ...(lines.length === 0 ? ['no check differs'] : lines)].join('\n');
}

function addShow(evidence: Command): void {
  evidence
    .command('show')
    .argument('<file>', 'a file of evidence')
    .description('show every field with name and offset; judges nothing')
    .addOption(kindOption())
    .option('--json', 'print one JSON document')
    .action((file: string, options: OutputOptions & { kind?: FileKind }) => {
      const bytes = readBytes(file, evidenceBytesMax);
      const kind = options.kind ?? kindOf(bytes);
      const sections = showEvidence(bytes, kind);
      printResult(options, { kind, bytes: bytes.length, sections }, () => sections.map(sectionText).join('\n\n'));
    });
}

const shownHexMax = 128;

function sectionText({ title, fields }: Section): string {
  const width = Math.max(...fields.map(({ name }) => name.length));
  const line = ({ name, offset, size, value, meaning }: FieldRow): string => {
    const short = value.length > shownHexMax ? `${value.slice(0, shownHexMax)}…` : value;
    const hex = `0x${offset.toString(16).padStart(4, '0')}`;
    const meant = meaning ? `  (${meaning.slice(0, 400)})` : '';
    return visibleText(`${hex} ${`${size}`.padStart(5)}  ${name.padEnd(width)}  ${short}${meant}`);
  };
  return [`${title}\noffset  size  field`, ...fields.map(line)].join('\n');
}

function addMeasure(evidence: Command): void {
  evidence
    .command('measure')
    .description('compute the SEV-SNP launch digest of a guest from its published parts')
    .requiredOption('--ovmf <file>', 'firmware')
    .option('--ovmf-digest <hex>', 'digest of the firmware pages, where --ovmf is only the end of the image', hexBytes)
    .option('--kernel <file>', 'kernel, for direct boot')
    .option('--initrd <file>', 'initial RAM disk')
    .option('--append <text>', 'kernel command line')
    .requiredOption('--vcpus <n>', 'virtual CPUs', wholeNumber)
    .option('--vcpu-type <type>', 'CPU model of QEMU', 'EPYC-Milan')
    .addOption(new Option('--vmm <vmm>', 'hypervisor').choices(['QEMU', 'ec2', 'gce']).default('QEMU'))
    .addOption(
      new Option('--guest-features <hex>', 'SEV_FEATURES of the guest').argParser(featureBits).default(1n, '0x1'),
    )
    .option('--report <file>', 'hold the MEASUREMENT of this report against the digest')
    .option('--json', 'print one JSON document')
    .action((options: GuestFiles & OutputOptions) => {
      if (options.kernel === undefined && (options.initrd ?? options.append) !== undefined) {
        throw new ConfigurationError('MEASURE_ARGUMENTS', {
          expected: '--kernel beside --initrd and --append',
          got: 'no kernel',
          rule: 'arguments of this command',
        });
      }
      const measured = measureGuest(options);
      printResult(options, measured, () =>
        table([
          ['measurement', measured.measurement],
          ...(measured.report
            ? [['report', measured.report.equal ? 'the same' : measured.report.measurement] as const]
            : []),
        ]),
      );
      if (measured.report?.equal === false) process.exitCode = 1;
    });
}

function clock(): number {
  return Math.floor(Date.now() / 1000);
}

function hexBytes(text: string): Uint8Array {
  try {
    return fromHex(text);
  } catch (error) {
    if (error instanceof CodedError) throw new InvalidArgumentError('hexadecimal bytes');
    throw error;
  }
}

function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('a whole number');
  return Number(text);
}

function featureBits(text: string): bigint {
  if (!/^(0x[0-9a-f]{1,16}|\d{1,18})$/i.test(text)) throw new InvalidArgumentError('a number, for example 0x1');
  return BigInt(text);
}
