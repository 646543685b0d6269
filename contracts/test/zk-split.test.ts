/** Proofs that a contract verifies in two transactions (contracts/SPEC.md §11). */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { uintBe } from '#attestation/base';
import { profiles } from '#libs/zk/verifier';
import * as F from '../../libs/zk/src/commit/field/extension.js';
import type { Ext } from '../../libs/zk/src/commit/field/extension.js';
import { extAt, extBytes } from '../../libs/zk/src/commit/field/bytes.js';
import { hashLeaves } from '../../libs/zk/src/commit/hash.js';
import { derivePlan, planBytes } from '../../libs/zk/src/relation/plan.js';
import { partsOf } from '../../libs/zk/src/testing/structure.js';
import { testManifest } from '../../libs/zk/src/testing/segments.js';
import type { Site } from '../../libs/zk/src/transcript/sites.js';
import { Transcript } from '../../libs/zk/src/transcript/transcript.js';
import { ProofBytes } from '../../libs/zk/src/verifier/source.js';
import { runVerifier } from '../../libs/zk/src/verifier/verify.js';
import { backend, choices } from './zk-cases.js';
import { inTypeScript } from './zk-chain.js';
import {
  beginning,
  openSplitVerifiers,
  splitSegment,
  type SplitSegment,
  type SplitVerifiers,
} from './zk-split-chain.js';
import { firstPartMaySay, flipped, levelsIn, placesOf, random } from './zk-split-places.js';
import { sealSegment, selector, splitSelector } from './zk-seal.js';

let onChain: SplitVerifiers;
let first: SplitSegment;
let second: SplitSegment;
const choice = choices.find(([name]) => name === 'three levels, separate, one layer')![1];

beforeAll(async () => {
  onChain = await openSplitVerifiers();
  first = splitSegment(sealSegment(backend, choice));
  second = splitSegment(sealSegment(backend, { ...choice, index: 1 }));
}, 60_000);
afterAll(() => onChain?.stop());

type Of = 'strict' | 'weak' | 'blind' | 'loose';

async function begin({ parts, ...sealed }: SplitSegment, { of = 'weak', head = parts.head, account = 0 } = {}) {
  return verdict(await onChain.send(of as Of, 'begin', beginning(sealed, head), account));
}

/** The second part, of another proof or changed where that is said. */
async function finish({ digest, parts }: SplitSegment, { of = 'weak', account = 0, ...other } = {}) {
  const { rest, openings } = { ...parts, ...(other as Partial<SplitSegment['parts']>) };
  return verdict(await onChain.send(of as Of, 'finish', [digest, rest, openings], account));
}

const isFact = async ({ digest }: SplitSegment, of: Of = 'weak'): Promise<string> =>
  verdict(await onChain.send(of, 'verify', [splitSelector, digest]));

const verdict = (said: unknown): string => (typeof said === 'string' ? said : 'accepted');

/** Undoes what a test did to the chain. */
async function apart<T>(test: () => Promise<T>): Promise<T> {
  const before = await onChain.chain.send('evm_snapshot', []);
  try {
    return await test();
  } finally {
    await onChain.chain.send('evm_revert', [before]);
  }
}

