/**
 * How far the sealing of a data set is: a file of JSON lines in its folder, mode 600, while it is not done. A line tells
 * commitments to a group of records, or one sealed shard. The data key stands in its own file, written before any line.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { appendFileSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { equalBytes, fromHex, to0x, utf8 } from '#attestation/base';
import { readBytes, readJson, writeWhole } from '../files/files.js';
import { journalBytesMax, keyFileBytesMax } from '../limits.js';

/** One of each superblock in order; what it consists of whoever commits knows. */
export type Commitments = readonly (readonly Uint8Array[])[];

interface CommittedGroup {
  /** Of each shard's records, under a key that follows from the data key: the same records are sealed later. */
  readonly macs: readonly Uint8Array[];
  /** Many more than there are shards. */
  commitments(): Commitments;
}

export interface EncryptedShard {
  readonly nonce: Uint8Array;
  /** SHA-256 of the ciphertext. */
  readonly sha256: Uint8Array;
}

export interface Journal {
  readonly id: Uint8Array;
  readonly dataKey: Uint8Array;
  macOf(records: Uint8Array): Uint8Array;
  committed(set: string, group: number): CommittedGroup | undefined;
  commit(set: string, group: number, macs: readonly Uint8Array[], commitments: Commitments): void;
  sealed(set: string, shard: number): EncryptedShard | undefined;
  seal(set: string, shard: number, made: EncryptedShard): void;
  /** The data set is whole. */
  remove(): void;
}

type Line =
  | readonly [
      'commit',
      set: string,
      group: number,
      macs: readonly string[],
      commitments: readonly (readonly string[])[],
    ]
  | readonly ['seal', set: string, shard: number, nonce: string, sha256: string];

interface Begun {
  readonly id: Uint8Array;
  readonly dataKey: Uint8Array;
  readonly lines: readonly Line[];
}

/**
 * Goes on with what an earlier call for the same thing has left; else draws an id and a data key, and writes the key.
 *
 * @param asked  what tells this sealing from every other: manifest, options, records
 */
export function openJournal(folder: string, keyFile: string, asked: string): Journal {
  const path = join(folder, '.sealing');
  const { id, dataKey, lines } = begun(path, keyFile, asked) ?? anew(folder, keyFile);
  const macOf = (bytes: Uint8Array): Uint8Array => macUnder(dataKey, bytes);
  const head = JSON.stringify({ asked: to0x(macOf(utf8(asked))), id: to0x(id) });
  // What was torn off at the end of the last line goes.
  writeWhole(path, [head, ...lines.map((line) => JSON.stringify(line)), ''].join('\n'), 0o600);
  const known = new Map(lines.map((line) => [line.slice(0, 3).join(' '), line]));
  const add = (line: Line): void => {
    appendFileSync(path, `${JSON.stringify(line)}\n`);
    known.set(line.slice(0, 3).join(' '), line);
  };
  return {
    ...{ id, dataKey, macOf },
    committed(set, group) {
      const line = known.get(`commit ${set} ${group}`);
      if (line?.[0] !== 'commit') return undefined;
      const [, , , macs, commitments] = line;
      return { macs: macs.map(fromHex), commitments: () => commitments.map((one) => one.map(fromHex)) };
    },
    commit: (set, group, macs, commitments) =>
      add(['commit', set, group, macs.map(to0x), commitments.map((one) => one.map(to0x))]),
    sealed(set, shard) {
      const line = known.get(`seal ${set} ${shard}`);
      return line?.[0] === 'seal' ? { nonce: fromHex(line[3]), sha256: fromHex(line[4]) } : undefined;
    },
    seal: (set, shard, { nonce, sha256 }) => add(['seal', set, shard, to0x(nonce), to0x(sha256)]),
    remove: () => rmSync(path, { force: true }),
  };
}

function anew(folder: string, keyFile: string): Begun {
  rmSync(join(folder, 'dataset.json'), { force: true });
  const [id, dataKey] = [new Uint8Array(randomBytes(32)), new Uint8Array(randomBytes(32))];
  writeWhole(keyFile, `${JSON.stringify({ datasetId: to0x(id), key: to0x(dataKey) })}\n`, 0o600);
  return { id, dataKey, lines: [] };
}

/** Null where nothing was begun, something else was, or its key is gone. */
function begun(path: string, keyFile: string, asked: string): Begun | null {
  if (!existsSync(path) || !existsSync(keyFile)) return null;
  const { datasetId, key } = readJson(keyFile, keyFileBytesMax) as Readonly<Record<string, unknown>>;
  const [head, ...lines] = readLines(path);
  const { id, asked: mac } = (head ?? {}) as Readonly<Record<string, unknown>>;
  if (!isHex(key) || !isHex(mac) || !isHex(id) || id !== datasetId) return null;
  const dataKey = fromHex(key);
  if (!equalBytes(macUnder(dataKey, utf8(asked)), fromHex(mac))) return null;
  return { id: fromHex(id), dataKey, lines: lines.filter(isLine) };
}

/** Those that are whole: a process that was killed may have torn the last. */
function readLines(path: string): unknown[] {
  const text = new TextDecoder().decode(readBytes(path, journalBytesMax));
  const found: unknown[] = [];
  for (const line of text.split('\n')) {
    try {
      found.push(JSON.parse(line));
    } catch {
      break;
    }
  }
  return found;
}

function isLine(value: unknown): value is Line {
  if (!Array.isArray(value) || typeof value[1] !== 'string' || !Number.isSafeInteger(value[2])) return false;
  const [kind, , , one, two] = value as unknown[];
  if (kind === 'seal') return isHex(one) && isHex(two);
  const isList = (list: unknown): boolean => Array.isArray(list) && list.every(isHex);
  return kind === 'commit' && isList(one) && Array.isArray(two) && two.every(isList);
}

function isHex(value: unknown): value is string {
  return typeof value === 'string' && /^0x([0-9a-f]{2})+$/.test(value);
}

function macUnder(dataKey: Uint8Array, bytes: Uint8Array): Uint8Array {
  const key = createHmac('sha256', dataKey).update('veritrain/sealing/v1').digest();
  return new Uint8Array(createHmac('sha256', key).update(bytes).digest());
}
