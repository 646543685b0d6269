/** Signed notes (C2SP signed-note): text, a blank line, one signature line for each key. Ed25519 alone is verified. */
import { sha256 } from '@noble/hashes/sha2.js';
import { concatBytes, equalBytes, fromBase64, toBase64, toHex, utf8 } from '../base/bytes.js';
import { edwardsHolds } from '../base/edwards.js';
import { Rejection } from '../base/errors.js';
import { noteCharactersMax, noteSignaturesMax } from './limits.js';

/** `log`: over the note's text (type 0x01); `witness`: over text and time (type 0x04, tlog-cosignature). */
export type NoteKeyUse = 'log' | 'witness';

export interface NoteKey {
  readonly name: string;
  readonly use: NoteKeyUse;
  /** Ed25519, 32 bytes. */
  readonly publicKey: Uint8Array;
}

export interface NoteSignature {
  readonly name: string;
  /** First 4 bytes: the key's id. */
  readonly signature: Uint8Array;
}

export interface Note {
  /** With its final newline. */
  readonly text: string;
  /** In order; nobody has looked at them yet. */
  readonly signatures: readonly NoteSignature[];
}

const types: Readonly<Record<NoteKeyUse, number>> = { log: 1, witness: 4 };
const rule = 'C2SP signed-note';

/** @throws Rejection LOG_KEY for another form, another type than Ed25519 or an id that is not the key's */
export function parseNoteKey(vkey: string): NoteKey {
  const [, name, id, encoded] = /^([^+]+)\+([0-9a-f]{8})\+(.+)$/.exec(vkey) ?? [];
  if (name === undefined || id === undefined || encoded === undefined || !isKeyName(name)) {
    throw refused('LOG_KEY', 'NAME+ID+KEY', vkey.slice(0, 80));
  }
  const bytes = strictBase64(encoded, 'LOG_KEY');
  const use = (['log', 'witness'] as const).find((one) => types[one] === bytes[0]);
  if (use === undefined || bytes.length !== 33) {
    throw refused('LOG_KEY', 'an Ed25519 key of type 1 or 4', `type ${bytes[0]}, ${bytes.length - 1} bytes`);
  }
  const key = { name, use, publicKey: bytes.slice(1) };
  const own = toHex(keyIdOf(key));
  if (own !== id) throw refused('LOG_KEY', `the id ${own}`, id);
  return key;
}

export function noteKeyText(key: NoteKey): string {
  const encoded = concatBytes(Uint8Array.of(types[key.use]), key.publicKey);
  return `${key.name}+${toHex(keyIdOf(key))}+${toBase64(encoded)}`;
}

/** @throws Rejection LOG_NOTE */
export function parseNote(note: string): Note {
  if (note.length > noteCharactersMax) {
    throw refused('LOG_NOTE', `at most ${noteCharactersMax} characters`, `${note.length}`);
  }
  // oxlint-disable-next-line no-control-regex
  if (/[\u0000-\u0009\u000b-\u001f]|\p{Surrogate}/u.test(note)) {
    throw refused('LOG_NOTE', 'text without control characters', 'some');
  }
  const split = note.lastIndexOf('\n\n');
  if (split < 0 || !note.endsWith('\n')) throw refused('LOG_NOTE', 'text, a blank line and signatures', 'another form');
  const lines = note.slice(split + 2, -1).split('\n');
  if (lines.length > noteSignaturesMax) {
    throw refused('LOG_NOTE', `at most ${noteSignaturesMax} signatures`, `${lines.length}`);
  }
  return { text: note.slice(0, split + 1), signatures: lines.map(parseSignatureLine) };
}

/** @throws Rejection LOG_NOTE */
export function parseSignatureLine(line: string): NoteSignature {
  const [, name, encoded] = /^— (\S+) (\S+)$/u.exec(line) ?? [];
  if (name === undefined || encoded === undefined || !isKeyName(name)) {
    throw refused('LOG_NOTE', '— NAME SIGNATURE', line.slice(0, 80));
  }
  const signature = strictBase64(encoded, 'LOG_NOTE');
  if (signature.length < 5) throw refused('LOG_NOTE', 'key id and signature', `${signature.length} bytes`);
  return { name, signature };
}

/** With its final newline. @param signature  what follows the key's id: 64 bytes, or 72 with a time before */
export function signatureLine(key: NoteKey, signature: Uint8Array): string {
  return `— ${key.name} ${toBase64(concatBytes(keyIdOf(key), signature))}\n`;
}

/** What a key's own lines say, its id left out. A name or id that another key has, too, is not enough to be its. */
export function signaturesOf({ signatures }: Pick<Note, 'signatures'>, key: NoteKey): Uint8Array[] {
  const id = keyIdOf(key);
  return signatures
    .filter(({ name, signature }) => name === key.name && equalBytes(signature.subarray(0, 4), id))
    .map(({ signature }) => signature.subarray(4));
}

/**
 * Whether the key signed the note; a line of its own that does not hold makes the note nobody's.
 * @throws Rejection LOG_SIGNATURE
 */
export function isSignedBy(note: Note, key: NoteKey): boolean {
  const found = signaturesOf(note, key);
  for (const signature of found) checkSignature(key, signature, note.text);
  return found.length > 0;
}

/** @throws Rejection LOG_SIGNATURE */
export function checkSignature(key: NoteKey, signature: Uint8Array, message: string): void {
  if (signature.length === 64 && edwardsHolds(signature, utf8(message), key.publicKey)) return;
  throw refused('LOG_SIGNATURE', `a signature by ${key.name}`, 'one that does not hold');
}

export function isKeyName(name: string): boolean {
  return name.length > 0 && name.length <= 256 && !/[\s+\u0085\p{Z}]/u.test(name);
}

/** Standard base64 with padding, in its one form. @throws Rejection with `code` */
export function strictBase64(text: string, code: string): Uint8Array {
  try {
    const bytes = fromBase64(text);
    if (toBase64(bytes) === text) return bytes;
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
  }
  throw refused(code, 'base64 of RFC 4648 §4', text.slice(0, 40));
}

/** 4 bytes. */
function keyIdOf({ name, use, publicKey }: NoteKey): Uint8Array {
  return sha256(concatBytes(utf8(`${name}\n`), Uint8Array.of(types[use]), publicKey)).slice(0, 4);
}

function refused(code: string, expected: string, got: string): Rejection {
  return new Rejection(code, { expected, got, rule });
}
