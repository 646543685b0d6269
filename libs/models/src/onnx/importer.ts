/** Goes through the nodes of a model in their order and finds what each of them is: a constant, a view, or a layer. */
import { cannot, NodeRefusal, refuse, UnsupportedModel, type UnsupportedNode } from '../errors.js';
import { isConstant, ElementBudget, type Constant } from './constant.js';
import type { OnnxModel, OnnxNode } from './decode.js';
import { NetDraft, type Value } from './draft.js';
import { evaluate, functionOps } from './ops/evaluate.js';
import { constantStep } from './ops/functions.js';
import { insteadOf, lossOf, ruleOf } from './ops/index.js';
import { affineOf } from './affine.js';
import { KnownTensors } from './known.js';
import { shapeOf } from './rearrange.js';
import { Regions, type GraphIndex } from './regions.js';
import type { Known, Scene } from './rule.js';
import type { End } from './ops/end.js';
import type { OwnUnits } from '../units.js';
import { isWhole } from './view.js';

const affineOps: ReadonlySet<string> = new Set(['Add', 'Div', 'Identity', 'Mul', 'Sub']);
const domains: ReadonlySet<string> = new Set(['', 'ai.onnx', 'com.microsoft']);

export function indexOf(model: OnnxModel): GraphIndex {
  const makers = new Map<string, number>();
  const readers = new Map<string, number[]>();
  model.nodes.forEach((node, at) => {
    for (const name of node.outputs) {
      if (name !== '' && (makers.has(name) || model.initializers.has(name)))
        refuse('ONNX_MALFORMED', 'tensors that are made once', name);
      makers.set(name, at);
    }
    for (const name of new Set(node.inputs)) {
      const known = readers.get(name);
      if (known === undefined) readers.set(name, [at]);
      else known.push(at);
    }
  });
  return { nodes: model.nodes, makers, readers, outputs: new Set(model.outputs.map(({ name }) => name)) };
}

export class Importer {
  readonly draft = new NetDraft();
  readonly #messages = new Set<string>();
  end: End | undefined;
  readonly #known = new KnownTensors();
  /** Tensors that come from refused nodes. */
  readonly #lost = new Set<string>();
  readonly #refusals: UnsupportedNode[] = [];
  readonly #done = new Set<number>();
  /** Sizes of tensors within functions, whose values nobody needs. */
  readonly #sizes = new Map<string, readonly number[]>();
  readonly #constants = new ElementBudget();
  readonly #scene: Scene;
  readonly #regions: Regions;

