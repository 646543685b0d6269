/**
 * Mutates stored checkpoints and partials by a seed, sealed as a store has them and opened as whoever holds data key and host's
 * secret could seal them again: none is gone on from unless it says what sessions that were released have signed.
 */
import { concatBytes, decodeCanonical, encodeCanonical, toCbor, toHex, utf8, type CborValue } from '#attestation/base';
import { checkpointAssociatedData, encodeStepStatement } from '#attestation/records';
import { openWithNonce, sealWithNonce, checkpointKey, partialKey } from '#libs/sealing';
import { encodeWeights } from '#libs/step';
import type { EnclaveEvent, EventOf } from '#libs/wire/channel';
import { begun, jobOf } from '#test/host-attack';
import { readyJob } from '#test/ready-job';
import type { TinyJob } from '#test/tiny-job';
import { keyed, type Keyed } from '#test/tiny-release';
import { openPartial, type Partial } from '../../enclave/src/partial.js';
import type { ReadyJob } from '../../enclave/src/ready-job.js';
import { startOf, type Position } from '../../enclave/src/trainer.js';
import { fuzz, judged, type FuzzReport, type OnProgress } from './fuzz.js';
import { mutantOf } from './mutants.js';
import { cborMutant } from './tree-mutants.js';

interface Openers {
  checkpoint(job: ReadyJob, key: Uint8Array, sealed: Uint8Array): Promise<Position>;
  partial(job: ReadyJob, sealed: Uint8Array): Promise<Partial>;
}

const openers: Openers = { checkpoint: startOf, partial: openPartial };

/** All stored bytes of one kind and job, and what opens them. */
interface Stored {
  readonly name: string;
  readonly sealed: readonly Uint8Array[];
  readonly opened: readonly { readonly bytes: Uint8Array; readonly tree: CborValue }[];
  seal(opened: Uint8Array): Promise<Uint8Array>;
  /** What it comes to, as text. */
  open(sealed: Uint8Array, by: Openers): Promise<string>;
}

const textOf = (value: unknown): string => toHex(encodeCanonical(toCbor(value)));

/** Which session signed what; a session that signed nothing changes nothing. */
function positionText({ step, borders, weights, chain }: Position): string {
  const links = chain.links.map(({ session, ...link }) => ({ ...link, by: chain.sessions[session]! }));
  return textOf({ step, borders, weights: encodeWeights(weights), links });
}

function partialText({ statement, receipt, weights }: Partial): string {
  return textOf({ statement: encodeStepStatement(statement), receipt, weights: encodeWeights(weights) });
}

async function storedOf(
  name: string,
  key: Uint8Array,
  associated: Uint8Array,
  sealed: readonly Uint8Array[],
  open: Stored['open'],
): Promise<Stored> {
  const opened = sealed.map(async (one) => {
    const bytes = await openWithNonce('OPEN', name, key, one, associated);
    return { bytes, tree: decodeCanonical(bytes) };
  });
  return {
    ...{ name, sealed, opened: await Promise.all(opened), open },
    seal: (bytes) => sealWithNonce(key, bytes, associated),
  };
}

function ciphertexts({ session }: Keyed, type: 'checkpoint' | 'partial'): Uint8Array[] {
  const isOfType = (event: EnclaveEvent): event is EventOf<typeof type> => event.type === type;
  return session.events.filter(isOfType).map(({ ciphertext }) => ciphertext);
}

async function checkpointsOf(name: string, job: TinyJob, parties: readonly Keyed[]): Promise<Stored> {
  const ready = await readyJob(job, parties[0]!);
  const key = await checkpointKey(ready);
  const sealed = parties.flatMap((party) => ciphertexts(party, 'checkpoint'));
  return storedOf(name, key, checkpointAssociatedData(job.jobId), sealed, async (bytes, by) =>
    positionText(await by.checkpoint(ready, key, bytes)),
  );
}

async function storedThings(): Promise<readonly Stored[]> {
  const plain = await jobOf('plain');
  const [first, second] = [await keyed(plain), await keyed(plain)];
  await begun(plain, first);
  await second.session.request('train', { checkpoint: ciphertexts(first, 'checkpoint')[0]!, threads: 1 });
  await second.session.ended();
  const parallel = await jobOf('parallel');
  const averaging = await keyed(parallel);
  await begun(parallel, averaging);
  const ready = await readyJob(parallel, averaging);
  const associated = concatBytes(utf8('veritrain/partial/v2'), parallel.jobId);
  return [
    await checkpointsOf('checkpoint', plain, [first, second]),
    await checkpointsOf('checkpoint of rounds', parallel, [averaging]),
    await storedOf(
      'partial',
      await partialKey(ready),
      associated,
      ciphertexts(averaging, 'partial'),
      async (bytes, by) => partialText(await by.partial(ready, bytes)),
    ),
  ];
}

/** @param count mutants, half of them sealed bytes; @param by what opens them */
export async function fuzzCheckpoints(
  count: number,
  seed: number,
  onProgress?: OnProgress,
  by: Openers = openers,
): Promise<FuzzReport> {
  const stored = await storedThings();
  const genuine = new Map<Stored, ReadonlySet<string>>();
  for (const one of stored) {
    genuine.set(one, new Set(await Promise.all(one.sealed.map((sealed) => one.open(sealed, openers)))));
  }
  const trialOf: Parameters<typeof fuzz>[2] = async (draw, k) => {
    const one = stored[draw(stored.length)]!;
    const at = draw(one.sealed.length);
    const other = one.sealed[draw(one.sealed.length)]!;
    const opened = one.opened[at]!;
    const plain = k % 2 === 0 ? null : cborMutant(opened.tree, opened.bytes, draw);
    const mutant = plain === null ? mutantOf(one.sealed[at]!, draw, other) : await one.seal(plain);
    const target = plain === null ? one.name : `${one.name}, sealed again`;
    const accept = (text: string) => (genuine.get(one)!.has(text) ? 'taken' : 'accepted');
    return { target, input: () => toHex(plain ?? mutant), run: () => judged(() => one.open(mutant, by), accept) };
  };
  return fuzz(count, seed, trialOf, onProgress);
}
