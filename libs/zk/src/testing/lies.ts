/**
 * A prover that lies: chosen messages of the flow are shifted, and what a constraint then is on the committed data is
 * computed outright. With it a test breaks one constraint and no other, or makes errors cancel.
 */
import { vi } from 'vitest';
import { Rejection } from '#attestation/base';
import type { Examples, Manifest } from '#libs/step';
import { extAt } from '../commit/arrays.js';
import * as F from '../commit/field/extension.js';
import type { Ext } from '../commit/field/extension.js';
import type { Backend } from '../prover/backend.js';
import type { Cells } from '../prover/cells.js';
import { executeSegment, type SegmentWitness } from '../prover/execute.js';
import { countLookups } from '../prover/multiplicities.js';
import { OmegaRows } from '../prover/omega-rows.js';
import { proveWitness, runSegment } from '../prover/prove.js';
import * as steps from '../prover/step-script.js';
import { SITE, type Site } from '../transcript/sites.js';
import { Transcript } from '../transcript/transcript.js';
import * as padProducts from '../verifier/flow/pads.js';
import type { Plan } from '../relation/plan.js';
import type { CombinedClaim } from '../verifier/flow/pads.js';
import { zeroForm, type LinearForm } from '../verifier/linear-form.js';
import { MaskedProtocol } from '../verifier/masked-protocol.js';
import { ProofBytes } from '../verifier/source.js';
import { scheduleOf, type StepProofStatement } from '../verifier/statement.js';
import { runVerifier } from '../verifier/verify.js';
import { seedOf, type TestSegment } from './segments.js';

/** Shifts of messages of F0 to F6, by their number from 0. */
export type Lies = ReadonlyMap<number, Ext>;
export type Forgery = (segment: SegmentWitness) => void;

/** What a segment reads. */
interface Read {
  readonly examples: Examples;
  readonly sizes: readonly number[];
}

/** Whole executions of something else than the statement says, each consistent in itself; segments of two steps. */
export const swaps: Readonly<Record<string, (read: Read, manifest: Manifest) => Read>> = {
  'labels of another class': ({ examples, sizes }, { dims }) => ({
    examples: { ...examples, labels: examples.labels.map((label) => (label + 1) % dims.at(-1)!) },
    sizes,
  }),
  'the batches in the other order': ({ examples, sizes }) => ({ examples: inHalves(examples, [1, 0]), sizes }),
  'the first batch twice': ({ examples, sizes }) => ({ examples: inHalves(examples, [0, 0]), sizes }),
  'one step fewer': ({ examples, sizes }) => ({ examples, sizes: [...sizes.slice(0, -1), 0] }),
  'a doubled step size': ({ examples, sizes }) => ({ examples, sizes: sizes.map((size) => 2 * size) }),
  'one bit of one pixel': ({ examples, sizes }) => ({
    examples: { ...examples, features: examples.features.map((byte, i) => (i === 1 ? byte ^ 1 : byte)) },
    sizes,
  }),
};

function inHalves({ count, features, labels }: Examples, order: readonly number[]): Examples {
  const halves = <T extends Uint8Array>(values: T): Uint8Array =>
    Uint8Array.from(order.flatMap((k) => [...values.subarray((k * values.length) / 2, ((k + 1) * values.length) / 2)]));
  return { count, features: halves(features), labels: halves(labels) };
}

/** A segment that ran on something else, with the multiplicities that fit, beside the data that the statement names. */
export function executedOtherwise(backend: Backend, { plan, input }: TestSegment, swap: string): SegmentWitness {
  const { manifest, index } = input.statement;
  const firstStep = index * manifest.superblock;
  const honest: Read = { examples: input.examples, sizes: scheduleOf(manifest, firstStep) };
  const run = ({ examples, sizes }: Read): SegmentWitness =>
    executeSegment(backend, plan.shape, input.before.weights, examples, firstStep, sizes);
  const segment = run(swaps[swap]!(honest, manifest));
  for (const [name, counts] of countLookups(backend, plan.shape, segment)) segment.witness.set(name, counts);
  return { ...segment, data: run(honest).data };
}

