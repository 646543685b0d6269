/**
 * Mutants of one proof of each profile whose opening has two levels, units of several segments included, spread over
 * every part of it: TypeScript and the contract agree on each, and none is accepted. A short form here; the long one by name, with proofs of 784-64-10 in as
 * many steps as the profile is made for:
 *
 *   VERITRAIN_WIDE=1 VERITRAIN_MUTATIONS=10000 npx vitest run --project wide contracts/test/zk-profiles.wide.test.ts
 */
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { profileManifest, type Manifest } from '#libs/step';
import { createEngine, KernelBackend } from '#libs/zk';
import { levelsOf, profiles } from '#libs/zk/verifier';
import * as multiproof from '../../libs/zk/src/merkle/multiproof.js';
import { seedOf, testManifest, testSeed } from '../../libs/zk/src/testing/segments.js';
import { partsOf, type ProofPart } from '../../libs/zk/src/testing/structure.js';
import { inTypeScript, openStepVerifier, type StepVerifierOnChain } from './zk-chain.js';
import { sealSegment, type SealedSegment } from './zk-seal.js';

const count = Number(process.env['VERITRAIN_MUTATIONS'] ?? 60);
const isLong = count >= 10_000;
const atOnce = 4;

/** Profiles, and steps of a segment. */
const units = [
  ['chain64', 64],
  ['sum100', 64],
  ['steps128', 128],
  ['unit64', 16],
] as const;

let stepVerifier: StepVerifierOnChain;
beforeAll(async () => {
  stepVerifier = await openStepVerifier();
});
afterAll(() => stepVerifier?.stop());
afterEach(() => vi.restoreAllMocks());

function manifestOf(steps: number): Manifest {
  if (!isLong) return testManifest({ superblock: 4 });
  return profileManifest('fx1', { dims: [784, 64, 10], batch: 64, e: 8, steps, seed: testSeed, superblock: steps });
}

function sealUnit(name: string, steps: number): SealedSegment {
  const profile = profiles.get(name)!;
  const backend = new KernelBackend(createEngine({ rowLogMax: profile.m, memoryBytesMax: 2 ** 32 }));
  return sealSegment(backend, { profile, manifest: manifestOf(steps) });
}

/** Parts by what they are and of which tree: a proof has far more symbols than roots. */
function groupsOf({ plan, statement, fields }: SealedSegment): readonly (readonly [string, readonly ProofPart[]])[] {
  const groups = new Map<string, ProofPart[]>();
  for (const part of partsOf(plan, statement, fields.proof)) {
    const name = `${part.kind} ${part.tree ?? ''}`.trim();
    groups.set(name, [...(groups.get(name) ?? []), part]);
  }
  return [...groups];
}

interface Mutant {
  readonly name: string;
  readonly proof: Uint8Array;
}

/** In turn of every group: a bit of one part is another, the part is that of a neighbour, or the proof ends in it. */
function mutantOf(proof: Uint8Array, groups: ReturnType<typeof groupsOf>, k: number): Mutant {
  const random = new DataView(seedOf(`profile mutant ${k}`).buffer);
  const [group, parts] = groups[k % groups.length]!;
  const { offset, length } = parts[random.getUint32(0) % parts.length]!;
  const place = offset + (random.getUint32(4) % length);
  const name = `mutant ${k}, ${group} at byte ${place}`;
  const kind = random.getUint8(8) % 16;
  if (kind === 0) return { name: `${name}, cut`, proof: proof.subarray(0, place) };
  const copy = Uint8Array.from(proof);
  const other = parts[random.getUint32(12) % parts.length]!;
  const own = proof.subarray(offset, offset + length);
  const another = proof.subarray(other.offset, other.offset + length);
  if (kind < 4 && Buffer.compare(own, another) !== 0) {
    copy.set(another, offset);
    return { name: `${name}, exchanged`, proof: copy };
  }
  copy[place]! ^= 1 << (random.getUint8(9) % 8);
  return { name, proof: copy };
}

type Verdicts = readonly { readonly name: string; readonly here: string; readonly there: string }[];

/** What both say of mutants `from` to `to`. */
async function judge(sealed: SealedSegment, from: number, to: number): Promise<Verdicts> {
  const { plan, statement, fields, digest } = sealed;
  const groups = groupsOf(sealed);
  const said: Verdicts[number][] = [];
  for (let first = from; first < to; first += atOnce) {
    const some = Array.from({ length: Math.min(atOnce, to - first) }, (_, k) =>
      mutantOf(fields.proof, groups, first + k),
    );
    const both = some.map(async ({ name, proof }) => {
      const there = stepVerifier.judgeStrictly({ ...fields, proof }, digest);
      return { name, here: inTypeScript(plan, statement, proof), there: await there };
    });
    said.push(...(await Promise.all(both)));
  }
  return said;
}

describe.each(units)('mutants of a proof under %s', (name, steps) => {
  let sealed: SealedSegment;
  beforeAll(() => {
    sealed = sealUnit(name, steps);
  }, 600_000);

  it('are none of them accepted, and refused with one code', { timeout: 7_200_000 }, async () => {
    expect(await stepVerifier.judgeStrictly(sealed.fields, sealed.digest)).toBe('accepted');
    const said = await judge(sealed, 0, count);
    expect(said).toHaveLength(count);
    expect(said.filter(({ here, there }) => here !== there || here === 'accepted')).toEqual([]);
    const codes = new Set(said.map(({ here }) => here));
    for (const tree of ['J', 'W0', 'D', 'L1', 'L2']) expect(codes).toContain(`STEP_MERKLE_${tree}`);
    for (const code of ['POW', ...(isLong ? ['STATEMENT', 'PROOF_LENGTH', 'FINAL_CHECK'] : [])])
      expect(codes).toContain(`STEP_${code}`);
  });

  it.each([
    ['L1', 0],
    ['L2', 1],
  ] as const)('tell a verifier that leaves out the root of %s', async (tree, place) => {
    const { plan, statement, fields } = sealed;
    const { rootOf } = multiproof;
    const { columnVars, logBlowup } = levelsOf(plan.profile)[place]!;
    const root = partsOf(plan, statement, fields.proof).find((part) => part.kind === 'root' && part.tree === tree)!;
    const stated = fields.proof.subarray(root.offset, root.offset + root.length);
    vi.spyOn(multiproof, 'rootOf').mockImplementation((...given) => {
      const reached = rootOf(...given);
      return given[1] === columnVars + logBlowup ? stated : reached;
    });
    const said = await judge(sealed, 0, Math.min(count, 60));
    expect(said.filter(({ here, there }) => here === 'accepted' && there === `STEP_MERKLE_${tree}`)).not.toEqual([]);
  });
});
