/**
 * What a witness decides (C2SP tlog-witness): it signs a checkpoint once it is shown to go on from the last one that it
 * signed, keeps it before it answers, and never goes back.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { sha256 } from '@noble/hashes/sha2.js';
import { equalBytes, Rejection, toHex, utf8 } from '#attestation/base';
import {
  checkConsistency,
  cosign,
  isSignedBy,
  parseCheckpoint,
  parseHashes,
  parseSize,
  treeRoot,
  type NoteKey,
  type SignedCheckpoint,
} from '#attestation/log';

export interface WitnessParts {
  readonly key: NoteKey;
  readonly sign: (text: string) => Uint8Array;
  /** Keys of the logs that it watches; a log may have several. */
  readonly logs: readonly NoteKey[];
  /** Folder of the last checkpoint of each log; no other process may write there. */
  readonly state: string;
  /** Unix seconds. */
  readonly now: () => number;
}

interface WitnessAnswer {
  readonly status: 200 | 400 | 403 | 404 | 409 | 422;
  readonly body: string;
  readonly type?: 'text/x.tlog.size';
}

/** The last signed checkpoint, with the log's and the witness's signatures. */
interface Kept {
  readonly checkpoint: SignedCheckpoint;
  readonly note: string;
}

export class Witness {
  #tail: Promise<unknown> = Promise.resolve();

  constructor(private readonly parts: WitnessParts) {}

  /** One request at a time: what is compared is what is replaced. */
  addCheckpoint(body: string): Promise<WitnessAnswer> {
    const answer = this.#tail.then(() => this.#decide(body));
    this.#tail = answer.catch(() => undefined);
    return answer;
  }

  /** @param originHash  SHA-256 of the origin, hexadecimal @returns null where it never signed one of that log */
  async latest(originHash: string): Promise<string | null> {
    const log = this.parts.logs.find(({ name }) => hashOf(name) === originHash);
    return log === undefined ? null : ((await this.#kept(log.name))?.note ?? null);
  }

  async #decide(body: string): Promise<WitnessAnswer> {
    const request = readRequest(body);
    if (request === null) return { status: 400, body: 'old SIZE, hashes, an empty line and a checkpoint\n' };
    const { old, path, checkpoint, signed } = request;
    const keys = this.parts.logs.filter(({ name }) => name === checkpoint.origin);
    if (keys.length === 0) return { status: 404, body: 'this witness does not watch that log\n' };
    if (!isSigned(checkpoint, keys)) return { status: 403, body: 'no signature of a key of that log that holds\n' };
    if (old > checkpoint.size) return { status: 400, body: 'the old size is above that of the checkpoint\n' };
    const last = await this.#kept(checkpoint.origin);
    const known = last?.checkpoint.size ?? 0;
    if (old !== known) return { status: 409, body: `${known}\n`, type: 'text/x.tlog.size' };
    if (!isConsistent(last?.checkpoint, checkpoint, path)) return { status: 422, body: 'not consistent\n' };
    const line = cosign(checkpoint, this.parts.key, this.parts.now(), this.parts.sign);
    await this.#keep(checkpoint, signed, keys, line);
    return { status: 200, body: line };
  }

  async #kept(origin: string): Promise<Kept | null> {
    try {
      const note = await readFile(join(this.parts.state, hashOf(origin)), 'utf8');
      return { checkpoint: parseCheckpoint(note), note };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw error;
    }
  }

  /** On the disk before the answer. Signatures that nobody verified are left out. */
  async #keep(checkpoint: SignedCheckpoint, signed: string, keys: readonly NoteKey[], line: string): Promise<void> {
    const own = signed.slice(checkpoint.note.text.length + 1).split('\n');
    const verified = own.filter((one) => keys.some((key) => isLineOf(checkpoint, one, key)));
    const note = `${checkpoint.note.text}\n${verified.map((one) => `${one}\n`).join('')}${line}`;
    const path = join(this.parts.state, hashOf(checkpoint.origin));
    const temporary = `${path}.${randomBytes(8).toString('hex')}.tmp`;
    await mkdir(this.parts.state, { recursive: true });
    const file = await open(temporary, 'wx', 0o644);
    try {
      await file.writeFile(note);
      await file.datasync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
    const folder = await open(this.parts.state, 'r');
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  }
}

const hashOf = (origin: string): string => toHex(sha256(utf8(origin)));

/** Null for what is no request. */
function readRequest(body: string) {
  const split = body.indexOf('\n\n');
  const [first, ...hashes] = body.slice(0, Math.max(split, 0)).split('\n');
  const old = first?.startsWith('old ') === true ? parseSize(first.slice(4)) : null;
  if (old === null) return null;
  const signed = body.slice(split + 2);
  return rejected(() => ({ old, path: parseHashes(hashes), checkpoint: parseCheckpoint(signed), signed }));
}

/** A line of one of its keys that does not hold makes the note nobody's. */
function isSigned(checkpoint: SignedCheckpoint, keys: readonly NoteKey[]): boolean {
  const signs = rejected(() => keys.filter((key) => isSignedBy(checkpoint.note, key)));
  return signs !== null && signs.length > 0;
}

function isLineOf({ note }: SignedCheckpoint, line: string, key: NoteKey): boolean {
  if (!line.startsWith(`— ${key.name} `)) return false;
  const alone = rejected(() => parseCheckpoint(`${note.text}\n${line}\n`));
  return alone !== null && isSignedBy(alone.note, key);
}

/** The library refuses an earlier tree of no leaves; a witness that signed none asks for no path. */
function isConsistent(
  last: SignedCheckpoint | undefined,
  checkpoint: SignedCheckpoint,
  path: readonly Uint8Array[],
): boolean {
  if (checkpoint.size === 0 && !equalBytes(checkpoint.root, treeRoot([]))) return false;
  if (last === undefined || last.size === 0) return path.length === 0;
  return rejected(() => checkConsistency(last, checkpoint, path) ?? true) !== null;
}

/** Null where it is rejected; other errors are bugs, and pass. */
function rejected<T>(act: () => T): T | null {
  try {
    return act();
  } catch (error) {
    if (error instanceof Rejection) return null;
    throw error;
  }
}
