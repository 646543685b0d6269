/**
 * Which argument proves a job, by a model of what each costs, with its reasons. Calibrated on two cores of an AMD EPYC with
 * Node 20; the figures only have to rank.
 */
import { Rejection } from '#attestation/base';
import type { Manifest } from '#libs/step';
import type { Ceremony, Variant } from '#libs/zk/verifier';
import { groth16Admission } from './groth16-admission.js';
import { explainPlan } from './plan-choice.js';
import { proofCost } from './proof-cost.js';

export type BackendName = 'sumcheck' | 'groth16';

interface BackendEstimate {
  readonly backend: BackendName;
  /** Why it cannot prove the manifest, where it cannot. */
  readonly refusal?: string;
  /** Parameters of sumcheck, and why these. */
  readonly profile?: { readonly name: string; readonly why: string };
  /** For one segment. */
  readonly cpuSeconds?: number;
  readonly proofBytes?: number;
  readonly verifyGas?: number;
  /** Constraints of the circuit, or cells of the committed hypercube. */
  readonly size?: number;
  /** What soundness rests on beside mathematics. */
  readonly setup: 'none' | Ceremony;
}

export interface BackendChoice {
  readonly backend: BackendName;
  /** One sentence each. */
  readonly why: readonly string[];
  readonly estimates: readonly BackendEstimate[];
}

export interface BackendWish {
  readonly backend: 'auto' | BackendName;
  readonly profile: string;
  /** How sumcheck commits; joint where absent. */
  readonly variant?: Variant;
  /** Whether a contract will check every segment's proof. */
  readonly onChain: boolean;
  /** Of the key that is at hand. */
  readonly ceremony: Ceremony;
}

/** What a contract's gas costs, in CPU-seconds: 1 gwei and 3,000 $ for the coin, 0.05 $ for a core's hour. */
const cpuSecondsPerGas = 0.2;
/**
 * `auto` never takes a development key: its maker could forge, and nobody asked for that.
 *
 * @throws Rejection STEP_PLAN or GROTH16_SHAPE when the backend asked for, or none that may be used, can prove the manifest
 */
export function chooseBackend(manifest: Manifest, wish: BackendWish): BackendChoice {
  const attempts = [
    attempt('sumcheck', 'none', () => sumcheckEstimate(manifest, wish)),
    attempt('groth16', wish.ceremony, () => groth16Estimate(manifest, wish.ceremony)),
  ];
  const estimates = attempts.map(({ estimate }) => estimate);
  const isWanted = ({ backend, setup }: BackendEstimate): boolean =>
    wish.backend === 'auto' ? setup !== 'development' : backend === wish.backend;
  const wanted = attempts.filter(({ estimate }) => isWanted(estimate));
  const [first, second] = wanted.filter(({ error }) => error === undefined).map(({ estimate }) => estimate);
  if (first === undefined) throw wanted[0]!.error;
  const { estimate, why } = decided(first, second, estimates, wish);
  const { backend, profile } = estimate;
  return { backend, why: profile ? [...why, `${profile.name} ${profile.why}`] : why, estimates };
}

interface Decided {
  readonly estimate: BackendEstimate;
  readonly why: readonly string[];
}

function decided(
  first: BackendEstimate,
  second: BackendEstimate | undefined,
  estimates: readonly BackendEstimate[],
  wish: BackendWish,
): Decided {
  if (wish.backend !== 'auto') return { estimate: first, why: ['it was asked for by name'] };
  if (second !== undefined) return cheaper(first, second, wish.onChain);
  const other = estimates.find((estimate) => estimate !== first)!;
  const reason = other.refusal ?? 'the key at hand is a development key, which is used only when asked for by name';
  return { estimate: first, why: [`not ${other.backend}: ${reason}`] };
}

function cheaper(sumcheck: BackendEstimate, groth16: BackendEstimate, onChain: boolean): Decided {
  const cost = ({ cpuSeconds, verifyGas }: BackendEstimate): number =>
    cpuSeconds! + (onChain ? (verifyGas ?? Infinity) * cpuSecondsPerGas : 0);
  const sentence = (estimate: BackendEstimate): string =>
    `${estimate.backend}: ${estimate.cpuSeconds!.toFixed(1)} CPU s for a segment` +
    (onChain
      ? `, ${estimate.verifyGas ?? 'too much'} gas to verify, together worth ${cost(estimate).toFixed(0)} CPU s`
      : '');
  const estimate = cost(groth16) < cost(sumcheck) ? groth16 : sumcheck;
  return { estimate, why: [sentence(sumcheck), sentence(groth16)] };
}

function sumcheckEstimate(
  manifest: Manifest,
  { profile: wanted, variant = 'joint', onChain }: BackendWish,
): Omit<BackendEstimate, 'backend' | 'setup'> {
  const { plan, why } = explainPlan(manifest, wanted, variant, onChain);
  const { cpuSeconds, proofBytes, gas } = proofCost(plan);
  const size = 2 ** plan.vars;
  return { size, cpuSeconds, proofBytes, ...(gas && { verifyGas: gas }), profile: { name: plan.profile.name, why } };
}

function groth16Estimate(manifest: Manifest, ceremony: Ceremony): Omit<BackendEstimate, 'backend'> {
  const { constraints: size } = groth16Admission(manifest);
  return { size, cpuSeconds: 1.5 + 1.8e-4 * size, proofBytes: 256, verifyGas: 286_000, setup: ceremony };
}

interface Attempt {
  readonly estimate: BackendEstimate;
  readonly error?: unknown;
}

function attempt(
  backend: BackendName,
  setup: BackendEstimate['setup'],
  estimate: () => Omit<BackendEstimate, 'backend' | 'setup'>,
): Attempt {
  try {
    return { estimate: { ...estimate(), backend, setup } };
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    const refusal = `${error.code}: expected ${error.detail.expected}, got ${error.detail.got}`;
    return { estimate: { backend, setup, refusal }, error };
  }
}
