/**
 * Proving as a process. One JSON request on stdin (proving/request.ts). One JSON document on stdout: {"report", "proof":
 * base64, "statement": text} and exit status 0, or {"error": {"code", "family", "expected", "got", "rule"}} and exit
 * status 1. Progress on stderr, one JSON object per line: {"phase", "percent", "etaSeconds"}. A signal ends it at once;
 * it writes no file.
 */
import { CodedError, Rejection } from '#attestation/base';
import { manifestBytesMax } from '#libs/step';
import { proveFiles } from './proving/prove-files.js';
import type { Progress } from './proving/report.js';
import { proveAccuracyFiles } from './proving/prove-accuracy-files.js';
import { parseAccuracyRequest, parseProveRequest } from './proving/request.js';

const requestBytesMax = 2 * manifestBytesMax;

async function readStdin(): Promise<unknown> {
  let text = '';
  for await (const chunk of process.stdin.setEncoding('utf8') as AsyncIterable<string>) {
    text += chunk;
    if (text.length > requestBytesMax) throw refused(`at most ${requestBytesMax} bytes`, 'more');
  }
  try {
    return JSON.parse(text);
  } catch {
    throw refused('JSON text', 'other text');
  }
}

function refused(expected: string, got: string): Rejection {
  return new Rejection('PROVE_REQUEST', { expected, got, rule: 'prover worker, request' });
}

try {
  const json = await readStdin();
  const began = performance.now();
  const onProgress = ({ phase, percent }: Progress): void => {
    const seconds = (performance.now() - began) / 1000;
    const etaSeconds = percent < 5 ? null : Math.ceil((seconds * (100 - percent)) / percent);
    process.stderr.write(`${JSON.stringify({ phase, percent, etaSeconds })}\n`);
  };
  const { report, proof, statement } =
    (json as { accuracy?: unknown } | null)?.accuracy === true
      ? await proveAccuracyFiles(parseAccuracyRequest(json), onProgress)
      : await proveFiles(parseProveRequest(json), onProgress);
  process.stdout.write(`${JSON.stringify({ report, proof: Buffer.from(proof).toString('base64'), statement })}\n`);
} catch (error) {
  if (!(error instanceof CodedError)) throw error;
  process.stdout.write(`${JSON.stringify({ error: error.toJSON() })}\n`);
  process.exitCode = 1;
}
