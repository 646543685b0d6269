/**
 * What proves the segments of this node's own sampled runs without anybody's help: the opened input, sealed under the host's
 * secret, and statement and checkpoint of every border. On disk before the stake and before a border is told, until the
 * escrow ends.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import { CollateralError, fromHex, utf8 } from '#attestation/base';
import type { JobSpec } from '#attestation/records';
import { keptWitnessBytesMax, writeWhole, type ProverRelease } from '#libs/node';
import { deriveKey, openWithNonce, sealWithNonce } from '#libs/sealing';
import { divideSteps, encodeWeights, initialWeights, parseManifestText } from '#libs/step';
import type { JobInput } from '../compute/job.js';
import type { ProofRequest } from '../compute/prove.js';
import type { Border } from '../compute/train.js';
import { keptFolder, keptFolders } from './kept-jobs.js';

export interface OpenedInput {
  readonly input: JobInput;
  /** What was logged of the key that opened it. */
  readonly logged: ProverRelease['logged'];
}

export interface KeptWitness {
  /** @throws CollateralError PROVER_DISK where the job's witness would not fit beside those that are kept */
  checkRoom(jobId: string, spec: JobSpec, opened: OpenedInput): void;
  /** The job must be kept. */
  keepInput(jobId: string, opened: OpenedInput): Promise<void>;
  /** null: it is not here. @throws Rejection KEPT_INPUT */
  input(jobId: string): Promise<OpenedInput | null>;
  keepBorder(jobId: string, border: Border): void;
  /** Sealed checkpoint of the last border, `upTo` at most, before which no border is missing; null: there is none. */
  resumePoint(jobId: string, upTo: number): Uint8Array | null;
  /** null: it is not here. */
  segment(jobId: string, index: number): ProofRequest | null;
}

const witnessName = /^(input|border-\d+\.(checkpoint|statement))$/;
/** Of a border beside its weights: statement, tag, and what CBOR takes. */
const borderBytes = 2048;

/** @param folder of the kept jobs @param hostRoot of whoever may open it again */
export function openKeptWitness(folder: string, hostRoot: Uint8Array): KeptWitness {
  const path = (jobId: string, name: string): string => join(keptFolder(folder, jobId), name);
  const read = (jobId: string, name: string): Uint8Array => new Uint8Array(readFileSync(path(jobId, name)));
  const keyOf = (jobId: string) => deriveKey(hostRoot, fromHex(jobId), utf8('veritrain/kept-input/v1'));
  const has = (jobId: string, border: number): boolean =>
    existsSync(path(jobId, `border-${border}.statement`)) && existsSync(path(jobId, `border-${border}.checkpoint`));
  return {
    checkRoom(jobId, spec, { input }) {
      const own = keptFolder(folder, jobId);
      const others = keptFolders(folder).filter((other) => other !== own);
      const held = others.reduce((sum, other) => sum + bytesIn(other), 0);
      const needed = bytesOf(spec, input);
      if (held + needed <= keptWitnessBytesMax) return;
      throw new CollateralError('PROVER_DISK', {
        expected: `a witness of at most ${keptWitnessBytesMax - held} bytes beside what is kept`,
        got: `${needed}`,
        rule: 'prover worker, jobs',
        action: 'offer it to another node, or later; longer segments make it smaller',
      });
    },
    async keepInput(jobId, opened) {
      writeWhole(path(jobId, 'input'), await sealWithNonce(await keyOf(jobId), serialize(opened), fromHex(jobId)));
    },
    async input(jobId) {
      if (!existsSync(path(jobId, 'input'))) return null;
      const what = 'the input of a kept job';
      const sealed = read(jobId, 'input');
      return deserialize(await openWithNonce('KEPT_INPUT', what, await keyOf(jobId), sealed, fromHex(jobId)));
    },
    keepBorder(jobId, { index, statement, checkpoint }) {
      writeWhole(path(jobId, `border-${index}.checkpoint`), checkpoint);
      writeWhole(path(jobId, `border-${index}.statement`), statement);
    },
    resumePoint(jobId, upTo) {
      let border = 0;
      while (border < upTo && has(jobId, border + 1)) border += 1;
      return border === 0 ? null : read(jobId, `border-${border}.checkpoint`);
    },
    segment(jobId, index) {
      if (!has(jobId, index + 1) || (index > 0 && !has(jobId, index))) return null;
      const checkpoint = index === 0 ? null : read(jobId, `border-${index}.checkpoint`);
      return { index, statement: read(jobId, `border-${index + 1}.statement`), checkpoint };
    },
  };
}

/** What a witness takes at most: every checkpoint holds the weights and the borders before it. */
function bytesOf(spec: JobSpec, input: JobInput): number {
  const manifest = parseManifestText(spec.manifest);
  const segments = divideSteps(manifest, spec).rounds;
  const state = encodeWeights(initialWeights(manifest)).length;
  return serialize(input).length + segments * (state + 34 * (segments + 1) + borderBytes);
}

function bytesIn(folder: string): number {
  const names = readdirSync(folder).filter((name) => witnessName.test(name));
  return names.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}
