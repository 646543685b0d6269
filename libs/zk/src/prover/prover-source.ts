/**
 * Answers the verifier by computing, and writes down what it answered: the bytes of the proof (libs/zk/SPEC.md §10).
 */
import { extAt } from '../commit/arrays.js';
import type { ExtArray } from '../commit/backend.js';
import type { OpenableTree } from '../commit/commit.js';
import { extBytes } from '../commit/field/bytes.js';
import * as F from '../commit/field/extension.js';
import type { Ext } from '../commit/field/extension.js';
import type { TreeHash, TreeName } from '../commit/hash.js';
import { levelTrees } from '../relation/levels.js';
import type { ProofSource } from '../verifier/source.js';
import type { Backend } from './backend.js';
import type { Script } from './sumcheck-script.js';
import { OpenBlock } from './symbols.js';

export class ProverSource implements ProofSource {
  readonly #parts: Uint8Array[] = [];
  readonly #trees: Partial<Record<TreeName, OpenableTree>>;
  readonly #blocks = new Map<string, OpenBlock>();
  #script: Script | undefined;

  constructor(
    readonly backend: Backend,
    readonly by: TreeHash,
    readonly pads: ExtArray,
    trees: Partial<Record<TreeName, OpenableTree>>,
  ) {
    this.#trees = { ...trees };
  }

  /** Messages come from here from now on; the script before must be at its end. */
  follow(script: Script): void {
    if (this.#script) this.finish();
    this.#script = script;
  }

  publish(name: TreeName, tree: OpenableTree): void {
    this.#trees[name] = tree;
  }

  masked(pad: number): Ext {
    return this.#send(F.add(this.#next(), extAt(this.pads, pad)));
  }

  clear(): Ext {
    return this.#send(this.#next());
  }

  nonce(seed: Uint8Array, bits: number): Uint8Array {
    return this.#write(this.backend.grind(this.by.hash, seed, bits));
  }

  symbols(name: TreeName, leaf: number, count: number): Uint8Array {
    const { block, at } = this.#block(name, leaf);
    const symbols = new Uint8Array(8 * count);
    const view = new DataView(symbols.buffer);
    for (let row = 0; row < count; row++) view.setBigUint64(8 * row, block.symbols[row]![at]!);
    return this.#write(symbols);
  }

  aux(name: TreeName, leaf: number): Uint8Array {
    const { block, at } = this.#block(name, leaf);
    return this.#write(block.endings!.slice(32 * at, 32 * at + 32));
  }

  sibling(name: TreeName, level: number, index: number, digestBytes: number): Uint8Array {
    const { from, levels } = this.#tree(name).tree;
    const [digests, place] =
      level < from
        ? [this.#block(name, index * 2 ** level).block.level(level), index % 2 ** (from - level)]
        : [levels[level - from]!, index];
    return this.#write(digests.slice(32 * place, 32 * place + digestBytes));
  }

  oodValues(name: TreeName): readonly Ext[] {
    return this.#tree(name).ood!.map((value) => this.#send(value));
  }

  /** The script stops where the root of a level is due, after it has published the tree. */
  root(name: TreeName): Uint8Array {
    if (levelTrees.some((level) => level === name)) this.#next();
    return this.#write(this.#tree(name).tree.root);
  }

  finish(): void {
    if (!this.#script?.next().done) throw new Error('the prover has messages left that the verifier never asked for');
  }

  bytes(): Uint8Array {
    const out = new Uint8Array(this.#parts.reduce((length, part) => length + part.length, 0));
    let offset = 0;
    for (const part of this.#parts) {
      out.set(part, offset);
      offset += part.length;
    }
    return out;
  }

  /** The lowest subtree that a leaf is in, and its place there. */
  #block(name: TreeName, leaf: number): { block: OpenBlock; at: number } {
    const tree = this.#tree(name);
    const count = 2 ** tree.tree.from;
    const index = Math.floor(leaf / count);
    const key = `${name} ${index}`;
    const block = this.#blocks.get(key) ?? new OpenBlock(this.backend, name, this.by, tree, index);
    this.#blocks.set(key, block);
    return { block, at: leaf - index * count };
  }

  #tree(name: TreeName): OpenableTree {
    const tree = this.#trees[name];
    if (tree === undefined) throw new Error(`tree ${name} is not committed yet`);
    return tree;
  }

  #next(): Ext {
    const step = this.#script!.next();
    if (step.done) throw new Error('the verifier asks for a message that the prover does not have');
    return step.value;
  }

  #send(value: Ext): Ext {
    this.#write(extBytes(value));
    return value;
  }

  #write(bytes: Uint8Array): Uint8Array {
    this.#parts.push(bytes);
    return bytes;
  }
}
