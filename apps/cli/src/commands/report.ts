/** `veritrain report make | sign | verify`. */
import { basename, resolve } from 'node:path';
import { Option, type Command } from 'commander';
import { toHex } from '#attestation/base';
import { verifyBundleFile } from '#libs/client/judging';
import { readBytes, writeWhole } from '#libs/client/files';
import {
  bundleBytesMax,
  differencesOf,
  documentFormats,
  encodeReport,
  headingOf,
  headings,
  makeDocument,
  makeReport,
  openReport,
  parseReport,
  readDeclared,
  readEcdsaKey,
  readSigningKey,
  signReport,
  type BundleVerdict,
  type DocumentFormat,
  type Report,
  type Reviewer,
} from '#libs/review';
import { releaseVersion } from '#libs/review/text';
import { isoTime, judgingTime, timeText } from '../judging-time.js';
import { digest, printResult, table, type OutputOptions } from '../output.js';
import { agreeOnOrigin, modelFiles } from '../report/model-files.js';
import { collect, exportText, materialText, startText } from './bundle.js';

const reportBytesMax = 2 * 1024 * 1024;
const keyBytesMax = 4096;
const declaredBytesMax = 128 * 1024;

const keyText = 'digest of the only Groth16 key that is taken';

const reviewer: Reviewer = { name: 'veritrain', version: releaseVersion, scriptSha256: null };

interface JudgedBy {
  readonly policy?: string | undefined;
  readonly material: readonly string[];
  /** Digest of the only Groth16 key that is taken. */
  readonly verificationKey?: Uint8Array | undefined;
  readonly start?: string | undefined;
  readonly logExport?: string | undefined;
}

interface MakeOptions extends OutputOptions, JudgedBy {
  readonly at?: number;
  readonly out: string;
  readonly format: 'verdict' | DocumentFormat;
  readonly model: readonly string[];
  readonly declared?: string;
  readonly key?: string;
}

interface VerifyOptions extends OutputOptions, JudgedBy {
  readonly signer?: Uint8Array;
}

export function addReportCommands(report: Command): void {
  report
    .command('make')
    .argument('<bundle>', 'an evidence bundle')
    .requiredOption('--out <file>', 'the document')
    .description('judge a bundle and write what was judged, by what, and every check; or a document made of it')
    .addOption(
      new Option('--format <name>', `verdict, or ${formatWords}`)
        .choices(['verdict', ...Object.keys(documentFormats)])
        .default('verdict'),
    )
    .option('--model <path>', 'an exported file that the document is about, or a folder of them; repeat', collect, [])
    .option('--declared <file>', 'JSON of what the evidence cannot know: names, licences, purpose, provenance')
    .option('--key <file>', 'PKCS #8 of an ECDSA P-256 key, for model-signature')
    .option('--policy <file>', 'your own appraisal policy')
    .option('--verification-key <hex>', keyText, digest)
    .option('--start <file>', startText)
    .option('--at <time>', `judge as of then too, beside when the evidence was fresh: ${timeText}`, judgingTime)
    .option('--material <file>', `${materialText}; policies aside, it counts for --at alone`, collect, [])
    .option('--log-export <file>', `${exportText}; counts for --at alone`)
    .option('--json', 'print one JSON document')
    .action(async (file: string, options: MakeOptions) => {
      if (options.format !== 'verdict') return makeOther(file, options.format, options);
      const made = await reportOn(file, options.at === undefined ? [null] : [null, options.at], options);
      writeWhole(options.out, encodeReport(made));
      printResult(options, { ok: true, out: options.out, ...headOf(made) }, () => table(linesOf(made)));
    });
  report
    .command('sign')
    .argument('<report>', 'a report of `report make` or of the page')
    .requiredOption('--key <file>', 'PKCS #8 of an Ed25519 key')
    .requiredOption('--out <file>', 'the signed report, .vtr')
    .description('sign a report, as the page does')
    .option('--json', 'print one JSON document')
    .action(async (file: string, options: OutputOptions & { readonly key: string; readonly out: string }) => {
      const bytes = readBytes(file, reportBytesMax);
      parseReport(bytes);
      const signed = await signReport(bytes, readSigningKey(readBytes(options.key, keyBytesMax)));
      writeWhole(options.out, signed);
      const signer = toHex((await openReport(signed)).signer);
      printResult(options, { ok: true, out: options.out, signer }, () => table([['signed by', signer]]));
    });
  addVerify(report);
}

