/**
 * The checks that are no constraints: grinding, paths, the final value, the end of the proof. For each
 * a change that the verifier rejects and a verifier without this check accepts.
 */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { concatBytes } from '#attestation/base';
import * as F from '../commit/field/extension.js';
import { createEngine } from '../commit/kernels/index.js';
import * as multiproof from '../merkle/multiproof.js';
import { KernelBackend } from '../prover/kernel-backend.js';
import { proveSegment } from '../prover/prove.js';
import { codeOfProof, flipped } from '../testing/lies.js';
import { testManifest, testProfile, testSegment } from '../testing/segments.js';
import { partsOf } from '../testing/structure.js';
import { Transcript } from '../transcript/transcript.js';
import { ProofBytes } from './source.js';
import { runVerifier } from './verify.js';

const backend = new KernelBackend(createEngine({ rowLogMax: 12 }));
const profile = { ...testProfile, m: 9, k1: 3, queries0: 4, queries1: 3, grind0: 10 };
const segment = testSegment(backend, { profile, variant: 'separate', manifest: testManifest({ superblock: 2 }) });
const { plan } = segment;
const { proof, statement } = proveSegment(backend, plan, segment.input);
const parts = partsOf(plan, statement, proof);

afterEach(() => vi.restoreAllMocks());

const codeOf = (changed: Uint8Array): string => codeOfProof(plan, statement, changed);

describe('a verifier that leaves out', () => {
  it('grinding accepts nonces of zero', () => {
    const zero = vi.spyOn(KernelBackend.prototype, 'grind').mockReturnValue(new Uint8Array(8));
    const lazy = vi.spyOn(Transcript.prototype, 'grind').mockImplementation(function (
      this: Transcript,
      _hash,
      bits,
      nonceFor,
    ) {
      if (bits > 0) this.absorb(nonceFor(this.digest('pow'), bits));
    });
    const made = proveSegment(backend, plan, segment.input);
    expect(() => runVerifier(plan, made.statement, new Transcript(), new ProofBytes(made.proof))).not.toThrow();
    lazy.mockRestore();
    zero.mockRestore();
    expect(() => runVerifier(plan, made.statement, new Transcript(), new ProofBytes(made.proof))).toThrow('STEP_POW');
  });

  it.each([
    ['W0', 0],
    ['WT', 1],
    ['S', 2],
    ['D', 3],
    ['L1', 4],
  ] as const)('the root of %s accepts a false sibling', (tree, place) => {
    const sibling = parts.find((part) => part.kind === 'sibling' && part.tree === tree)!;
    const changed = flipped(proof, sibling.offset);
    expect(codeOf(changed)).toBe(`STEP_MERKLE_${tree}`);
    const rootOf = multiproof.rootOf;
    const level1 = parts.find((part) => part.kind === 'root' && part.tree === 'L1')!;
    const witness = parts.find((part) => part.kind === 'root' && part.tree === 'S')!;
    const own = ({ offset }: { offset: number }) => proof.subarray(offset, offset + 32);
    const { before, after, data } = statement;
    const roots = [before.root, after.root, own(witness), data.root, own(level1)];
    let call = 0;
    vi.spyOn(multiproof, 'rootOf').mockImplementation((...given) => {
      const reached = rootOf(...given);
      return call++ === place ? roots[place]! : reached;
    });
    expect(codeOf(changed)).toBe('accepted');
  });

  it('the final value accepts a false last message', () => {
    const last = parts.at(-1)!;
    const changed = flipped(proof, last.offset + last.length - 1);
    expect(codeOf(changed)).toBe('STEP_FINAL_CHECK');
    vi.spyOn(F, 'equal').mockReturnValue(true);
    expect(codeOf(changed)).toBe('accepted');
  });

  it('the end of the proof accepts bytes behind it', () => {
    const changed = concatBytes(proof, Uint8Array.of(0));
    expect(codeOf(changed)).toBe('STEP_PROOF_LENGTH');
    vi.spyOn(ProofBytes.prototype, 'finish').mockReturnValue(undefined);
    expect(codeOf(changed)).toBe('accepted');
  });
});