describe('a proof in two parts', () => {
  it('makes its statement a fact, and no other', () =>
    apart(async () => {
      expect(await isFact(first)).toBe('FACT_MISSING');
      expect(await begin(first)).toBe('accepted');
      expect(await isFact(first)).toBe('FACT_MISSING');
      expect(await finish(first)).toBe('accepted');
      expect(await isFact(first)).toBe('accepted');
      expect(await isFact(second)).toBe('FACT_MISSING');
      const { digest } = first;
      expect(await onChain.send('weak', 'verify', [`${splitSelector}00`, digest])).toBe('SEAL_LENGTH');
      expect(await onChain.send('weak', 'verify', [selector, digest])).toBe('SEAL_SELECTOR');
    }));

  it.each<[string, string, () => Promise<string>]>([
    ['the second before the first', 'SPLIT_NONE', () => finish(first)],
    ['the second twice', 'SPLIT_NONE', async () => (await begin(first), await finish(first), finish(first))],
    ['the second of another proof', 'SPLIT_NONE', async () => (await begin(first), finish(first, second.parts as {}))],
    ['leaves of another proof', 'STEP_MERKLE_S', async () => ((await begin(first)), finish(first, { openings: second.parts.openings } as {}))], // prettier-ignore
    ['another statement', 'SPLIT_NONE', async () => (await begin(first), finish({ ...first, digest: second.digest }))],
    ['another sender', 'SPLIT_NONE', async () => (await begin(first), finish(first, { account: 1 }))],
    ['another verifier', 'SPLIT_NONE', async () => (await begin(first), finish(first, { of: 'blind' }))],
    [
      'a first part whose day is over',
      'SPLIT_LATE',
      async () => (await begin(first), await later(86_402), finish(first)),
    ],
    ['the whole proof as its first part', 'STEP_', () => begin(first, { head: first.fields.proof })],
    ['a plan below the floor', 'STEP_PLAN', () => begin(first, { of: 'strict' })],
    ['a seal of the verifier of whole proofs', 'SEAL_SELECTOR', async () => verdict(await onChain.send('weak', 'begin', beginning(first, first.parts.head, selector)))], // prettier-ignore
  ])('is refused: %s', (_name, code, test) =>
    apart(async () => {
      const said = await test();
      if (code.endsWith('_')) expect(said.startsWith(code)).toBe(true);
      else expect(said).toBe(code);
    }),
  );

  it('is told of other shapes, too: joint, two points outside the domain, digests of 26 bytes, a squared error', () =>
    apart(async () => {
      const profile = { ...choice.profile!, oodPoints: 2, digestBytes: 26, inputsFirst: true } as const;
      const manifest = testManifest({ loss: 'mse', superblock: 2 });
      const other = splitSegment(sealSegment(backend, { profile, manifest, index: 1 }));
      expect(await begin(other)).toBe('accepted');
      for (const k of [0, 1, 2].map((part) => random(part, other.parts.openings.length)))
        expect(await finish(other, { openings: flipped(other.parts.openings, k) } as {})).toMatch(/^STEP_MERKLE_L/);
      expect(await finish(other)).toBe('accepted');
      expect(await isFact(other)).toBe('accepted');
    }));

  it('is taken until the end of its day, and begun anew after it', () =>
    apart(async () => {
      await begin(first);
      await later(86_390);
      expect(await apart(() => finish(first))).toBe('accepted');
      await later(20);
      expect(await finish(first)).toBe('SPLIT_LATE');
      await begin(first);
      expect(await finish(first)).toBe('accepted');
    }));

  it('is refused on another chain', () =>
    apart(async () => {
      await begin(first);
      try {
        await onChain.chain.send('anvil_setChainId', [31338]);
        const { digest, parts } = first;
        const { target, interface: abi } = onChain.contracts.weak;
        const data = abi.encodeFunctionData('finish', [digest, parts.rest, parts.openings]);
        const [from] = await onChain.chain.send('eth_accounts', []);
        const asked = onChain.chain.send('eth_call', [{ from, to: target, data }, 'latest']);
        await expect(asked).rejects.toThrow(abi.getError('SPLIT_NONE')?.selector ?? '');
      } finally {
        await onChain.chain.send('anvil_setChainId', [31337]);
      }
      expect(await finish(first)).toBe('accepted');
    }));
});

async function later(seconds: number): Promise<void> {
  await onChain.chain.send('evm_increaseTime', [seconds]);
  await onChain.chain.send('evm_mine', []);
}

/** Words of a plan of three levels, behind the digest of its profile's name or before the end. */
const strengths = { queries0: 8, queries1: 9, grind0: 10, grind1: 11, grindFold: 12, grindFold1: 13 };
const atEnd = [2, 1].flatMap((i) => ['k', 'logBlowup', 'queries', 'grind', 'grindFold'].map((name, k) => [`${name} of level ${4 - i}`, k - 5 * i] as const)); // prettier-ignore

describe('the floor of plans in two parts', () => {
  const planOf = (name: string): Uint8Array => planBytes(derivePlan(testManifest(), profiles.get(name)!, 'joint'));
  const judged = async (plan: Uint8Array): Promise<string> => {
    const sealed = { ...first, fields: { ...first.fields, plan } };
    return verdict(await onChain.send('strict', 'begin', beginning(sealed, first.parts.head)));
  };

  it('takes plans of three levels, and none of one or two', async () => {
    // The statement is another plan's.
    expect(await judged(planOf('chain256'))).toBe('STEP_STATEMENT');
    for (const name of ['small', 'chain1', 'chain64', 'steps128'])
      expect(await judged(planOf(name)), name).toBe('STEP_PLAN');
  });

  it.each([...Object.entries(strengths), ['oodPoints', -12] as const, ...atEnd])(
    'asks for no less: %s',
    async (name, place) => {
      const changed = (by: number): Promise<string> => {
        const plan = planOf('chain256');
        const at = place < 0 ? plan.length + 4 * place : 32 + 4 * place;
        plan.set(uintBe(new DataView(plan.buffer).getUint32(at) + by, 4), at);
        return judged(plan);
      };
      expect(await changed(-1)).toBe('STEP_PLAN');
      const isCode = /^(k|logBlowup|oodPoints)/.test(name);
      expect(await changed(1)).toBe(isCode ? 'STEP_PLAN' : 'STEP_STATEMENT');
    },
  );
});