function addVerify(report: Command): void {
  report
    .command('verify')
    .argument('<report>', 'a signed report, .vtr')
    .argument('<bundle>', 'the bundle that it is about')
    .description('check the signature of a report, judge its bundle anew, and compare')
    .option('--signer <hex>', 'the only key that may have signed', digest)
    .option('--policy <file>', 'the policy that it was judged by, where that is not the bundle’s own')
    .option('--material <file>', materialText, collect, [])
    .option('--log-export <file>', exportText)
    .option('--start <file>', startText)
    .option('--verification-key <hex>', keyText, digest)
    .option('--json', 'print one JSON document')
    .action(async (file: string, bundle: string, options: VerifyOptions) => {
      const opened = await openReport(readBytes(file, reportBytesMax));
      const times = opened.report.judgements.map(({ at }) => at);
      const again = await reportOn(bundle, times, options);
      const signer = toHex(opened.signer);
      const isExpected = options.signer === undefined || toHex(options.signer) === signer;
      const differences = [...(isExpected ? [] : ['signer']), ...differencesOf(opened.report, again)];
      const ok = differences.length === 0;
      printResult(options, { ok, signer, differences, ...headOf(opened.report) }, () =>
        table([
          ['signed by', `${signer}${options.signer === undefined ? ' (compare it with one that you know)' : ''}`],
          ...linesOf(opened.report),
          ['judged anew', ok ? 'the same, check for check' : `differs in ${differences.join(', ')}`],
        ]),
      );
      if (!ok) process.exitCode = 1;
    });
}

const formatWords = Object.entries(documentFormats)
  .map(([name, { title }]) => `${name} (${title})`)
  .join(', ');

async function makeOther(file: string, format: DocumentFormat, options: MakeOptions): Promise<void> {
  const { at, declared, key, model, out } = options;
  const verdict = await judged(file, at ?? null, options);
  const files = await modelFiles(model);
  agreeOnOrigin(files, verdict);
  const bytes = makeDocument(format, {
    ...{ bundle: readBytes(file, bundleBytesMax), verdict, files },
    modelName: basename(resolve(model[0] ?? 'model')),
    declared: declared === undefined ? {} : readDeclared(readBytes(declared, declaredBytesMax)),
    ...(key !== undefined && { key: readEcdsaKey(readBytes(key, keyBytesMax)) }),
    at: Math.floor(Date.now() / 1000),
  });
  writeWhole(out, bytes);
  const { tier, simulated } = verdict;
  printResult(options, { ok: true, out, format, tier, simulated, files: files.map(({ name }) => name) }, () =>
    table([
      ['written', out],
      ['format', documentFormats[format].title],
      ['verdict', headings[headingOf(verdict)]],
      ['about', files.map(({ name }) => name).join(', ') || 'the commitment to the weights: name files with --model'],
    ]),
  );
}

/** Material counts as of a time that somebody names: policies aside, it says nothing about when the evidence was fresh. */
async function reportOn(file: string, times: readonly (number | null)[], options: JudgedBy): Promise<Report> {
  const all = [];
  for (const at of times) all.push({ at, verdict: await judged(file, at, options) });
  const [first, ...others] = all;
  return makeReport(readBytes(file, bundleBytesMax), [first!, ...others], reviewer);
}

function judged(
  file: string,
  at: number | null,
  { policy, material, verificationKey, start, logExport }: JudgedBy,
): Promise<BundleVerdict> {
  return verifyBundleFile(file, {
    ...(policy !== undefined && { policy }),
    ...(verificationKey !== undefined && { verificationKey }),
    ...(start !== undefined && { start }),
    ...{ material, policiesAlone: at === null },
    ...(at !== null && { at }),
    ...(at !== null && logExport !== undefined && { logExport }),
  });
}

function headOf({ bundle, jobId, judgements }: Report): Record<string, unknown> {
  return {
    bundle: bundle.sha256,
    jobId,
    judgements: judgements.map(({ at, heading, tier }) => ({ at, heading, tier })),
  };
}

function linesOf({ bundle, jobId, judgements }: Report): [string, string][] {
  return [
    ['bundle', `${bundle.sha256}, ${bundle.bytes} bytes`],
    ['job', jobId],
    ...judgements.map(({ at, heading }): [string, string] => [
      at === null ? 'when fresh' : `as of ${isoTime(at)}`,
      heading,
    ]),
  ];
}
