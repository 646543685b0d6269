/** A run of the engine alone on its validation set: measured when, and ended where, the manifest says (libs/step/SPEC.md §29). */
import { Rejection } from '#attestation/base';
import { evaluatedSteps, standingsOf, type EvaluationStatement, type StopRule } from '#attestation/records';
import { NetForward } from '#libs/onnx';
import { parametersOf, splitNetRecords, type NetExamples, type NetManifest, type Weights } from '#libs/step';
import { measure } from './measure.js';

/** How far a run has come. */
interface Reached {
  readonly step: number;
  readonly weights: Weights;
}

export interface Evaluated {
  readonly step: number;
  /** Whole numbers as decimal digits. */
  readonly metrics: readonly { readonly metric: string; readonly numerator: string; readonly denominator: string }[];
}

export class Validation {
  readonly #numerators: bigint[] = [];
  #best: Reached | null = null;
  #isOver = false;

  private constructor(
    private readonly forward: NetForward,
    private readonly examples: NetExamples,
    private readonly frozen: Weights,
  ) {}

  /** @param records of layout 2 @throws Rejection ENGINE_REQUEST where the manifest does not evaluate */
  static async open(m: NetManifest, frozen: Weights, records: Uint8Array, threads = 1): Promise<Validation> {
    if (m.evaluate !== null) {
      return new Validation(await NetForward.open(m, threads), splitNetRecords(m, records), frozen);
    }
    throw new Rejection('ENGINE_REQUEST', {
      ...{ expected: 'a manifest that evaluates, beside a validation set', got: 'one that does not' },
      rule: 'enclave engine request',
    });
  }

  /** Steps done at each evaluation. */
  get steps(): readonly number[] {
    const { evaluate, steps } = this.forward.manifest;
    return evaluatedSteps({ every: evaluate!.every, steps });
  }

  /** Whether the manifest's rule has ended the run. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** What a run with a rule gives; null without one. */
  get best(): Reached | null {
    return this.#best;
  }

  async evaluate(reached: Reached): Promise<Evaluated> {
    const { manifest } = this.forward;
    const metrics = await measure(this.forward, parametersOf(manifest, reached.weights, this.frozen), this.examples);
    if (manifest.stop !== null) this.#judge(manifest.stop as StopRule, metrics, reached);
    return {
      step: reached.step,
      metrics: metrics.map(({ metric, numerator, denominator }) => ({
        ...{ metric, numerator: String(numerator), denominator: String(denominator) },
      })),
    };
  }

  #judge(rule: StopRule, metrics: EvaluationStatement['metrics'], reached: Reached): void {
    this.#numerators.push(metrics.find(({ metric }) => metric === rule.metric)!.numerator);
    const { best, isOver } = standingsOf(rule, this.#numerators).at(-1)!;
    if (best === this.#numerators.length - 1) this.#best = reached;
    this.#isOver = isOver;
  }

  close(): Promise<void> {
    return this.forward.close();
  }
}
