/** What submitters and readers ask a log. Proofs and checkpoints are verified here; nothing else of an answer is believed. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CollateralError, reportedError, toHex, type Report } from '#attestation/base';
import {
  leafHash,
  parseCheckpoint,
  parseHashes,
  parseLogProof,
  trustCheckpoint,
  verifyLogProof,
  type TrustedCheckpoint,
  type TrustPolicy,
} from '#attestation/log';
import { ask, textOf, type Answer } from './http.js';
import { answerBytesMax, tileBytesMax } from './limits.js';
import type { ReadFile } from './tiles/reader.js';

const waitMs = 15_000;
const pauseMs = 500;
/** Accepted and not proved yet, too much at once, or not now: the same entry again is no other. */
const isLater = new Set([202, 429, 503]);

interface LoggedProof {
  /** tlog-proof, verbatim. */
  readonly text: string;
  readonly index: number;
  readonly trusted: TrustedCheckpoint;
}

/**
 * Submits an entry and waits for its proof; the same entry again gives the same leaf.
 * @param url  the log's prefix
 * @param wait  `witnessed`: until a quorum of the log's own witnesses saw it
 * @throws CollateralError LOG_UNREACHABLE, LOG_PENDING after `withinMs`; Rejection of the log, LOG_* where its proof does not hold
 */
export async function submitEntry(
  url: string,
  entry: Uint8Array,
  policy: TrustPolicy,
  { wait, withinMs }: { readonly wait: 'integrated' | 'witnessed'; readonly withinMs: number },
): Promise<LoggedProof> {
  const until = performance.now() + withinMs;
  const again = (): Promise<Answer | CollateralError> =>
    post(`${url}/v1/entries?wait=${wait}`, Uint8Array.from(entry)).catch((error: unknown) => {
      if (error instanceof CollateralError) return error;
      throw error;
    });
  let answer = await again();
  while (answer instanceof CollateralError || isLater.has(answer.status)) {
    if (performance.now() > until) throw answer instanceof CollateralError ? answer : pending(answer);
    await sleep(pauseMs);
    answer = await again();
  }
  if (answer.status !== 200) throw reported(answer);
  const text = textOf(answer.body);
  const proof = parseLogProof(text);
  return { text, index: proof.index, trusted: verifyLogProof(proof, leafHash(entry), policy) };
}

/**
 * The proof of an entry that was submitted before, under the first checkpoint that a quorum saw.
 * @throws CollateralError LOG_UNREACHABLE, LOG_PENDING; Rejection LOG_NOT_FOUND, LOG_*
 */
export async function fetchProof(url: string, entry: Uint8Array, policy: TrustPolicy): Promise<LoggedProof> {
  const leaf = leafHash(entry);
  const answer = await ask(`${url}/v1/entries/${toHex(leaf)}`, { withinMs: waitMs, bytesMax: answerBytesMax });
  if (answer.status !== 200) throw reported(answer);
  const text = textOf(answer.body);
  const proof = parseLogProof(text);
  return { text, index: proof.index, trusted: verifyLogProof(proof, leaf, policy) };
}

function post(url: string, body: Uint8Array<ArrayBuffer>): Promise<Answer> {
  const headers = { 'content-type': 'application/cose' };
  return ask(url, { withinMs: waitMs, bytesMax: answerBytesMax }, { method: 'POST', body, headers });
}

/** Between two trees of a log; nobody has looked at it. @throws CollateralError LOG_UNREACHABLE, LOG_PENDING; Rejection LOG_* */
export async function fetchConsistency(url: string, from: number, to: number): Promise<Uint8Array[]> {
  const path = `v1/consistency?from=${from}&to=${to}`;
  const answer = await ask(`${url}/${path}`, { withinMs: waitMs, bytesMax: answerBytesMax });
  if (answer.status !== 200) throw reported(answer);
  return parseHashes(textOf(answer.body).split('\n').filter(Boolean));
}

/** The newest checkpoint of a log, signed by a key of the policy. @throws CollateralError, Rejection LOG_* */
export async function fetchCheckpoint(url: string, policy: TrustPolicy): Promise<TrustedCheckpoint> {
  return (await fetchNote(url, policy)).trusted;
}

/** The same, and the signed note verbatim. @throws CollateralError, Rejection LOG_* */
export async function fetchNote(
  url: string,
  policy: TrustPolicy,
): Promise<{ readonly trusted: TrustedCheckpoint; readonly note: string }> {
  const answer = await ask(`${url}/checkpoint`, { withinMs: waitMs, bytesMax: answerBytesMax });
  if (answer.status !== 200) throw reported(answer);
  const note = textOf(answer.body);
  return { note, trusted: trustCheckpoint(parseCheckpoint(note), policy) };
}

/** Tiles and bundles of a log, for `TileReader`. */
export function tilesOf(url: string): ReadFile {
  return async (path) => {
    const answer = await ask(`${url}/${path}`, { withinMs: waitMs, bytesMax: tileBytesMax });
    if (answer.status === 404) return null;
    if (answer.status !== 200) throw reported(answer);
    return answer.body;
  };
}

function pending({ status }: Answer): CollateralError {
  return new CollateralError('LOG_PENDING', {
    expected: 'a proof',
    got: `status ${status}`,
    rule: 'libs/log/README.md',
    action: 'submit the same entry again; it is kept',
  });
}

function reported(answer: Answer): Error {
  try {
    return reportedError(JSON.parse(textOf(answer.body)) as Report);
  } catch {
    return pending(answer);
  }
}
