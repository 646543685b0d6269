/** Checkpoints (C2SP tlog-checkpoint) and the times at which witnesses saw them (C2SP tlog-cosignature). */
import { toBase64, uintBe } from '../base/bytes.js';
import type { Digest } from '../base/digest.js';
import { Rejection } from '../base/errors.js';
import {
  checkSignature,
  isKeyName,
  parseNote,
  signatureLine,
  signaturesOf,
  strictBase64,
  type Note,
  type NoteKey,
} from './note.js';

export interface TreeState {
  readonly size: number;
  readonly root: Digest;
}

export interface Checkpoint extends TreeState {
  readonly origin: string;
}

export interface SignedCheckpoint extends Checkpoint {
  readonly note: Note;
}

/** The text that is signed: three lines, and none that says more. */
export function checkpointText({ origin, size, root }: Checkpoint): string {
  return `${origin}\n${size}\n${toBase64(root)}\n`;
}

/** @param sign  Ed25519 over UTF-8 of what it is given */
export function signCheckpoint(checkpoint: Checkpoint, key: NoteKey, sign: (text: string) => Uint8Array): string {
  const text = checkpointText(checkpoint);
  return `${text}\n${signatureLine(key, sign(text))}`;
}

/**
 * The shape of a checkpoint whose signatures nobody has looked at. Lines behind the third one are another log's to write.
 * @throws Rejection LOG_NOTE, LOG_CHECKPOINT
 */
export function parseCheckpoint(signed: string): SignedCheckpoint {
  const note = parseNote(signed);
  const [origin, sizeText, rootText, ...rest] = note.text.slice(0, -1).split('\n');
  const size = parseSize(sizeText);
  if (origin === undefined || !isKeyName(origin) || size === null || rootText === undefined || rest.includes('')) {
    throw broken('origin, size and root, a line each', note.text.slice(0, 120));
  }
  const root = strictBase64(rootText, 'LOG_CHECKPOINT');
  if (root.length !== 32) throw broken('a root of 32 bytes', `${root.length}`);
  return { origin, size, root, note };
}

/** Decimal without leading zeroes, below 2^53; null for anything else. */
export function parseSize(text: string | undefined): number | null {
  if (text === undefined || !/^(0|[1-9]\d{0,15})$/.test(text)) return null;
  const size = Number(text);
  return Number.isSafeInteger(size) ? size : null;
}

/**
 * A witness's line, with its final newline.
 * @param at  unix seconds
 * @param sign  Ed25519 over UTF-8 of what it is given
 */
export function cosign(
  { note }: SignedCheckpoint,
  key: NoteKey,
  at: number,
  sign: (text: string) => Uint8Array,
): string {
  const signature = sign(cosignedText(note.text, at));
  const timed = new Uint8Array(72);
  timed.set(uintBe(at, 8));
  timed.set(signature, 8);
  return signatureLine(key, timed);
}

/**
 * When a witness saw the checkpoint, in unix seconds, by the earliest of its lines; null: it has none.
 * @throws Rejection LOG_COSIGNATURE for a line of another length or time, LOG_SIGNATURE for one that does not hold
 */
export function cosignedAt({ note }: SignedCheckpoint, key: NoteKey): number | null {
  const times = signaturesOf(note, key).map((timed) => {
    const view = new DataView(timed.buffer, timed.byteOffset, timed.length);
    const at = timed.length === 72 ? Number(view.getBigUint64(0)) : Number.NaN;
    if (!Number.isSafeInteger(at)) {
      throw new Rejection('LOG_COSIGNATURE', {
        expected: `a time and a signature by ${key.name}`,
        got: `${timed.length} bytes`,
        rule: 'C2SP tlog-cosignature',
      });
    }
    checkSignature(key, timed.subarray(8), cosignedText(note.text, at));
    return at;
  });
  return times.length === 0 ? null : Math.min(...times);
}

function cosignedText(text: string, at: number): string {
  return `cosignature/v1\ntime ${at}\n${text}`;
}

function broken(expected: string, got: string): Rejection {
  return new Rejection('LOG_CHECKPOINT', { expected, got, rule: 'C2SP tlog-checkpoint' });
}
