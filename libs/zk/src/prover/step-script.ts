/** The prover's messages of F0 and F2 to F6 (libs/zk/SPEC.md §7). */
import { extAt, extView, setExt } from '../commit/arrays.js';
import type { BaseArray, ExtArray } from '../commit/backend.js';
import { oodOf } from '../commit/commit.js';
import * as F from '../commit/field/extension.js';
import type { Ext } from '../commit/field/extension.js';
import { eqTable, halves, suffix, type Point } from '../commit/field/multilinear.js';
import { relatedHeads } from '../relation/heads.js';
import { segmentWeights, updateWeights } from '../verifier/flow/borders.js';
import { classPoint, hiddenPoint, rowPoint, weightPoint, type TensorPoint } from '../verifier/flow/tensors.js';
import type { Cells } from './cells.js';
import { lookupScript } from './lookup-script.js';
import { executedHeads } from './heads.js';
import type { RecordingTranscript } from './recording-transcript.js';
import { batched, evaluateBase, lifted, productSumcheck, scaledSegments, type Script } from './sumcheck-script.js';

/** A term of F4 with what F5 needs of it: weights over the inputs and outputs of its layer. */
interface MatmulTerm {
  readonly layer: number;
  readonly f: ExtArray;
  readonly g: ExtArray;
  /** Which side of the layer is contracted, and the weights of the other. */
  readonly contracted: 'input' | 'output';
  readonly fixed: ExtArray;
}

interface UpdateTerm {
  readonly layer: number;
  readonly input: ExtArray;
  readonly output: ExtArray;
  readonly steps: readonly Ext[];
}

/** Cells of a layer in the order [t][unit][b], or [unit][t][b]; step t may stand at another place. */
interface Tensor {
  readonly cells: BaseArray;
  readonly units: number;
  readonly unitsFirst: boolean;
  stepOf?(t: number): number;
}

export function* stepScript(
  cells: Cells,
  transcript: RecordingTranscript,
  pads: ExtArray,
  stepSizes: readonly number[],
): Script {
  yield* new StepScript(cells, transcript, stepSizes).run(pads);
}

class StepScript {
  constructor(
    readonly cells: Cells,
    readonly transcript: RecordingTranscript,
    readonly stepSizes: readonly number[],
  ) {}

  *run(pads: ExtArray): Script {
    const { cells, transcript } = this;
    const { backend, plan } = cells;
    const mark = backend.mark();
    for (let k = 0; k < plan.profile.oodPoints; k++) {
      yield oodOf(backend, cells.rows('S'), transcript.take('oodS'));
    }
    const leaf = yield* lookupScript(cells, transcript);
    yield* this.#columns(leaf.point);
    yield* leaf.close;
    const products = backend.mark();
    const back = yield* this.#products(leaf.point);
    backend.release(products);
    const updates = yield* this.#matmuls(leaf.point, back);
    if (!plan.shape.isForward) yield* this.#updates(leaf.point, updates);
    yield* this.#padProducts(pads);
    backend.release(mark);
  }

