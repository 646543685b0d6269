/** `veritrain prove --accuracy`, and what `proof verify` says of such a proof. */
import { ConfigurationError, to0x } from '#attestation/base';
import { requireManifest, requireRecords, requireWeights, type RecordFiles, type WeightFiles } from '#libs/client';
import { readJson } from '#libs/client/files';
import { parseAccuracyDocument, verifyAccuracyBundle, type VerifiedAccuracyBundle } from '#libs/proof';
import { log, printResult, table, type OutputOptions } from '../output.js';
import { runProver, type AccuracyReport } from '../proof/prover-process.js';

/** Of `veritrain prove` as a proof of accuracy takes them. */
export interface AccuracyOptions extends OutputOptions {
  readonly manifest: string;
  readonly images: string;
  readonly labels: string;
  readonly out: string;
  readonly statement: string;
  readonly threads: number;
  readonly backend: string;
  readonly profile: string;
  readonly memory: number;
  readonly weights?: string;
  readonly correct?: number;
  readonly weightsSeed?: string;
  readonly dataSeed?: string;
}

/** Options that mean nothing without --accuracy, and those that mean nothing with it. */
const ofSets = ['correct', 'weightsSeed', 'dataSeed'] as const;
const ofSegments = ['from', 'steps', 'onChain', 'ptau', 'ptauSha256', 'zkey', 'zkeySha256', 'stateDigest'] as const;

type Files = readonly (readonly [path: string, data: Uint8Array | string])[];

/** @throws ConfigurationError ARGUMENT, and those of the prover */
export async function proveAccuracy(options: AccuracyOptions, write: (files: Files) => void): Promise<void> {
  const { images, labels, threads, profile, memory: memoryMiB, weights, correct, weightsSeed, dataSeed } = options;
  if (weights === undefined) refuseArgument('--weights with --accuracy', 'none');
  const other = given(options, ofSegments);
  if (!['auto', 'sumcheck'].includes(options.backend))
    refuseArgument('--backend sumcheck with --accuracy', options.backend);
  if (other !== undefined) refuseArgument('--accuracy without what proves segments', dashed(other));
  const request = {
    ...{ accuracy: true, manifest: readJson(options.manifest), images, labels, weights, weightsSeed, dataSeed },
    ...{ correct, threads, profile, memoryMiB },
  };
  const { report, proof, statement } = await runProver<AccuracyReport>(request, (line) => log(line));
  write([
    [options.out, proof],
    [options.statement, `${statement}\n`],
  ]);
  printResult(options, report, () => readable(report, options.out));
}

/** Files that a statement has to be about. */
export type OwnFiles = Partial<RecordFiles & WeightFiles & { readonly manifest: string }>;

const ofRecords = ['images', 'labels', 'dataSeed'] as const;
const ofWeights = ['weights', 'weightsSeed'] as const;

/** @throws ConfigurationError ARGUMENT for some of the options that go together without the others */
export function requireWholeFiles(files: OwnFiles): void {
  for (const together of [ofRecords, ofWeights]) {
    const [some, missing] = [true, false].map((is) => together.find((name) => (files[name] !== undefined) === is));
    if (some && missing) refuseArgument(`${dashed(missing)} with ${dashed(some)}`, 'none');
  }
}

/** @throws ConfigurationError ARGUMENT for files that a statement of another kind says nothing of */
export function requireNoFiles(files: OwnFiles): void {
  const other = given(files, [...ofRecords, ...ofWeights, 'manifest']);
  if (other !== undefined) refuseArgument(`an accuracy statement with ${dashed(other)}`, 'another');
}

/** @throws Rejection as `verifyAccuracyBundle`, `requireRecords` and `requireWeights` */
export function judgeAccuracy(bundle: Uint8Array, json: unknown, files: OwnFiles): VerifiedAccuracyBundle {
  const document = parseAccuracyDocument(json);
  const verified = verifyAccuracyBundle(bundle, document);
  if (files.manifest !== undefined) requireManifest(document, files.manifest);
  if (hasRecords(files)) requireRecords(document, files);
  if (hasWeights(files)) requireWeights(document, files);
  return verified;
}