describe('one byte changed', () => {
  it('in the first part is refused as in the whole proof', { timeout: 60_000 }, async () => {
    const { parts, plan, statement, fields } = first;
    const places = placesOf(first);
    expect(places.head).toHaveLength(parts.head.length);
    const seen = new Set<string>();
    const rows = places.head.flatMap((place, k) => (place < 0 ? [k] : []));
    const some = Array.from({ length: 60 }, (_, k) => random(k, parts.head.length));
    for (const k of [...some, ...rows.filter((_, i) => i % 37 === 0)]) {
      const place = places.head[k]!;
      const said = await begin(first, { head: flipped(parts.head, k, k % 8) });
      const expected = place < 0 ? said : inTypeScript(plan, statement, flipped(fields.proof, place, k % 8));
      expect(firstPartMaySay(expected), `byte ${k}`).toContain(said);
      if (place < 0) expect(['STEP_FINAL_CHECK', 'STEP_NONCANONICAL']).toContain(said);
      seen.add(said);
    }
    expect(seen).not.toContain('accepted');
    expect(seen.size).toBeGreaterThan(4);
  });

  it(
    'in the second part is refused as in the whole proof, and the honest one is still taken',
    { timeout: 60_000 },
    () =>
      apart(async () => {
        const { parts, plan, statement, fields } = first;
        const places = placesOf(first).openings;
        expect(places).toHaveLength(parts.openings.length);
        expect(await begin(first)).toBe('accepted');
        for (let k = 0; k < 60; k++) {
          const place = random(k, places.length);
          const openings = flipped(parts.openings, place, k % 8);
          const expected = inTypeScript(plan, statement, flipped(fields.proof, places[place]!, k % 8));
          expect(await finish(first, { openings } as {}), `byte ${place}`).toBe(expected);
          expect(expected).not.toBe('accepted');
          const rest = flipped(parts.rest, random(k, parts.rest.length), k % 8);
          expect(await finish(first, { rest } as {})).toMatch(/^(SPLIT_(NONE|REST)|STEP_\w+)$/);
        }
        for (const openings of [parts.openings.subarray(0, -1), new Uint8Array([...parts.openings, 0])])
          expect(await finish(first, { openings } as {})).toMatch(/^STEP_/);
        expect(await finish(first)).toBe('accepted');
      }),
  );
});

function drawnAt(wanted: Site, { plan, statement, fields }: SplitSegment): Ext[] {
  const drawn: Ext[] = [];
  class Listening extends Transcript {
    override challenge(site: Site): Ext {
      const challenge = super.challenge(site);
      if (site === wanted) drawn.push(challenge);
      return challenge;
    }
  }
  runVerifier(plan, statement, new Listening(), new ProofBytes(fields.proof));
  return drawn;
}

/** Where the rows of each level begin in the first part. */
function rowsIn(segment: SplitSegment): number[] {
  const places = placesOf(segment).head;
  return places.flatMap((place, k) => (place < 0 && places[k - 1]! >= 0 ? [k] : []));
}

/**
 * Two rows of a level, one behind the other, that are not those of its leaves, and that the first part cannot tell from
 * them.
 */
function liedRows(segment: SplitSegment, level = 0, isLast = false): Uint8Array {
  const { parts } = segment;
  const betas = drawnAt('betaLevel', segment);
  const head = Uint8Array.from(parts.head);
  const at = rowsIn(segment)[level]!;
  const from = isLast ? levelsIn(parts.rest)[level]!.count - 2 : 0;
  // The next row weighs β times as much.
  const changes = [betas[level]!, F.neg(F.ONE)];
  changes.forEach((change, i) => {
    const k = from + i;
    const row = F.add(extAt(new DataView(head.buffer), at + 16 * k), change);
    head.set(extBytes(row), at + 16 * k);
  });
  return head;
}

/** The rows of each level as a contract holds them: c1, then c0, 16 bytes each. */
function rowWords(segment: SplitSegment, head: Uint8Array): bigint[][] {
  const view = new DataView(head.buffer);
  const word = (at: number): bigint => (view.getBigUint64(at + 8) << 128n) | view.getBigUint64(at);
  const counts = levelsIn(segment.parts.rest).map(({ count }) => count);
  return rowsIn(segment).map((at, i) => Array.from({ length: counts[i]! }, (_, k) => word(at + 16 * k)));
}

