/** `veritrain prove` and `veritrain proof verify`: step proofs as files. */
import { rmSync } from 'node:fs';
import { InvalidArgumentError, type Command } from 'commander';
import { CodedError, ConfigurationError, toHex } from '#attestation';
import {
  parseProofStatement,
  proofBundleBytesMax,
  proofStatementBytesMax,
  verifyProofBundle,
  type VerifiedProof,
} from '#libs/proof';
import { readBytes, readJson, writeWhole } from '../files.js';
import { log, printResult, table, type OutputOptions } from '../output.js';
import { runProver, type ProveReport } from '../proof/prover-process.js';

interface ProveOptions extends OutputOptions {
  readonly manifest: string;
  readonly images: string;
  readonly labels: string;
  readonly from: number;
  readonly steps: number;
  readonly out: string;
  readonly statement: string;
  readonly threads: number;
  readonly backend: string;
  readonly profile: string;
  readonly memory: number;
  readonly weights?: string;
  readonly stateDigest?: string;
}

export function addProofCommands(program: Command): void {
  program
    .command('prove')
    .description('train a segment of a job on IDX files and prove it in zero knowledge')
    .requiredOption('--manifest <file>', 'fxt/1 manifest')
    .requiredOption('--images <file>', 'IDX file of unsigned bytes')
    .requiredOption('--labels <file>', 'IDX file of labels')
    .requiredOption('--from <step>', 'first step of the segment', whole(0))
    .requiredOption('--steps <n>', "steps of the segment: whole superblocks of the manifest's", whole(1))
    .requiredOption('--out <file>', 'where the proof goes')
    .requiredOption('--statement <file>', 'where the statement goes that the proof is checked against')
    .option('--threads <n>', 'threads, 1 to 16', whole(1), 2)
    .option('--backend <name>', 'auto, sumcheck or groth16', 'auto')
    .option('--profile <name>', 'parameters by name; auto: the first that reaches 100 bits', 'auto')
    .option('--memory <MiB>', 'most linear memory of the prover', whole(1), 2048)
    .option('--weights <file>', 'weights at the first step; else computed from the seed')
    .option('--state-digest <hex>', 'state digest that the weights at the first step are claimed to have')
    .option('--json', 'print one JSON document')
    .action(prove);
  program
    .command('proof')
    .description('check proofs')
    .command('verify')
    .argument('<file>', 'proof')
    .requiredOption('--statement <file>', 'its statement')
    .option('--json', 'print one JSON document')
    .action(verify);
}

async function prove(options: ProveOptions): Promise<void> {
  const { images, labels, from, steps, threads, backend, profile, memory, weights, stateDigest } = options;
  const request = {
    ...{ manifest: readJson(options.manifest), images, labels, from, steps, threads, backend, profile },
    ...{ memoryMiB: memory, weights, stateDigest },
  };
  const { report, proof, statement } = await runProver(request, (line) => log(line));
  writeBoth([options.out, proof], [options.statement, `${statement}\n`]);
  printResult(options, report, () => readable(report, options.out));
}

/** @throws ConfigurationError FILE_UNWRITABLE; then neither file is there */
function writeBoth(...files: readonly (readonly [path: string, data: Uint8Array | string])[]): void {
  const written: string[] = [];
  for (const [path, data] of files) {
    try {
      writeWhole(path, data);
      written.push(path);
    } catch (error) {
      for (const other of written) rmSync(other, { force: true });
      throw new ConfigurationError('FILE_UNWRITABLE', {
        expected: `a file that can be written at ${path}`,
        got: (error as NodeJS.ErrnoException).code ?? 'an error',
        rule: 'arguments of this command',
      });
    }
  }
}

function readable(report: ProveReport, out: string): string {
  return table([
    ['proof', `${out}, ${report.proofBytes.toLocaleString('en')} bytes, ${report.segments} segments`],
    ['statement', report.statementDigest],
    ['parameters', `${report.profile}, ${report.soundnessBits} bits per round, ${report.soundnessSumBits} in all`],
    ['time', `${report.proveWallSeconds} s, ${report.proveCpuSeconds} CPU s`],
    ['memory', `${Math.ceil(report.peakBytes / 2 ** 20)} MiB linear`],
    ['state before', report.stateDigestBefore],
    ['state after', report.stateDigestAfter],
  ]);
}

function verify(path: string, options: OutputOptions & { readonly statement: string }): void {
  const bundle = readBytes(path, proofBundleBytesMax);
  const json = readJson(options.statement, proofStatementBytesMax);
  const began = performance.now();
  const outcome = judge(bundle, json);
  const verifyMs = Number((performance.now() - began).toFixed(2));
  if ('rejection' in outcome) {
    process.exitCode = 1;
    const { code, detail } = outcome.rejection;
    printResult(options, { ok: false, code, verifyMs, expected: detail.expected, got: detail.got }, () =>
      table([
        ['rejected', code],
        ['expected', detail.expected],
        ['got', detail.got],
      ]),
    );
    return;
  }
  const { statement, statementDigest, soundnessBits, soundnessSumBits } = outcome.verified;
  const digest = `0x${toHex(statementDigest)}`;
  const { stepFrom, stepCount } = statement;
  printResult(
    options,
    { ok: true, code: null, verifyMs, statementDigest: digest, stepFrom, stepCount, soundnessBits, soundnessSumBits },
    () =>
      table([
        ['accepted', `steps ${stepFrom} to ${stepFrom + stepCount - 1}, in ${verifyMs} ms`],
        ['statement', digest],
        ['soundness', `${soundnessBits.toFixed(1)} bits per round, ${soundnessSumBits.toFixed(1)} in all`],
        ['weights before', `0x${toHex(statement.weightsBefore)}`],
        ['weights after', `0x${toHex(statement.weightsAfter)}`],
        ['you check', 'that the weights before are those you expect, and that the data root is the registered one'],
      ]),
  );
}

function judge(bundle: Uint8Array, json: unknown): { verified: VerifiedProof } | { rejection: CodedError } {
  try {
    return { verified: verifyProofBundle(bundle, parseProofStatement(json)) };
  } catch (error) {
    if (error instanceof CodedError) return { rejection: error };
    throw error;
  }
}

function whole(least: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : -1;
    if (value < least) throw new InvalidArgumentError(`a whole number of at least ${least}`);
    return value;
  };
}
