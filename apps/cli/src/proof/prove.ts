/** Step proofs as files: made, and held against their statements. */
import { rmSync } from 'node:fs';
import type { Command } from 'commander';
import { CodedError, ConfigurationError, to0x } from '#attestation/base';
import { readBytes, readJson, writeWhole } from '#libs/client/files';
import {
  parseGroth16Statement,
  parseProofStatement,
  proofBundleBytesMax,
  proofStatementBytesMax,
  verifyGroth16Bundle,
  verifyProofBundle,
  type VerifiedAccuracyBundle,
  type VerifiedGroth16,
  type VerifiedProof,
} from '#libs/proof';
import { log, printResult, table, type OutputOptions } from '../output.js';
import { makeKey } from './key-process.js';
import { runProver, type ProveReport } from './prover-process.js';
import {
  accuracyFound,
  judgeAccuracy,
  proveAccuracy,
  refuseWithoutAccuracy,
  requireNoFiles,
  requireWholeFiles,
  type AccuracyOptions,
  type OwnFiles,
} from '../commands/accuracy.js';

interface KeyFiles {
  readonly ptau?: string;
  readonly ptauSha256?: string;
  readonly zkey?: string;
  readonly zkeySha256?: string;
}

interface ProveOptions extends AccuracyOptions, KeyFiles {
  readonly accuracy?: boolean;
  readonly from?: number;
  readonly steps?: number;
  readonly onChain?: boolean;
  readonly stateDigest?: string;
}

export async function prove(options: ProveOptions, command: Command): Promise<void> {
  if (options.accuracy) return proveAccuracy(options, (files) => writeBoth(...files));
  refuseWithoutAccuracy(options);
  demandOption(command, '--from <step>', options.from);
  demandOption(command, '--steps <n>', options.steps);
  const { images, labels, from, steps, threads, backend, profile, memory, weights, stateDigest } = options;
  const request = {
    ...{ manifest: readJson(options.manifest), images, labels, from, steps, threads, backend, profile },
    ...{ memoryMiB: memory, weights, stateDigest, onChain: options.onChain === true, key: keyOf(options) },
  };
  const { report, proof, statement } = await runProver(request, (line) => log(line));
  writeBoth([options.out, proof], [options.statement, `${statement}\n`]);
  printResult(options, report, () => readable(report, options.out));
}

/** As commander does of an option that is always required. */
function demandOption(command: Command, name: string, value: unknown): void {
  if (value !== undefined) return;
  command.error(`error: required option '${name}' not specified`, { code: 'commander.missingMandatoryOptionValue' });
}

interface KeyOptions extends OutputOptions, KeyFiles {
  readonly manifest: string;
  readonly out: string;
  readonly memory: number;
}

export async function key(options: KeyOptions): Promise<void> {
  const { out: folder, memory: memoryMiB } = options;
  const made = await makeKey({ manifest: readJson(options.manifest), folder, memoryMiB, ...keyOf(options) });
  printResult(options, made, () =>
    table([
      ['plan', made.plan],
      ['for clients', `${made.folder}/key.json`],
      ['verification key', `${made.verificationKey} (${made.ceremony})`],
      ['constraints', made.constraints.toLocaleString('en')],
    ]),
  );
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
      throw error;
    }
  }
}

function readable(report: ProveReport, out: string): string {
  return table([
    ['proof', `${out}, ${report.proofBytes.toLocaleString('en')} bytes, ${report.segments} segments`],
    ['statement', report.statementDigest],
    ['backend', `${report.backend}: ${report.choice.why.join('; ')}`],
    ['parameters', `${report.profile}, ${report.soundnessBits} bits per round, ${report.soundnessSumBits} in all`],
    ['time', `${report.proveWallSeconds} s, ${report.proveCpuSeconds} CPU s`],
    ['memory', `${Math.ceil(report.peakBytes / 2 ** 20)} MiB linear`],
    ['state before', report.stateDigestBefore],
    ['state after', report.stateDigestAfter],
  ]);
}

/** @throws ConfigurationError ARGUMENT for a file without its hash */
function keyOf({ ptau, ptauSha256, zkey, zkeySha256 }: KeyFiles): object {
  const pinned = (name: string, path?: string, hash?: string): object | undefined => {
    if (path === undefined) return undefined;
    if (hash !== undefined) return { path, sha256: hash };
    throw new ConfigurationError('ARGUMENT', {
      ...{ expected: `--${name}-sha256 with --${name}`, got: 'none', rule: 'arguments of this command' },
    });
  };
  return { ptau: pinned('ptau', ptau, ptauSha256), zkey: pinned('zkey', zkey, zkeySha256) };
}

