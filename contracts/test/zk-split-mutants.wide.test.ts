/**
 * Mutants of both transactions of a proof that is verified in two: what the contract says of each is what TypeScript says of
 * the whole proof, and none is accepted. A short form here; the long one by name:
 *
 *   VERITRAIN_WIDE=1 VERITRAIN_MUTATIONS=10000 npx vitest run --project wide contracts/test/zk-split-mutants.wide.test.ts
 */
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import * as multiproof from '../../libs/zk/src/merkle/multiproof.js';
import { backend, choices } from './zk-cases.js';
import { inTypeScript } from './zk-chain.js';
import { sealSegment } from './zk-seal.js';
import {
  beginning,
  openSplitVerifiers,
  splitSegment,
  type SplitSegment,
  type SplitVerifiers,
} from './zk-split-chain.js';
import { firstPartMaySay, flipped, placesOf, random } from './zk-split-places.js';
import { splitUnits } from './zk-unit-cases.js';

const count = Number(process.env['VERITRAIN_MUTATIONS'] ?? 200);
const proofs = [
  ['one segment', choices.find(([name]) => name === 'three levels, separate, one layer')![1]],
  ...splitUnits.map(([name, choice]) => [`a unit, ${name}`, choice] as const),
] as const;
const sent = { begin: 0, finish: 1 } as const;
type Part = keyof typeof sent;

let onChain: SplitVerifiers;
let segment: SplitSegment;
let places: ReturnType<typeof placesOf>;
beforeAll(async () => {
  onChain = await openSplitVerifiers();
}, 60_000);
afterAll(() => onChain?.stop());
afterEach(() => vi.restoreAllMocks());

/** The code of the contract for its part of a proof. */
async function onChainSays(part: Part, bytes: Uint8Array): Promise<string> {
  const { digest, parts } = segment;
  const args = part === 'begin' ? beginning(segment, bytes) : [digest, parts.rest, bytes];
  const said = await onChain.send('weak', part, args);
  return typeof said === 'string' ? said : 'accepted';
}

/** What the first part may be refused with for a change that the whole proof is refused for with this code. */
function allowed(part: Part, code: string | undefined): readonly string[] {
  // A row that stands in no proof.
  if (code === undefined) return ['STEP_FINAL_CHECK', 'STEP_NONCANONICAL'];
  return part === 'begin' ? firstPartMaySay(code) : [code];
}

interface Verdict {
  readonly name: string;
  readonly here: readonly string[];
  readonly there: string;
}

/** A bit of one byte is another: what both say. */
async function judge(part: Part, k: number): Promise<Verdict> {
  const { plan, statement, fields, parts } = segment;
  const [bytes, from] = part === 'begin' ? [parts.head, places.head] : [parts.openings, places.openings];
  const at = random(2 * k + sent[part], bytes.length);
  const place = from[at]!;
  const code = place < 0 ? undefined : inTypeScript(plan, statement, flipped(fields.proof, place, k % 8));
  const there = await onChainSays(part, flipped(bytes, at, k % 8));
  return { name: `mutant ${k} of ${part}, byte ${at}`, here: allowed(part, code), there };
}

async function judgeAll(part: Part, number: number): Promise<Verdict[]> {
  const said: Verdict[] = [];
  for (let k = 0; k < number; k++) said.push(await judge(part, k));
  return said;
}

const differ = ({ here, there }: Verdict): boolean => !here.includes(there) || there === 'accepted';

const both = proofs.flatMap(([name, choice]) =>
  (['begin', 'finish'] as const).map((part) => [name, part, choice] as const),
);

describe.each(both)('mutants of %s, %s', (_name, part, choice) => {
  beforeAll(async () => {
    segment = splitSegment(sealSegment(backend, choice));
    places = placesOf(segment);
    await onChain.send('weak', 'begin', beginning(segment, segment.parts.head));
  }, 60_000);

  it('are none of them accepted, and refused as the whole proof is', { timeout: 7_200_000 }, async () => {
    const said = await judgeAll(part, count);
    expect(said).toHaveLength(count);
    expect(said.filter(differ)).toEqual([]);
    expect(new Set(said.map(({ there }) => there)).size).toBeGreaterThan(part === 'begin' ? 4 : 2);
  });

  it('tell a verifier that compares no roots', { timeout: 60_000 }, async () => {
    const { rootOf } = multiproof;
    const honest: Uint8Array[] = [];
    const spy = vi.spyOn(multiproof, 'rootOf').mockImplementation((...given) => {
      const reached = rootOf(...given);
      honest.push(reached);
      return reached;
    });
    const { plan, statement, fields } = segment;
    expect(inTypeScript(plan, statement, fields.proof)).toBe('accepted');
    let next = 0;
    spy.mockImplementation((...given) => {
      rootOf(...given);
      return honest[next++ % honest.length]!;
    });
    const said: Verdict[] = [];
    for (let k = 0; k < 40; k++) {
      next = 0;
      said.push(await judge(part, k));
    }
    expect(said.filter(({ here, there }) => here.includes('accepted') && there !== 'accepted')).not.toEqual([]);
    expect(said.filter(differ)).not.toEqual([]);
  });
});
