/** What an op of `fxt/2` knows and does: its five faces (libs/step/SPEC.md §22). */
import type { Edge, NetBound, NetLayer, ParameterDraft, ParameterRole } from '../edge.js';
import type { FloatEmitter } from '../float-emitter.js';
import type { NetEmitter } from '../emitter.js';
import type { IntTensor } from '../tensor.js';

/** Values by parameter, master and compute copy. */
export interface ParameterValues {
  /** Master values. */
  readonly W?: readonly bigint[];
  readonly b?: readonly bigint[];
  /** `RS(W, w − c)`. */
  readonly Wc?: readonly bigint[];
}

/** Where a step of the reference stands. */
export interface ReferenceRun {
  /** `SAT_b`, or the guard of `overflow: "fail"`; 16 bits where absent. */
  sat(x: bigint, layer: string, bits?: number): bigint;
  /** Step of the job, or null in evaluation. */
  readonly step: number | null;
}

/** What the forward pass of a layer hands to its backward pass. */
export interface Passed {
  readonly inputs: readonly IntTensor[];
  readonly output: IntTensor;
  /** What the op itself keeps. */
  readonly saved: Readonly<Record<string, IntTensor>>;
}

interface Flowed {
  /** By input; undefined where `wanted` is false. */
  readonly inputs: readonly (IntTensor | undefined)[];
  /** Exact gradient sums `D`, of the parameters that are trained. */
  readonly gradients: Readonly<Partial<Record<ParameterRole, readonly bigint[]>>>;
}

/** Names in the graph. */
export interface ParameterNames {
  readonly b?: string;
  /** Compute copy, float64. */
  readonly Wc?: string;
  /** Its digit `at` of 0 … 2 to the base 256, −128 … 127, as int8; of those that are moved in slices. */
  readonly digit?: (at: number) => string;
}

export interface EmittedPass {
  readonly inputs: readonly string[];
  readonly output: string;
  readonly saved: Readonly<Record<string, string>>;
}

interface EmittedFlow {
  readonly inputs: readonly (string | undefined)[];
  readonly gradients: Readonly<Partial<Record<ParameterRole, string>>>;
}

interface OpShape {
  readonly shape: readonly number[];
  /** 2^15 where absent. */
  readonly max?: bigint;
  readonly parameters?: readonly ParameterDraft[];
}

/** Reads the members of one layer from JSON. */
export interface MemberReader {
  /** Integer in low..high; required where `otherwise` is absent. */
  integer(name: string, low: number, high: number, otherwise?: number): number;
  /** `count` integers in low..high. */
  integers(name: string, count: number, low: number, high: number, otherwise?: readonly number[]): readonly number[];
  boolean(name: string, otherwise?: boolean): boolean;
  has(name: string): boolean;
}

interface Fractions {
  readonly a: number;
  readonly g: number;
}

interface Place {
  /** Id of the layer. */
  readonly id: string;
  /** From 0, in the manifest's order. */
  readonly index: number;
  readonly batch: number;
}

/** @typeParam M its members with every default written out, as canonical JSON has them */
export interface NetOp<M extends object> {
  readonly members: readonly string[];
  /** Number of inputs. */
  readonly arity: number;
  /** Which fractions of its first input its output takes where the layer names none; `both`: and must equal. */
  readonly inherits?: 'a' | 'both';
  /** Element kinds that it reads; 16-bit edges where absent. */
  readonly reads?: readonly Edge['element'][];
  /** Starts of `n` where the layer names none; absent: no parameter of it is drawn, and `init` is refused. */
  readonly drawN?: number;
  /** @throws Rejection MANIFEST_*, OP_MEMBER. `inputs` and `output` are for defaults that depend on fractions. */
  parse(read: MemberReader, inputs: readonly Edge[]): M;
  /** @throws Rejection OP_SHAPE */
  shape(members: M, inputs: readonly Edge[], output: Fractions, at: Place): OpShape;
  bounds(layer: NetLayer<M>): readonly NetBound[];
  forward(
    layer: NetLayer<M>,
    inputs: readonly IntTensor[],
    p: ParameterValues,
    run: ReferenceRun,
  ): Pick<Passed, 'output' | 'saved'>;
  /** @param G error of the output @param wanted by input, whether an error flows into it */
  backward(
    layer: NetLayer<M>,
    G: IntTensor,
    passed: Passed,
    p: ParameterValues,
    wanted: readonly boolean[],
    run: ReferenceRun,
  ): Flowed;
  emitForward(
    e: NetEmitter,
    layer: NetLayer<M>,
    inputs: readonly string[],
    p: ParameterNames,
  ): Pick<EmittedPass, 'output' | 'saved'>;
  emitBackward(
    e: NetEmitter,
    layer: NetLayer<M>,
    G: string,
    passed: EmittedPass,
    p: ParameterNames,
    wanted: readonly boolean[],
  ): EmittedFlow;
  /** Numbers that a step hands to the graph, as `e.stepInput(layer)` [perStep.size]; absent: none. */
  readonly perStep?: { readonly size: number; values(layer: NetLayer<M>, step: number): readonly number[] };
  /** Whether errors of its output are those of its input, as they came: nobody takes them to 16 bits. */
  readonly keepsErrors?: true;
  /** Elements of the largest tensor that a graph makes of one record, where it is not the output. */
  widest?(layer: NetLayer<M>): number;
  /** Multiply-adds of a record's forward pass, where they are not one for each weight at each place of the output. */
  work?(layer: NetLayer<M>): number;
  /** Its form in the client's model, float32. @returns name of the output */
  emitFloat(f: FloatEmitter, layer: NetLayer<M>, inputs: readonly string[]): string;
  /** Why no step proof covers it, one sentence each without the layer's name; none where one could. */
  unprovable(layer: NetLayer<M>): readonly string[];
}
