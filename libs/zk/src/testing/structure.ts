/** What a proof consists of, written down while the verifier reads it: so that a test of every part leaves none out. */
import type { Ext } from '../commit/field/extension.js';
import type { TreeName } from '../commit/hash.js';
import type { Plan } from '../relation/plan.js';
import { Transcript } from '../transcript/transcript.js';
import { ProofBytes } from '../verifier/source.js';
import type { StepProofStatement } from '../verifier/statement.js';
import { runVerifier } from '../verifier/verify.js';

export interface ProofPart {
  readonly kind: 'masked' | 'clear' | 'nonce' | 'symbol' | 'aux' | 'sibling' | 'root';
  readonly tree?: TreeName;
  /** Bytes [offset, offset + length) of the proof. */
  readonly offset: number;
  readonly length: number;
}

class WatchedProof extends ProofBytes {
  readonly parts: ProofPart[] = [];
  #offset = 0;

  override masked(): Ext {
    this.#note('masked', 16);
    return super.clear();
  }

  override clear(): Ext {
    this.#note('clear', 16);
    return super.clear();
  }

  override nonce(): Uint8Array {
    this.#note('nonce', 8);
    return super.nonce();
  }

  override symbols(tree: TreeName, leaf: number, count: number): Uint8Array {
    for (let k = 0; k < count; k++) this.#note('symbol', 8, tree);
    return super.symbols(tree, leaf, count);
  }

  override aux(tree: TreeName, leaf: number): Uint8Array {
    this.#note('aux', 32, tree);
    return super.aux(tree, leaf);
  }

  override sibling(tree: TreeName, level: number, index: number, digestBytes: number): Uint8Array {
    this.#note('sibling', digestBytes, tree);
    return super.sibling(tree, level, index, digestBytes);
  }

  override root(tree: TreeName): Uint8Array {
    this.#note('root', 32, tree);
    return super.root(tree);
  }

  #note(kind: ProofPart['kind'], length: number, tree?: TreeName): void {
    this.parts.push({ kind, offset: this.#offset, length, ...(tree ? { tree } : {}) });
    this.#offset += length;
  }
}

/** The parts of an accepted proof, in order; together they are all of its bytes. */
export function partsOf(plan: Plan, statement: StepProofStatement, proof: Uint8Array): readonly ProofPart[] {
  return partsRead(proof, (source) => void runVerifier(plan, statement, new Transcript(), source));
}

/** The same of whatever a verifier reads. */
export function partsRead(proof: Uint8Array, verify: (source: ProofBytes) => void): readonly ProofPart[] {
  const source = new WatchedProof(proof);
  verify(source);
  return source.parts;
}

export type Path = readonly (string | number)[];

/** Paths of every field of a value that is no object itself: numbers, strings, byte strings, functions. */
export function leavesOf(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return [path];
  return Object.entries(value).flatMap(([name, entry]) =>
    leavesOf(entry, [...path, Array.isArray(value) ? Number(name) : name]),
  );
}

/** A copy with one leaf changed. */
export function withLeaf<T>(value: T, path: Path, change: (leaf: unknown) => unknown): T {
  if (path.length === 0) return change(value) as T;
  const [name, ...rest] = path as [string | number, ...Path];
  const copy = (Array.isArray(value) ? [...(value as unknown[])] : { ...value }) as Record<string | number, unknown>;
  copy[name] = withLeaf(copy[name], rest, change);
  return copy as T;
}
