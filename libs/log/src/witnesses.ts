/** Shows new checkpoints to the witnesses of a trust policy (C2SP tlog-witness), each at its own pace. */
import { sha256 } from '@noble/hashes/sha2.js';
import { toBase64, toHex, utf8 } from '#attestation/base';
import {
  cosignedAt,
  isSignedBy,
  parseCheckpoint,
  parseSignatureLine,
  parseSize,
  type NoteKey,
  type SignedCheckpoint,
  type TrustPolicy,
} from '#attestation/log';
import { retry } from '#libs/process';
import { ask, textOf, type Answer } from './http.js';
import { answerBytesMax } from './limits.js';
import type { TileReader } from './tiles/reader.js';

type TrustedWitness = TrustPolicy['witnesses'][number];

/** At a start, which may wait: what a witness remembers is what tells that a backup was restored. */
const patient = { withinMs: 5000, bytesMax: answerBytesMax };
/** How long an answer is waited for: as long as a slow witness needs, since one that is never waited for gives no quorum. */
const waitMs = { least: 2000, most: 16_000 };
/** Before the same checkpoint is shown again to one that did not sign it. */
const againMs = 2000;

interface Shown {
  /** What it signed last, by its own word. */
  size: number;
  text: string;
  /** By `performance.now()`; of the last answer. */
  at: number;
  /** Twice what its last answer took, or twice as long as before where none came. */
  waitMs: number;
  pending: Promise<void> | null;
  /** Of what is pending. */
  abort: AbortController;
}

interface WitnessEvents {
  /** A witness's line that holds, with its newline. */
  readonly onLine: (line: string) => Promise<void>;
  readonly onFailure: (witness: string, why: string) => void;
}

export class Witnesses {
  readonly #shown = new Map<string, Shown>();

  constructor(private readonly policy: TrustPolicy) {}

  /**
   * Shows a checkpoint to each witness that is not busy with another one and did not just refuse this one: who is silent
   * holds up nobody else.
   * @param note  the signed checkpoint
   * @param reader  of a tree at least as large
   */
  show(note: string, reader: TileReader, events: WitnessEvents): void {
    const checkpoint = parseCheckpoint(note);
    for (const witness of this.policy.witnesses) {
      const shown = this.#of(witness.name);
      const isSame = shown.text === checkpoint.note.text;
      if (witness.url === null || shown.pending !== null) continue;
      if (isSame && performance.now() - shown.at < againMs) continue;
      shown.text = checkpoint.note.text;
      shown.abort = new AbortController();
      shown.pending = this.#ask(witness, note, checkpoint, reader)
        .then(events.onLine)
        .catch((error: unknown) =>
          events.onFailure(witness.name, error instanceof Error ? error.message : String(error)),
        )
        .finally(() => {
          shown.at = performance.now();
          shown.pending = null;
        });
    }
  }

  /** Once nobody is asked any more; who has not answered by then is not waited for. */
  async settled(): Promise<void> {
    const all = [...this.#shown.values()];
    const timer = setTimeout(() => all.forEach(({ abort }) => abort.abort()), waitMs.least);
    await Promise.all(all.flatMap(({ pending }) => pending ?? []));
    clearTimeout(timer);
  }

  #of(name: string): Shown {
    const known = this.#shown.get(name);
    if (known !== undefined) return known;
    const shown = {
      ...{ size: 0, text: '', at: 0, waitMs: waitMs.least },
      ...{ pending: null, abort: new AbortController() },
    };
    this.#shown.set(name, shown);
    return shown;
  }

  /**
   * Checkpoints of a log, which it signed, as the witnesses keep them. Who does not answer, or shows another's, is told and
   * left out: no one witness keeps a log from its start.
   */
  async latest(key: NoteKey, onFailure: (witness: string, why: string) => void): Promise<string[]> {
    const path = `${toHex(sha256(utf8(key.name)))}/checkpoint`;
    const found = await Promise.all(
      this.policy.witnesses.map(async ({ name, url }) => {
        if (url === null) return [];
        try {
          const answer = await retry(() => ask(`${url}/${path}`, patient), { attempts: 3, firstPauseMs: 200 });
          if (answer.status !== 200) return [];
          const text = textOf(answer.body);
          const { origin, note } = parseCheckpoint(text);
          if (origin !== key.name || !isSignedBy(note, key)) throw new Error('a checkpoint that this log did not sign');
          return [text];
        } catch (error) {
          onFailure(name, error instanceof Error ? error.message : String(error));
          return [];
        }
      }),
    );
    return found.flat();
  }

  /** @returns its lines, of which one of its key holds */
  async #ask(
    witness: TrustedWitness,
    note: string,
    checkpoint: SignedCheckpoint,
    reader: TileReader,
    isAgain = false,
  ): Promise<string> {
    const shown = this.#of(witness.name);
    const old = shown.size;
    const needsPath = old > 0 && old < checkpoint.size;
    const path = needsPath ? await reader.consistencyPath(old, checkpoint.size) : [];
    const body = [`old ${old}`, ...path.map(toBase64), '', note].join('\n');
    const answer = await this.#post(`${witness.url}/add-checkpoint`, body, shown);
    if (answer.status === 409 && !isAgain) {
      const size = parseSize(textOf(answer.body).trim());
      if (size !== null && size <= checkpoint.size) {
        shown.size = size;
        return this.#ask(witness, note, checkpoint, reader, true);
      }
    }
    if (answer.status !== 200) throw new Error(`status ${answer.status}`);
    const lines = textOf(answer.body);
    lines.trimEnd().split('\n').forEach(parseSignatureLine);
    if (cosignedAt(parseCheckpoint(note + lines), witness.key) === null) throw new Error('no line of its key');
    shown.size = checkpoint.size;
    return lines;
  }

  async #post(url: string, body: string, shown: Shown): Promise<Answer> {
    const began = performance.now();
    const within = { withinMs: shown.waitMs, bytesMax: answerBytesMax };
    let took: number | null = null;
    try {
      const answer = await ask(url, within, { method: 'POST', body, signal: shown.abort.signal });
      took = performance.now() - began;
      return answer;
    } finally {
      shown.waitMs = Math.min(waitMs.most, Math.max(waitMs.least, 2 * Math.ceil(took ?? shown.waitMs)));
    }
  }
}