/** Leaves of the witness at the first two queries that were never committed, and that the first part takes: H is another. */
function liedLeaves(segment: SplitSegment): { head: Uint8Array; rest: Uint8Array } {
  const { plan, statement, fields, parts } = segment;
  const [beta] = drawnAt('beta1', segment);
  const [head, rest] = [Uint8Array.from(parts.head), Uint8Array.from(parts.rest)];
  const [view, places] = [new DataView(head.buffer), placesOf(segment).head];
  const symbols = partsOf(plan, statement, fields.proof).filter(({ kind, tree }) => kind === 'symbol' && tree === 'S');
  const own = plan.trees.S.globalRows.length + 6;
  const indices = new DataView(rest.buffer).getUint32(48);
  // In the claim what the second query gives weighs β² times as much as the first.
  [F.mul(beta!, beta!), F.neg(F.ONE)].forEach((change, k) => {
    const at = places.indexOf(symbols[k * own]!.offset);
    const ofH = at + 8 * (own - 6);
    head.set(extBytes(F.add(extAt(view, ofH), change)), ofH);
    const [hash] = hashLeaves('keccak', 'S', [head.subarray(at, at + 8 * own)]);
    rest.set(hash!, 52 + 4 * indices + 32 * k);
  });
  return { head, rest };
}

it('leaves of a witness that are not those of its tree pass the first part and not the second', () =>
  apart(async () => {
    const { head, rest } = liedLeaves(first);
    expect(await begin(first, { head })).toBe('accepted');
    expect(await finish(first)).toBe('SPLIT_NONE');
    expect(await finish(first, { rest } as {})).toBe('STEP_MERKLE_S');
    expect(await isFact(first)).toBe('FACT_MISSING');
  }));

describe('what the first part left open', () => {
  const sizes = ['bytes of a digest', 'depth', 'row variables', 'rows', 'queries'] as const;
  const changed = (at: number, by: number): Uint8Array => {
    const rest = Uint8Array.from(first.parts.rest);
    const view = new DataView(rest.buffer);
    view.setUint32(at, view.getUint32(at) + by);
    return rest;
  };

  it.each(sizes.flatMap((name, k) => [-1, 1, 7, 1 << 20].map((by) => [name, by, 32 + 4 * k] as const)))(
    'is refused with other %s: %i more',
    (_name, by, at) =>
      apart(async () => {
        await begin(first);
        expect(await finish(first, { rest: changed(at, by) } as {})).not.toBe('accepted');
        expect(await finish(first, { of: 'loose', rest: changed(at, by) } as {})).not.toBe('accepted');
      }),
  );

  it('says nothing that writes over what is hashed', async () => {
    // A digest of more bytes than a word, lists that go on behind the end, a tree deeper than any.
    const larger = [changed(32, 1), changed(32, 4096), changed(48, 1 << 20), changed(40, 1 << 20), changed(36, 64)];
    for (const rest of larger) expect(await finish(first, { rest } as {})).toBe('SPLIT_REST');
    for (const length of [1, 51, 52, first.parts.rest.length - 1])
      expect(await finish(first, { rest: first.parts.rest.subarray(0, length) } as {})).toBe('SPLIT_REST');
  });
});

describe('rows that are not those of the leaves', () => {
  it.each([1, 2, 3].flatMap((number) => [[number, 'first'] as const, [number, 'last'] as const]))(
    'pass the first part, since β is known, and not the second: level %i, %s rows',
    (number, which) =>
      apart(async () => {
        const head = liedRows(first, number - 1, which === 'last');
        expect(await begin(first, { head })).toBe('accepted');
        expect(await finish(first)).toBe('SPLIT_NONE');
        expect(await isFact(first)).toBe('FACT_MISSING');
      }),
  );

  it('tell a planted verifier that does not compare them', () =>
    apart(async () => {
      const head = liedRows(first);
      await begin(first, { of: 'blind', head });
      for (const [level, rows] of rowWords(first, head).entries())
        await onChain.send('blind', 'tell', [level + 1, rows]);
      expect(await finish(first, { of: 'blind' })).toBe('accepted');
    }));

  it('and orders, senders and statements tell a planted one that binds none of them', async () => {
    const loose = (test: () => Promise<string>): Promise<string> =>
      apart(async () => (await begin(first, { of: 'loose' }), test()));
    expect(await loose(() => finish(first, { of: 'loose', account: 1 }))).toBe('accepted');
    expect(await loose(() => finish(second, { of: 'loose' }))).toBe('accepted');
    expect(await loose(() => finish({ ...first, digest: second.digest }, { of: 'loose' }))).toBe('accepted');
  });
});