/** What happens in the flow, in order; messages and constraints by number. */
export type FlowEvent =
  | { readonly kind: 'sumcheck'; readonly message: number; readonly rounds: number }
  | { readonly kind: 'product'; readonly message: number; readonly defined: readonly [boolean, boolean] }
  | { readonly kind: 'challenge'; readonly message: number; readonly site: Site }
  | { readonly kind: 'constraint'; readonly place: number };

interface Flow {
  readonly events: readonly FlowEvent[];
  /** What each constraint asked for is on the committed data: zero where it holds. */
  readonly values: ReadonlyMap<number, Ext>;
  /** The same for all constraints combined by η. */
  readonly combined: Ext;
}

/** Stops a prover once its constraints are known. */
class Stop extends Error {}

interface FlowChoice {
  readonly lies?: Lies;
  readonly places?: readonly number[];
}

/** Runs the flow of a prover, opening aside. */
export function runFlow(
  backend: Backend,
  { plan, input }: TestSegment,
  choice: FlowChoice & { readonly forge?: Forgery } = {},
): Flow {
  return flowOf(backend, choice, () => {
    const segment = runSegment(backend, plan, input);
    choice.forge?.(segment);
    proveWitness(backend, plan, input, segment);
  });
}

/** The same of whatever proof `prove` makes. */
export function flowOf(backend: Backend, choice: FlowChoice, prove: () => void): Flow {
  const events: FlowEvent[] = [];
  let flow: Flow | undefined;
  let sent = 0;
  const told = tellLies(choice.lies ?? new Map(), (message) => (sent = message));
  const watched = watch(events, () => sent);
  const combine = padProducts.combine;
  const ended = vi.spyOn(padProducts, 'combine').mockImplementation((protocol) => {
    const values = new Map(
      (choice.places ?? []).map((place) => [place, formValue(backend, told.cells(), protocol.constraints[place]!)]),
    );
    const { claims, pads, target } = combine(protocol);
    const combined = F.sub(claimValue(backend, told.cells(), { claims, pads, target }), target);
    flow = { events, values, combined };
    throw new Stop();
  });
  const mark = backend.mark();
  try {
    prove();
  } catch (error) {
    if (!(error instanceof Stop)) throw error;
  } finally {
    ended.mockRestore();
    watched();
    told.undo();
    backend.release(mark);
  }
  return flow!;
}

function formValue(backend: Backend, cells: Cells, { constant, claims, pads }: LinearForm): Ext {
  const weights = new Array<Ext>(2 ** cells.plan.messages.padVars).fill(F.ZERO);
  for (const [index, coefficient] of pads) weights[index] = F.add(weights[index]!, coefficient);
  return F.add(constant, claimValue(backend, cells, { claims, pads: weights, target: F.ZERO }));
}

/** ⟨Ω, w⟩. */
export function claimValue(backend: Backend, cells: Cells, combined: CombinedClaim): Ext {
  const mark = backend.mark();
  let value = F.ZERO;
  new OmegaRows(backend, cells.plan, combined).each((row, weights) => {
    const own = cells.row(row);
    if (own) value = F.add(value, extAt(backend.dots([own], weights), 0));
  });
  backend.release(mark);
  return value;
}

/** Shifts messages until undone; `atMessage` is told the number of the next one. */
export function tellLies(lies: Lies, atMessage: (next: number) => void = () => undefined) {
  const honest = steps.stepScript;
  let given: Cells | undefined;
  const spy = vi.spyOn(steps, 'stepScript').mockImplementation(function* (cells, ...rest) {
    given = cells;
    let place = 0;
    atMessage(place);
    for (const message of honest(cells, ...rest)) {
      const shift = lies.get(place);
      atMessage(++place);
      yield shift ? F.add(message, shift) : message;
    }
  });
  return { undo: (): void => void spy.mockRestore(), cells: (): Cells => given! };
}

