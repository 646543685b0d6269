/** Groups of small nodes that are one function of one edge, from which a layer may be read. */
import { NodeRefusal } from '../errors.js';
import { functionNodesMax, sampleElementsMax } from '../limits.js';
import { ElementBudget, isConstant, type Constant } from './constant.js';
import type { OnnxNode } from './decode.js';
import type { Value } from './draft.js';
import { evaluate, functionOps } from './ops/evaluate.js';
import { functionOf, sampleCount, sampleOf, type Sample } from './ops/functions.js';
import type { KnownTensors } from './known.js';
import type { Scene } from './rule.js';

export interface GraphIndex {
  readonly nodes: readonly OnnxNode[];
  /** Index of the node that makes a tensor. */
  readonly makers: ReadonlyMap<string, number>;
  /** Indices of the nodes that read a tensor, each once. */
  readonly readers: ReadonlyMap<string, readonly number[]>;
  readonly outputs: ReadonlySet<string>;
}

interface Fused {
  /** Output of the last node, and what it is. */
  readonly output: string;
  readonly value: Value;
  /** Nodes that are part of it. */
  readonly nodes: readonly number[];
  /** Sizes of the tensors within, which a Shape may ask for. */
  readonly sizes: ReadonlyMap<string, readonly number[]>;
}

interface Region {
  readonly base: Value;
  /** In the order of the file; each has one output. */
  readonly members: readonly number[];
  /** What hangs on sizes alone, by node. */
  readonly fixed: ReadonlySet<number>;
}

/** A sample, and what every node made of it. */
interface Made {
  readonly x: Constant;
  readonly made: ReadonlyMap<string, Constant>;
}

const depthMax = 64;

export class Regions {
  readonly #budget = new ElementBudget(sampleElementsMax, 'elements in samples');

  constructor(
    private readonly graph: GraphIndex,
    private readonly known: KnownTensors,
    private readonly scene: Scene,
  ) {}

  /** The longest function that begins with node `first` and is a layer of `base`; undefined when there is none. */
  fusedFrom(first: number, base: Value, isSingleTaken: boolean): Fused | undefined {
    const region = this.#grow(first, base);
    const exits = region.members.toReversed().map((exit) => ({ exit, cone: this.#cone(region, exit) }));
    const wanted = exits.filter(
      ({ exit, cone }) => cone.includes(first) && (isSingleTaken || cone.length > 1) && this.#isClosed(cone, exit),
    );
    if (wanted.length === 0) return undefined;
    const samples = this.#samples(region);
    if (samples === undefined) return undefined;
    for (const { exit, cone } of wanted) {
      const value = this.#read(region, samples, exit, cone);
      if (value !== undefined)
        return {
          output: this.graph.nodes[exit]!.outputs[0]!,
          value,
          nodes: cone,
          sizes: new Map([...samples[0]!.made].map(([name, { dims }]) => [name, dims])),
        };
    }
    return undefined;
  }

  #isBase(name: string, base: Value): boolean {
    return this.known.get(name) === base;
  }

  /** Nodes that read the base, constants and each other alone. */
  #grow(first: number, base: Value): Region {
    const members: number[] = [];
    const fixed = new Set<number>();
    const own = new Map<string, number>();
    const queue = [first, ...this.known.namesOf(base).flatMap((name) => this.graph.readers.get(name) ?? [])].filter(
      (at) => at >= first,
    );
    while (queue.length > 0 && members.length < functionNodesMax) {
      queue.sort((x, y) => x - y);
      const at = queue.shift()!;
      const node = this.graph.nodes[at]!;
      if (members.includes(at) || node.outputs.length !== 1 || !functionOps.has(node.op)) continue;
      const seen = new Set<number>();
      const isKnown = (name: string): boolean =>
        name === '' || own.has(name) || this.#isBase(name, base) || this.#isFixed(name, own, fixed, seen, depthMax);
      if (!node.inputs.every(isKnown)) continue;
      members.push(at);
      own.set(node.outputs[0]!, at);
      queue.push(
        ...(this.graph.readers.get(node.outputs[0]!) ?? []).filter((reader) => reader > at).slice(0, functionNodesMax),
      );
    }
    return { base, members: members.toSorted((a, b) => a - b), fixed };
  }

  /** Whether a tensor follows from constants and sizes; remembers the nodes that make it. */
  #isFixed(
    name: string,
    own: ReadonlyMap<string, number>,
    fixed: Set<number>,
    seen: Set<number>,
    depth: number,
  ): boolean {
    const value = this.known.get(name);
    if (value !== undefined) return isConstant(value);
    const at = this.graph.makers.get(name);
    if (at === undefined || depth === 0) return false;
    if (fixed.has(at) || seen.has(at)) return fixed.has(at);
    seen.add(at);
    const node = this.graph.nodes[at]!;
    const isSize = node.op === 'Shape' && (own.has(node.inputs[0]!) || this.known.has(node.inputs[0]!));
    const isConstantNode = node.op === 'Constant';
    if (
      !isSize &&
      !isConstantNode &&
      !(
        node.inputs.length > 0 &&
        node.inputs.every((input) => input === '' || this.#isFixed(input, own, fixed, seen, depth - 1))
      )
    )
      return false;
    fixed.add(at);
    return true;
  }

  /** The members that `exit` hangs on, itself included. */
  #cone({ members }: Region, exit: number): readonly number[] {
    const cone = new Set([exit]);
    for (const at of members.toReversed()) {
      if (
        at <= exit &&
        this.graph.nodes[at]!.outputs.some((name) =>
          [...cone].some((other) => this.graph.nodes[other]!.inputs.includes(name)),
        )
      )
        cone.add(at);
    }
    return [...cone];
  }