interface VerifyOptions extends OutputOptions, OwnFiles {
  readonly statement: string;
  readonly verificationKey?: Uint8Array;
  readonly developmentKeys: boolean;
}

export function verify(path: string, options: VerifyOptions): void {
  const bundle = readBytes(path, proofBundleBytesMax);
  const json = readJson(options.statement, proofStatementBytesMax);
  const began = performance.now();
  requireWholeFiles(options);
  const outcome = judge(bundle, json, options);
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
  if ('setRoot' in outcome.verified) {
    const { json, rows } = accuracyFound(outcome.verified, options);
    printResult(options, { ok: true, code: null, verifyMs, ...json }, () =>
      table([...rows.slice(0, 1), ['verified', `in ${verifyMs} ms`], ...rows.slice(1)]),
    );
    return;
  }
  const { statement, statementDigest, soundnessBits } = outcome.verified;
  const digests = { statementDigest: to0x(statementDigest) };
  const { stepFrom, stepCount } = statement;
  const found = trustOf(outcome.verified);
  printResult(
    options,
    { ok: true, code: null, verifyMs, ...digests, stepFrom, stepCount, soundnessBits, ...found.json },
    () =>
      table([
        ['accepted', `steps ${stepFrom} to ${stepFrom + stepCount - 1}, in ${verifyMs} ms`],
        ['statement', digests.statementDigest],
        ...found.rows,
        ['weights before', to0x(statement.weightsBefore)],
        ['weights after', to0x(statement.weightsAfter)],
        ['you check', 'that the weights before are those you expect, and that the data root is the registered one'],
      ]),
  );
}

/** What the verdict rests on. */
function trustOf(verified: VerifiedProof | VerifiedGroth16): {
  json: Record<string, unknown>;
  rows: [string, string][];
} {
  if (!('ceremony' in verified)) {
    const { soundnessBits, soundnessSumBits, soundnessRounds, start } = verified;
    const bits = `${soundnessBits.toFixed(1)} bits per round, ${soundnessSumBits.toFixed(1)} in all`;
    const from = start === 'seed' ? 'from the initial weights of the manifest’s seed' : 'from the given weights before';
    return {
      json: { backend: 'sumcheck', soundnessSumBits, soundnessRounds, start },
      rows: [
        ['soundness', bits],
        ['start', from],
      ],
    };
  }
  const { ceremony, soundnessBits } = verified;
  const [verificationKey, circuit] = [to0x(verified.verificationKey), to0x(verified.circuit)];
  const trust =
    ceremony === 'development'
      ? 'UNSAFE: a development key; whoever made it can prove anything'
      : 'that nobody in the ceremony of this key kept its secrets; compare its digest with the registered one';
  return {
    json: { backend: 'groth16', ceremony, verificationKey, circuit, trust },
    rows: [
      ['soundness', `about ${soundnessBits} bits, computational, under a trusted setup`],
      ['verification key', `${verificationKey} (${ceremony})`],
      ['circuit', circuit],
      ['you trust', trust],
    ],
  };
}

type Outcome = { verified: VerifiedProof | VerifiedGroth16 | VerifiedAccuracyBundle } | { rejection: CodedError };

function judge(bundle: Uint8Array, json: unknown, options: VerifyOptions): Outcome {
  const { verificationKey, developmentKeys, ...files } = options;
  try {
    const backend = (json as { backend?: unknown } | null)?.backend;
    if (backend === 'accuracy') return { verified: judgeAccuracy(bundle, json, files) };
    requireNoFiles(files);
    if (backend !== 'groth16') {
      return { verified: verifyProofBundle(bundle, parseProofStatement(json)) };
    }
    const policy = { takesDevelopmentKeys: developmentKeys, verificationKey };
    return { verified: verifyGroth16Bundle(bundle, parseGroth16Statement(json), policy) };
  } catch (error) {
    // An own file that cannot be read says nothing of the proof.
    if (error instanceof CodedError && !(error instanceof ConfigurationError)) return { rejection: error };
    throw error;
  }
}