function watch(events: FlowEvent[], sent: () => number): () => void {
  const { sumcheck, multiply, challenge, require } = MaskedProtocol.prototype;
  const spies = [
    vi.spyOn(MaskedProtocol.prototype, 'sumcheck').mockImplementation(function (this: MaskedProtocol, point, claim) {
      events.push({ kind: 'sumcheck', message: sent(), rounds: point.length });
      return sumcheck.call(this, point, claim);
    }),
    vi.spyOn(MaskedProtocol.prototype, 'multiply').mockImplementation(function (this: MaskedProtocol, x, y) {
      events.push({ kind: 'product', message: sent(), defined: [x !== undefined, y !== undefined] });
      return multiply.call(this, x, y);
    }),
    vi.spyOn(MaskedProtocol.prototype, 'challenge').mockImplementation(function (this: MaskedProtocol, site) {
      events.push({ kind: 'challenge', message: sent(), site });
      return challenge.call(this, site);
    }),
    vi.spyOn(MaskedProtocol.prototype, 'require').mockImplementation(function (this: MaskedProtocol, form) {
      events.push({ kind: 'constraint', place: this.constraints.length });
      require.call(this, form);
    }),
  ];
  return () => spies.forEach((spy) => spy.mockRestore());
}

/** A verifier, and the prover that serves it, without the constraints at these places, until undone. */
export function withoutConstraints(...places: readonly number[]): () => void {
  const require = MaskedProtocol.prototype.require;
  const spy = vi.spyOn(MaskedProtocol.prototype, 'require').mockImplementation(function (this: MaskedProtocol, form) {
    require.call(this, places.includes(this.constraints.length) ? zeroForm : form);
  });
  return () => void spy.mockRestore();
}

/** Proves and verifies: 'accepted', or the code of the rejection. */
export function verdict(
  backend: Backend,
  { plan, input }: TestSegment,
  lies: Lies = new Map(),
  forge?: Forgery,
): string {
  const told = tellLies(lies);
  const segment = runSegment(backend, plan, input);
  forge?.(segment);
  const { result } = proveWitness(backend, plan, input, segment);
  told.undo();
  return codeOfProof(plan, result.statement, result.proof);
}

/** What the verifier says of a proof: `accepted`, or the code of its refusal. */
export function codeOfProof(plan: Plan, statement: StepProofStatement, proof: Uint8Array): string {
  return codeOf(() => void runVerifier(plan, statement, new Transcript(), new ProofBytes(proof)));
}

/** The same of whatever `verify` verifies. */
export function codeOf(verify: () => void): string {
  try {
    verify();
    return 'accepted';
  } catch (error) {
    if (error instanceof Rejection) return error.code;
    throw error;
  }
}

export function flipped(bytes: Uint8Array, at: number, by = 1): Uint8Array {
  const copy = Uint8Array.from(bytes);
  copy[at]! ^= by;
  return copy;
}

/** Challenge number `count` of a site under `freezeChallenges`. */
export function frozenChallenge(site: Site, count: number): Uint8Array {
  return seedOf(`frozen ${SITE[site]} ${count}`);
}

/** Challenges that do not depend on the proof, but for those of one site, until undone. */
export function freezeChallenges(except?: Site): () => void {
  const drawn = Transcript.prototype.digest;
  const counters = new WeakMap<Transcript, Map<Site, number>>();
  const spy = vi.spyOn(Transcript.prototype, 'digest').mockImplementation(function (this: Transcript, site) {
    if (site === except) return drawn.call(this, site);
    const counts = counters.get(this) ?? new Map<Site, number>();
    counters.set(this, counts);
    const count = counts.get(site) ?? 0;
    counts.set(site, count + 1);
    return frozenChallenge(site, count);
  });
  return () => void spy.mockRestore();
}

/**
 * Whether a forgery that one challenge stands against is accepted, with every challenge known in advance; with that one
 * drawn; with all of them drawn.
 */
export function verdictsAround(site: Site, judge: () => string): readonly string[] {
  let thaw = freezeChallenges();
  const known = judge();
  thaw();
  thaw = freezeChallenges(site);
  const drawn = judge();
  thaw();
  return [known, drawn, judge()];
}