  /** Whether nothing but the last node is read from outside. */
  #isClosed(cone: readonly number[], exit: number): boolean {
    return cone.every((at) => {
      const name = this.graph.nodes[at]!.outputs[0]!;
      const readers = this.graph.readers.get(name) ?? [];
      const isRead = readers.some((reader) => !cone.includes(reader) && this.graph.nodes[reader]!.op !== 'Shape');
      return at === exit || (!isRead && !this.graph.outputs.has(name));
    });
  }

  /** What every member makes of each sample. */
  #samples({ base, members, fixed }: Region): readonly Made[] | undefined {
    const order = [...new Set([...members, ...fixed])].toSorted((a, b) => a - b);
    try {
      return Array.from({ length: sampleCount }, (_, k) => {
        const x = sampleOf(base, k);
        this.#budget.take(x.values.length);
        const made = new Map<string, Constant>();
        for (const at of order) {
          const node = this.graph.nodes[at]!;
          const inputs = node.inputs.map((name) =>
            this.#isBase(name, base) ? x : (made.get(name) ?? this.#constant(name, node)),
          );
          const outputs = evaluate(node, inputs) ?? [];
          outputs.forEach((output, i) => {
            this.#budget.take(output.values.length);
            made.set(node.outputs[i]!, output);
          });
        }
        return { x, made };
      });
    } catch (error) {
      if (error instanceof NodeRefusal) return undefined;
      throw error;
    }
  }

  /** A constant; of another edge, whose sizes alone a Shape reads, a tensor of those sizes. */
  #constant(name: string, node: OnnxNode): Constant | undefined {
    const value = this.known.get(name);
    if (value === undefined || isConstant(value)) return value;
    return node.op === 'Shape' ? sampleOf(value, 0) : undefined;
  }

  #read(region: Region, samples: readonly Made[], exit: number, cone: readonly number[]): Value | undefined {
    const output = this.graph.nodes[exit]!.outputs[0]!;
    const pairs: Sample[] = [];
    for (const { x, made } of samples) {
      const y = made.get(output);
      if (y === undefined) return undefined;
      pairs.push({ x, y });
    }
    const names = new Set(cone.flatMap((at) => this.graph.nodes[at]!.inputs));
    const constants = [...names].flatMap((name) => {
      const value = samples[0]!.made.get(name) ?? this.known.get(name);
      return value !== undefined && isConstant(value) && value.values.length === 1 ? [value.values[0]!] : [];
    });
    try {
      return functionOf(region.base, pairs, constants, this.scene);
    } catch (error) {
      if (error instanceof NodeRefusal) return undefined;
      throw error;
    }
  }
}