const hasRecords = (files: OwnFiles): files is RecordFiles => files.dataSeed !== undefined;
const hasWeights = (files: OwnFiles): files is WeightFiles => files.weightsSeed !== undefined;

/** What a verified statement says, as JSON and as rows. */
export function accuracyFound(
  verified: VerifiedAccuracyBundle,
  files: OwnFiles,
): {
  json: Record<string, unknown>;
  rows: [string, string][];
} {
  const { records, correct, soundnessBits, soundnessSumBits, soundnessRounds } = verified;
  const digests = {
    statementDigest: to0x(verified.statementDigest),
    weightsDigest: to0x(verified.weights),
    setRoot: to0x(verified.setRoot),
    manifestDigest: to0x(verified.manifest),
    jobId: to0x(verified.jobId),
  };
  const strength = { soundnessBits, soundnessSumBits, soundnessRounds };
  const ownManifest = files.manifest !== undefined;
  const compared = { ownRecords: hasRecords(files), ownWeights: hasWeights(files), ownManifest };
  const left = [
    ...(ownManifest ? [] : ['that the manifest is that of your job: by it weights are read']),
    ...(compared.ownWeights ? [] : ['that the weights are those you bought']),
    ...(compared.ownRecords ? [] : ['that the root of the records is that of your set']),
  ];
  return {
    json: { backend: 'accuracy', records, correct, share: correct / records, ...digests, ...strength, ...compared },
    rows: [
      ['accepted', sentence(correct, records)],
      ['statement', digests.statementDigest],
      ['weights', `${digests.weightsDigest}${compared.ownWeights ? ', yours' : ''}`],
      ['records', `${digests.setRoot}${compared.ownRecords ? ', yours' : ''}`],
      ['manifest', `${digests.manifestDigest}${ownManifest ? ', yours' : ''}`],
      ['soundness', `${soundnessBits.toFixed(1)} bits per round, ${soundnessSumBits.toFixed(1)} in all`],
      ...(left.length > 0 ? [['you check', left.join(', and ')] satisfies [string, string]] : []),
    ],
  };
}

function readable(report: AccuracyReport, out: string): string {
  const { records, correct, parts, openings } = report;
  return table([
    ['proved', sentence(correct, records)],
    ['proof', `${out}, ${report.proofBytes.toLocaleString('en')} bytes, ${parts} ${parts === 1 ? 'part' : 'parts'}`],
    ['statement', report.statementDigest],
    ['weights', report.weightsDigest],
    ['records', report.setRoot],
    ['parameters', `${report.profile}, ${report.soundnessBits} bits per round, ${report.soundnessSumBits} in all`],
    [
      'openings',
      `${openings.weights} of the ${openings.budget} that the commitment to the weights has, 1 of each part's; those of other statements under your seeds count too`,
    ],
    ['time', `${report.proveWallSeconds} s, ${report.proveCpuSeconds} CPU s`],
    ['memory', `${Math.ceil(report.peakBytes / 2 ** 20)} MiB linear`],
    ['state', report.stateDigest],
  ]);
}

/** Rounded down: it is not more than was proved. */
function sentence(correct: number, records: number): string {
  const share = (Math.floor((1000 * correct) / records) / 10).toFixed(1);
  return `at least ${correct} of ${records} records right (${share} %)`;
}

/** @throws ConfigurationError ARGUMENT for an option that needs --accuracy */
export function refuseWithoutAccuracy(options: object): void {
  const other = given(options, ofSets);
  if (other !== undefined) refuseArgument(`--accuracy with ${dashed(other)}`, 'none');
}

function given(options: object, names: readonly string[]): string | undefined {
  return names.find((name) => (options as Record<string, unknown>)[name] !== undefined);
}

function dashed(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

function refuseArgument(expected: string, got: string): never {
  throw new ConfigurationError('ARGUMENT', { expected, got, rule: 'arguments of this command' });
}