  /** F2: hidden values at the leaf point. */
  *#columns(point: Point): Script {
    const { cells } = this;
    const { shape } = cells.plan;
    const at = (values: BaseArray, own: Point): Ext => evaluateBase(cells.backend, values, own);
    for (const { layer } of shape.layers.slice(0, -1)) {
      const { step, unit, sample } = hiddenPoint(shape, layer, point);
      yield at(cells.virtual(`Z${layer}`), [...step, ...unit, ...sample]);
      if (!shape.isForward) yield at(cells.virtual(`MH${layer}`), [...step, ...unit, ...sample]);
    }
    const { hidden } = relatedHeads[shape.loss];
    for (const piece of shape.pieces) {
      const { step, unit, sample } = classPoint(shape, piece, point);
      for (const name of ['ZL', ...hidden.pieces]) yield at(cells.virtual(name), [...unit, ...step, ...sample]);
    }
    for (const name of hidden.rows) yield at(cells.virtual(name), suffix(point, shape.stepVars + shape.batchVars));
  }

  /** F3. @returns the points of the backward claims */
  *#products(leafPoint: Point): Script<TensorPoint[]> {
    const { cells, transcript } = this;
    const { backend, plan } = cells;
    const { shape } = plan;
    const lift = (values: BaseArray): ExtArray => lifted(backend, values);
    const hidden = shape.isForward ? [] : shape.layers.slice(0, -1);
    const backward = hidden.map(({ layer }) => ({
      f: lift(cells.block('S', `M${layer}`)),
      g: lift(cells.virtual(`H${layer}`)),
    }));
    const terms = [...backward, ...executedHeads[shape.loss].products(cells)];
    if (terms.length === 0) return [];
    const gamma = transcript.take('gammaProducts');
    const vars = Math.max(...terms.map(({ f }) => Math.log2(f.length / 2)));
    const end = yield* productSumcheck(backend, transcript, suffix(leafPoint, vars), batched(terms, gamma));
    yield* end.values.flat();
    return hidden.map(({ layer }) => hiddenPoint(shape, layer, end.point));
  }

  /** F4. */
  *#matmuls(leafPoint: Point, back: readonly TensorPoint[]): Script<UpdateTerm[]> {
    const { cells, transcript } = this;
    const { backend, plan } = cells;
    const { shape } = plan;
    const gamma = transcript.take('gammaMatmuls');
    const gammaClass = transcript.take('gammaClasses');
    const terms = shape.layers.flatMap(({ layer, isLast }) => {
      const forward = isLast ? this.#logitTerm(leafPoint, gammaClass) : this.#hiddenTerm(layer, leafPoint);
      return layer === 1 || shape.isForward ? [forward] : [forward, this.#backTerm(layer, back[layer - 2]!)];
    });
    const vars = terms.map(({ f }) => Math.log2(f.length / 2));
    const most = Math.max(...vars);
    const end = yield* productSumcheck(backend, transcript, halves(most), batched(terms, gamma));
    yield* end.values.flat();
    return terms.map(({ layer, contracted, fixed }, k) => {
      const own = suffix(end.point, vars[k]!);
      const free = backend.eqTable(own.slice(shape.stepVars), F.ONE);
      const steps = updateWeights(shape, own.slice(0, shape.stepVars), this.stepSizes);
      const [input, output] = contracted === 'input' ? [free, fixed] : [fixed, free];
      return { layer, input, output, steps };
    });
  }

  /** F5. */
  *#updates(leafPoint: Point, inner: readonly UpdateTerm[]): Script {
    const { cells, transcript, stepSizes } = this;
    const { backend, plan } = cells;
    const { shape } = plan;
    const gamma = transcript.take('gammaUpdates');
    const borders = shape.layers.map(({ layer }): UpdateTerm => {
      const { segment, input, output } = weightPoint(shape, layer, leafPoint);
      const steps = segmentWeights(shape, segment, stepSizes);
      return { layer, input: backend.eqTable(input, F.ONE), output: backend.eqTable(output, F.ONE), steps };
    });
    const terms = [...(shape.stepVars === 0 ? [] : inner), ...borders].map(({ layer, input, output, steps }) => ({
      f: scaledSegments(backend, this.#real(this.#boundActivation(layer, input)), steps),
      g: this.#boundError(layer, output),
    }));
    const point = halves(shape.stepVars + shape.batchVars);
    const end = yield* productSumcheck(backend, transcript, point, batched(terms, gamma));
    yield* end.values.flat();
  }

  /** F6. */
  *#padProducts(pads: ExtArray): Script {
    const { backend, plan } = this.cells;
    const { slotVars } = plan.messages;
    const slots = 2 ** slotVars;
    const tau = Array.from({ length: slotVars }, () => this.transcript.take('tau'));
    const own = (first: number): ExtArray => {
      const copy = backend.ext(slots);
      copy.set(extView(pads, first, slots));
      return copy;
    };
    const terms = batched([{ f: own(0), g: own(slots) }], F.ONE);
    const end = yield* productSumcheck(backend, this.transcript, tau, terms);
    yield* end.values.flat();
  }

  #hiddenTerm(layer: number, leafPoint: Point): MatmulTerm {
    const { step, unit, sample } = hiddenPoint(this.cells.plan.shape, layer, leafPoint);
    return this.#forwardTerm(layer, step, this.cells.backend.eqTable(unit, F.ONE), sample);
  }

  #logitTerm(leafPoint: Point, gammaClass: Ext): MatmulTerm {
    const { backend, plan } = this.cells;
    const { shape } = plan;
    const { step, sample } = rowPoint(shape, leafPoint);
    const weights = backend.ext(2 ** shape.widthVars.at(-1)!);
    let power = F.ONE;
    for (const piece of shape.pieces) {
      const { unit } = classPoint(shape, piece, leafPoint);
      backend.addScaled(weights, backend.eqTable(unit, F.ONE), power);
      power = F.mul(power, gammaClass);
    }
    return this.#forwardTerm(shape.layers.length, step, weights, sample);
  }

  #forwardTerm(layer: number, step: Point, output: ExtArray, sample: Point): MatmulTerm {
    const { backend } = this.cells;
    const bound = this.#boundSamples(this.#activation(layer - 1), backend.eqTable(sample, F.ONE));
    return {
      layer,
      f: scaledSegments(backend, bound, eqTable(step)),
      g: this.#movedWeights(layer, 'input', output),
      contracted: 'input',
      fixed: output,
    };
  }

  #backTerm(layer: number, { step, unit, sample }: TensorPoint): MatmulTerm {
    const { backend } = this.cells;
    const input = backend.eqTable(unit, F.ONE);
    const bound = this.#boundSamples(this.#errors(layer), backend.eqTable(sample, F.ONE));
    return {
      layer,
      f: scaledSegments(backend, bound, eqTable(step)),
      g: this.#movedWeights(layer, 'output', input),
      contracted: 'output',
      fixed: input,
    };
  }

  /** W_t for every step t, bound on one side: [t][other side], from W_0 and the updates. */
  #movedWeights(layer: number, free: 'input' | 'output', fixed: ExtArray): ExtArray {
    const { backend, plan } = this.cells;
    const { shape } = plan;
    const width = 2 ** shape.widthVars[free === 'input' ? layer - 1 : layer]!;
    const steps = 2 ** shape.stepVars;
    const samples = 2 ** shape.batchVars;
    const out = backend.ext(steps * width);
    const atStart = (weights: BaseArray): ExtArray => backend.bind(weights, fixed, free === 'input' ? 1 : width);
    out.set(atStart(this.cells.block('W0', `W${layer}`)));
    if (steps === 1) return out;
    const bound = this.#real(free === 'input' ? this.#boundError(layer, fixed) : this.#boundActivation(layer, fixed));
    const tensor = free === 'input' ? this.#activation(layer - 1) : this.#errors(layer);
    const length = steps / 2 ** shape.segmentVars;
    for (let t = 1; t < steps; t++) {
      if (t % length === 0) {
        extView(out, t * width, width).set(atStart(this.#endOf(layer, t / length - 1)));
        continue;
      }
      const mark = backend.mark();
      const moved = backend.bind(this.#ofStep(tensor, t - 1), extView(bound, (t - 1) * samples, samples), 1);
      const target = extView(out, t * width, width);
      target.set(extView(out, (t - 1) * width, width));
      backend.addScaled(target, moved, F.fromInteger(-this.stepSizes[t - 1]!));
      backend.release(mark);
    }
    return out;
  }

  /** W_l after a segment that is not the last. */
  #endOf(layer: number, segment: number): BaseArray {
    const ends = this.cells.block('S', `Wn${layer}`);
    const size = ends.length / 2 ** this.cells.plan.shape.segmentVars;
    return ends.subarray(segment * size, (segment + 1) * size);
  }

  /** A_{l−1} bound over its units: [t][b]. */
  #boundActivation(layer: number, input: ExtArray): ExtArray {
    return this.#boundUnits(this.#activation(layer - 1), input);
  }

  /** G_l bound over its units: [t][b]. */
  #boundError(layer: number, output: ExtArray): ExtArray {
    return this.#boundUnits(this.#errors(layer), output);
  }

  /** [t][b] with zeros for the samples that only fill the batch up. */
  #real(values: ExtArray): ExtArray {
    const { batch, batchVars } = this.cells.plan.shape;
    const size = 2 ** batchVars;
    for (let end = size; batch < size && end <= values.length / 2; end += size) {
      extView(values, end - size + batch, size - batch).fill(0n);
    }
    return values;
  }

  /** A_l; A_0 is the data. */
  #activation(layer: number): Tensor {
    const { shape } = this.cells.plan;
    const units = shape.widths[layer]!;
    if (layer > 0) return { cells: this.cells.block('S', `A${layer}`), units, unitsFirst: false };
    const X = { cells: this.cells.block('D', 'X'), units, unitsFirst: shape.inputsFirst };
    return shape.segmentVars > 0 ? { ...X, stepOf: (t) => this.cells.committedStep(t) } : X;
  }

  /** G_l; of the last layer the committed order is [unit][t][b]. */
  #errors(layer: number): Tensor {
    const { layers, widths } = this.cells.plan.shape;
    const isLast = layer === layers.length;
    const cells = this.cells.block('S', isLast ? 'GL' : `G${layer}`);
    return { cells, units: widths[layer]!, unitsFirst: isLast };
  }

  /** [unit][b] of one step. */
  #ofStep({ cells, units, unitsFirst, stepOf }: Tensor, t: number): BaseArray {
    const { steps, samples } = this.cells.plan.shape;
    const at = stepOf ? stepOf(t) : t;
    if (!unitsFirst) return cells.subarray(at * units * samples, (at + 1) * units * samples);
    const out = this.cells.backend.base(units * samples);
    for (let unit = 0; unit < units; unit++) {
      const first = (unit * steps + at) * samples;
      out.set(cells.subarray(first, first + samples), unit * samples);
    }
    return out;
  }

  /** [t][b]. */
  #boundUnits(tensor: Tensor, weights: ExtArray): ExtArray {
    const { backend } = this.cells;
    const { steps, samples } = this.cells.plan.shape;
    if (!tensor.unitsFirst && !tensor.stepOf) return backend.bind(tensor.cells, weights, samples);
    const out = backend.ext(steps * samples);
    for (let t = 0; t < steps; t++) {
      const mark = backend.mark();
      extView(out, t * samples, samples).set(backend.bind(this.#ofStep(tensor, t), weights, samples));
      backend.release(mark);
    }
    return out;
  }

  /** [t][unit]. */
  #boundSamples({ cells, units, unitsFirst, stepOf }: Tensor, weights: ExtArray): ExtArray {
    const { backend, plan } = this.cells;
    const bound = backend.bind(cells, weights, 1);
    if (!unitsFirst && !stepOf) return bound;
    const { steps } = plan.shape;
    const out = backend.ext(steps * units);
    for (let t = 0; t < steps; t++) {
      const at = stepOf ? stepOf(t) : t;
      for (let unit = 0; unit < units; unit++) {
        setExt(out, t * units + unit, extAt(bound, unitsFirst ? unit * steps + at : at * units + unit));
      }
    }
    return out;
  }
}