  constructor(
    private readonly graph: GraphIndex,
    model: OnnxModel,
    { a, keepsEnd }: { readonly a: number; readonly keepsEnd: boolean },
  ) {
    for (const [name, constant] of model.initializers) this.#known.set(name, constant);
    this.#scene = {
      ...{ draft: this.draft, a },
      isLeft: (name, passing) => !keepsEnd && this.#isEnd(name, passing),
      isLast: (name) => this.#isLast(name),
      leaveOut: (end, node) => {
        this.end = end;
        this.#messages.add(`${end} "${node}" at the end is left out: the loss ${lossOf[end]} has it`);
      },
      tell: (message) => this.#messages.add(message),
    };
    this.#regions = new Regions(graph, this.#known, this.#scene);
  }

  /** Whether the tensor, or what nodes named in `passing` alone make of it, is an output of the file and nothing else. */
  #isEnd(first: string, passing: ReadonlySet<string>): boolean {
    let name = first;
    for (let left = this.graph.nodes.length; left >= 0; left--) {
      const readers = this.graph.readers.get(name) ?? [];
      if (this.graph.outputs.has(name)) return readers.length === 0;
      const next = readers.length === 1 ? this.graph.nodes[readers[0]!]! : undefined;
      if (next === undefined || next.inputs[0] !== name || !passing.has(next.op)) return false;
      name = next.outputs[0]!;
    }
    return false;
  }

  #isLast(first: string): boolean {
    let name = first;
    for (let left = this.graph.nodes.length; left > 0; left--) {
      const readers = this.graph.readers.get(name) ?? [];
      if (this.graph.outputs.has(name)) return readers.length === 0;
      const next = readers.length === 1 ? this.graph.nodes[readers[0]!]! : undefined;
      const isAffine = next?.inputs.every((input) => input === name || this.#isConstant(input));
      if (next === undefined || isAffine !== true || !affineOps.has(next.op)) return false;
      name = next.outputs[0]!;
    }
    return false;
  }

  #isConstant(name: string): boolean {
    const known = this.#known.get(name);
    return known !== undefined && isConstant(known);
  }

  get messages(): readonly string[] {
    return [...this.#messages];
  }

  /**
   * @param answers what the file answers with, where the net is to answer with `(y − center)/scale`
   * @returns what the tensor `output` is
   * @throws  UnsupportedModel with all nodes that stand in its way; Rejection ONNX_OUTPUT
   */
  run(input: string, value: Value, output: string, answers?: OwnUnits): Value {
    this.#known.set(input, value);
    this.graph.nodes.forEach((node, at) => {
      if (this.#done.has(at)) return;
      if (node.inputs.some((name) => this.#lost.has(name))) this.#lose(node);
      else this.#take(node, at);
    });
    if (this.#refusals.length > 0) throw new UnsupportedModel(this.#refusals);
    const found = this.#known.get(output);
    if (found === undefined || isConstant(found))
      return refuse(
        'ONNX_OUTPUT',
        `output "${output}" that depends on the input`,
        found === undefined ? 'nothing that makes it' : 'a constant',
      );
    return answers === undefined
      ? this.#tried({ name: output, op: 'output' }, () => this.draft.whole(this.draft.settled(found)))
      : this.#standardised(found, output, answers);
  }

  #standardised(found: Value, output: string, { center, scale }: OwnUnits): Value {
    const { edge } = found;
    try {
      const vector = (values: Float64Array): Constant => ({ kind: 'float', dims: [values.length], values });
      const value = isWhole(found.view, edge.shape) ? found : this.draft.whole(found);
      const shift = center.map((one, i) => -one / scale[i]!);
      const factor = scale.map((one) => 1 / one);
      return this.draft.whole(this.draft.settled(affineOf(value, vector(factor), vector(shift))));
    } catch (error) {
      if (!(error instanceof NodeRefusal)) throw error;
      return refuse(
        'ONNX_OUTPUT',
        `a linear layer of ${scale.length} at the end of "${output}", which takes the label's center and scale`,
        `${edge.layer?.op ?? 'the input'} [${edge.shape.join()}]`,
        'end the model with a linear layer; or train it to answer with (label - center)/scale, and say --outputs scaled',
      );
    }
  }

  #tried<T>(node: Pick<OnnxNode, 'name' | 'op'>, act: () => T): T {
    try {
      return act();
    } catch (error) {
      if (!(error instanceof NodeRefusal)) throw error;
      throw new UnsupportedModel([{ node: node.name, op: node.op, reason: error.reason, instead: error.instead }]);
    }
  }

  #lose(node: OnnxNode): void {
    for (const name of node.outputs) this.#lost.add(name);
  }

  #take(node: OnnxNode, at: number): void {
    try {
      const sizes = node.op === 'Shape' ? this.#sizes.get(node.inputs[0]!) : undefined;
      if (sizes !== undefined) return this.#known.set(node.outputs[0]!, shapeOf(node, sizes));
      const inputs = node.inputs.map((name) => this.#input(name));
      const outputs = this.#outputs(node, at, inputs);
      if (this.#done.has(at)) return;
      outputs.forEach((value, i) => {
        const name = node.outputs[i];
        if (name === undefined || name === '') return;
        if (isConstant(value) && !this.#isShared(value, inputs)) this.#constants.take(value.values.length);
        this.#known.set(name, value);
      });
      if (outputs.length < node.outputs.findLastIndex((name) => this.#isUsed(name)) + 1)
        cannot('outputs that no layer has', 'the first output alone');
    } catch (error) {
      if (!(error instanceof NodeRefusal)) throw error;
      this.#refusals.push({ node: node.name, op: node.op, reason: error.reason, instead: error.instead });
      this.#lose(node);
    }
  }

  #isUsed(name: string): boolean {
    return this.graph.readers.has(name) || this.graph.outputs.has(name);
  }

  #isShared(value: Constant, inputs: readonly (Known | undefined)[]): boolean {
    return inputs.some((input) => input !== undefined && isConstant(input) && input.values === value.values);
  }

  #input(name: string): Known | undefined {
    if (name === '') return undefined;
    return (
      this.#known.get(name) ??
      refuse('ONNX_MALFORMED', 'nodes in the order in which they are computed', `"${name}" before it is made`)
    );
  }

  #outputs(node: OnnxNode, at: number, inputs: readonly (Known | undefined)[]): readonly Known[] {
    if (!domains.has(node.domain)) return cannot(`an operator of "${node.domain}"`, 'operators of ONNX itself');
    if ([...node.attributes.values()].some(({ isOther }) => isOther)) return cannot(...insteadOf(node.op));
    const edges = inputs.filter((input): input is Value => input !== undefined && !isConstant(input));
    if (edges.length === 0) return this.#folded(node, inputs as readonly (Constant | undefined)[]);
    const [base] = edges as [Value];
    if (functionOps.has(node.op) && edges.every((edge) => edge === base)) {
      const step = this.#function(node, at, base, inputs);
      if (step !== undefined) return step;
    }
    const rule = ruleOf(node.op);
    return rule === undefined ? cannot(...insteadOf(node.op)) : rule(node, inputs, this.#scene);
  }

  #folded(node: OnnxNode, inputs: readonly (Constant | undefined)[]): readonly Constant[] {
    return evaluate(node, inputs) ?? cannot(...insteadOf(node.op));
  }

  /** A function of one edge: with the nodes after it a layer, or a step with constants. */
  #function(
    node: OnnxNode,
    at: number,
    base: Value,
    inputs: readonly (Known | undefined)[],
  ): readonly Known[] | undefined {
    const isBare = base.edge.isTokens || base.edge.scores !== undefined;
    const isOnlyReader = node.inputs
      .filter((name) => this.#known.get(name) === base)
      .every((name) => (this.graph.readers.get(name) ?? []).length === 1);
    const constant = inputs.length === 2 ? inputs.find((input) => input !== undefined && isConstant(input)) : undefined;
    const step = (): readonly Known[] | undefined => {
      const value =
        constant && !isBare
          ? constantStep(node.op, this.draft.whole(base), constant as Constant, inputs[0] === constant)
          : undefined;
      return value && [value];
    };
    const direct = isOnlyReader ? step() : undefined;
    if (direct !== undefined) return direct;
    const fused = this.#regions.fusedFrom(at, base, isBare);
    if (fused === undefined) return step();
    for (const part of fused.nodes) this.#done.add(part);
    for (const [name, dims] of fused.sizes) this.#sizes.set(name, dims);
    this.#known.set(fused.output, fused.value);
    return [];
  }
}
