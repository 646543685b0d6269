/** Shows a new checkpoint to all witnesses of a trust policy at once (C2SP tlog-witness). */
import { sha256 } from '@noble/hashes/sha2.js';
import { toBase64, toHex, utf8 } from '#attestation/base';
import {
  cosignedAt,
  parseCheckpoint,
  parseSignatureLine,
  parseSize,
  type SignedCheckpoint,
  type TrustPolicy,
} from '#attestation/log';
import { retry } from '#libs/process';
import { ask, textOf } from './http.js';
import { answerBytesMax } from './limits.js';
import type { TileReader } from './tiles/reader.js';

type TrustedWitness = TrustPolicy['witnesses'][number];

/** At a start, which may wait: what a witness remembers is what tells that a backup was restored. */
const patient = { withinMs: 5000, bytesMax: answerBytesMax };
const limits = { withinMs: 2000, bytesMax: answerBytesMax };

interface WitnessRound {
  /** Signature lines that hold, each with its newline. */
  readonly lines: string;
  /** Witnesses that gave none, with why. */
  readonly failures: readonly { readonly witness: string; readonly why: string }[];
}

/** Keeps in mind what each witness signed last, so that it need not be asked. */
export class Witnesses {
  readonly #sizes = new Map<string, number>();

  constructor(private readonly policy: TrustPolicy) {}

  /** @param note  the signed checkpoint @param reader  of a tree at least as large */
  async show(note: string, reader: TileReader): Promise<WitnessRound> {
    const asked = this.policy.witnesses.filter(({ url }) => url !== null);
    const answers = await Promise.all(
      asked.map(async (witness) => {
        try {
          return { lines: await this.#ask(witness, note, parseCheckpoint(note), reader) };
        } catch (error) {
          return { failure: { witness: witness.name, why: error instanceof Error ? error.message : String(error) } };
        }
      }),
    );
    return {
      lines: answers.map(({ lines }) => lines ?? '').join(''),
      failures: answers.flatMap(({ failure }) => failure ?? []),
    };
  }

  /** What the witnesses keep of a log: checkpoints that nobody has looked at. Who does not answer is told, and left out. */
  async latest(origin: string, onFailure: (witness: string, why: string) => void): Promise<string[]> {
    const path = `${toHex(sha256(utf8(origin)))}/checkpoint`;
    const found = await Promise.all(
      this.policy.witnesses.map(async ({ name, url }) => {
        if (url === null) return [];
        try {
          const answer = await retry(() => ask(`${url}/${path}`, patient), { attempts: 3, firstPauseMs: 200 });
          return answer.status === 200 ? [textOf(answer.body)] : [];
        } catch (error) {
          onFailure(name, error instanceof Error ? error.message : String(error));
          return [];
        }
      }),
    );
    return found.flat();
  }

  async #ask(
    witness: TrustedWitness,
    note: string,
    checkpoint: SignedCheckpoint,
    reader: TileReader,
    isAgain = false,
  ): Promise<string> {
    const old = this.#sizes.get(witness.name) ?? 0;
    const needsPath = old > 0 && old < checkpoint.size;
    const path = needsPath ? await reader.consistencyPath(old, checkpoint.size) : [];
    const body = [`old ${old}`, ...path.map(toBase64), '', note].join('\n');
    const answer = await ask(`${witness.url}/add-checkpoint`, limits, { method: 'POST', body });
    if (answer.status === 409 && !isAgain) {
      const size = parseSize(textOf(answer.body).trim());
      if (size !== null && size <= checkpoint.size) {
        this.#sizes.set(witness.name, size);
        return this.#ask(witness, note, checkpoint, reader, true);
      }
    }
    if (answer.status !== 200) throw new Error(`status ${answer.status}`);
    const lines = textOf(answer.body);
    lines.trimEnd().split('\n').forEach(parseSignatureLine);
    if (cosignedAt(parseCheckpoint(note + lines), witness.key) === null) throw new Error('no line of its key');
    this.#sizes.set(witness.name, checkpoint.size);
    return lines;
  }
}
