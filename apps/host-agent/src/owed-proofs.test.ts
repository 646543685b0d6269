/** What a host does for the proofs that its stake is for, where the control plane lies or is away. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CollateralError, to0x, toHex } from '#attestation/base';
import {
  decodeTerms,
  domainSeparator,
  jobIdOf,
  parseBundle,
  parseJobSpec,
  parseStepStatement,
  type EvidenceBundle,
} from '#attestation/records';
import type { SettlementClient } from '#libs/settlement';
import { provedBundle } from '#test/proved-bundle';
import { openKeptProofs, type KeptProofs } from './kept-proofs.js';
import { movesOf } from './moves.js';
import type { Move } from './next-move.js';
import { keepNextProof, lackingProofs } from './owed-proofs.js';
import type { PendingResult } from './pending.js';

const nodeId = '7e5c1b9e-2f0c-4a39-8c84-3f3f8a1d2b6c';
const word = (n: number): Uint8Array => new Uint8Array(32).fill(n);
const nothing = { task: null, elsewhere: null, left: 0 };
const gone = new CollateralError('STORE_MISSING', { expected: 'a blob', got: 'none', rule: 'test' });
const away = new CollateralError('CONTROL_PLANE_UNREACHABLE', { expected: 'an answer', got: 'none', rule: 'test' });

let bundle: EvidenceBundle;
let held: PendingResult;
let jobId: string;
let proofs: KeptProofs;
let folder: string;
/** Segments whose proofs the store has lost. */
let missing: readonly number[];
beforeAll(async () => {
  bundle = parseBundle(await provedBundle('tee+zk')) as EvidenceBundle;
  const spec = parseJobSpec(bundle.spec);
  jobId = toHex(jobIdOf(spec));
  const statements = bundle.segments.map((_, index) => shown(index));
  const borders = [statements[0]!.weightsBefore, ...statements.map(({ weightsAfter }) => weightsAfter)];
  held = {
    ...{
      version: 2,
      jobId: jobIdOf(spec),
      lease: { leaseId: 'lease', fence: 1 },
      terms: bundle.terms,
      spec: bundle.spec,
    },
    ...{ brokerUrl: 'https://broker.example', key: word(1).slice(0, 20), told: true, stored: false, receipts: [] },
    result: {
      ...{ ciphertext: new Uint8Array(), revealKey: word(1), borders, keys: [], seal: new Uint8Array() },
      run: { ...bundle.run, upTo: 2, outcome: 0 },
    },
  };
}, 300_000);
beforeEach(() => {
  missing = [];
  folder = mkdtempSync(join(tmpdir(), 'veritrain-owed-proofs-'));
  proofs = openKeptProofs(folder);
});

const shown = (index: number) => parseStepStatement(bundle.segments[index]!.statement);
const proofOf = (index: number) => {
  const { bytes, document } = bundle.segments[index]!.proof!;
  return { bundle: bytes, document };
};
const brought = (index: number, as = index) => ({
  ...nothing,
  elsewhere: { index: as, blob: to0x(word(index)), document: proofOf(index).document },
});

interface Asked {
  readonly holding: readonly number[];
}

/** @param answer of the control plane; an error is thrown @returns whether one was kept, and what was asked */
async function keepNext(answer: object | ((asked: Asked) => object), escrow = held) {
  const asked: object[] = [];
  const kept = await keepNextProof(escrow, nodeId, {
    pending: { proofs },
    controlPlane: {
      async send(_, message) {
        asked.push(message);
        if (answer instanceof Error) throw answer;
        return typeof answer === 'function' ? answer(message as never) : answer;
      },
      close: () => undefined,
    },
    store: {
      async getBlob(name) {
        const index = name === to0x(word(0)) ? 0 : 1;
        if (missing.includes(index)) throw gone;
        return proofOf(index).bundle;
      },
    },
  });
  return { kept, asked };
}

describe('proofs that a run lacks', () => {
  it('are those of its segments that are not on disk, whatever the control plane says is left', async () => {
    expect(lackingProofs(held, proofs)).toEqual([0, 1]);
    expect(await keepNext(nothing)).toMatchObject({ kept: false, asked: [{ countOnly: true, holding: [] }] });
    expect(lackingProofs(held, proofs)).toEqual([0, 1]);
    expect(await keepNext(brought(1))).toMatchObject({ kept: true });
    expect(lackingProofs(held, proofs)).toEqual([0]);
    expect(await keepNext(brought(0))).toMatchObject({ kept: true, asked: [{ holding: [1] }] });
    expect(lackingProofs(held, proofs)).toEqual([]);
    expect((await keepNext(brought(0))).asked).toEqual([]);
  });

  it('are none before there is a run, or of a job that owes none', async () => {
    const { spec: _, ...plain } = held;
    for (const other of [{ ...held, result: null }, plain]) expect(lackingProofs(other, proofs)).toEqual([]);
  });

  it('stay lacking where one of another segment, or of none of the run, is handed out, and where nobody answers', async () => {
    await expect(keepNext(brought(1, 0))).rejects.toMatchObject({ code: 'PROOF_FOREIGN' });
    expect((await keepNext(brought(1, 7))).kept).toBe(false);
    await expect(keepNext(away)).rejects.toBe(away);
    const borders = [word(1), word(2), word(3)];
    const another = { ...held, result: { ...held.result, borders } };
    await expect(keepNext(brought(1), another)).rejects.toMatchObject({ code: 'PROOF_FOREIGN' });
    expect(lackingProofs(held, proofs)).toEqual([0, 1]);
  });
});

describe('a proof that cannot be had', () => {
  /** Hands out the first that is not held, as the control plane does. */
  const first = ({ holding }: Asked) => [0, 1].map((index) => brought(index)).find(isNotIn(holding)) ?? nothing;
  const isNotIn = (holding: readonly number[]) => (answer: ReturnType<typeof brought>) =>
    !holding.includes(answer.elsewhere.index);

  it('keeps no other back, and is asked for again when there is no other', async () => {
    missing = [0];
    await expect(keepNext(first)).rejects.toBe(gone);
    expect(await keepNext(first)).toMatchObject({ kept: true, asked: [{ holding: [0] }] });
    expect(await keepNext(first)).toMatchObject({ kept: false, asked: [{ holding: [1, 0] }] });
    await expect(keepNext(first)).rejects.toBe(gone);
    missing = [];
    expect((await keepNext(first)).kept).toBe(false);
    expect((await keepNext(first)).kept).toBe(true);
    expect(lackingProofs(held, proofs)).toEqual([]);
  });

  it('as one of no segment of the run, which is handed out in front of the others', async () => {
    const beyond = (asked: Asked) => (asked.holding.includes(7) ? first(asked) : brought(1, 7));
    expect((await keepNext(beyond)).kept).toBe(false);
    expect((await keepNext(beyond)).kept).toBe(true);
  });
});

const failure = new Error('refused');

/** @param fails what the chain throws at a segment; null: nothing */
function chainOf(fails: (index: number) => Error | null) {
  const log: string[] = [];
  const [discharged, committed]: [number[], unknown[]] = [[], []];
  const { settlement } = parseJobSpec(bundle.spec);
  const escrow = {
    domain: domainSeparator({ chainId: settlement.chainId, verifyingContract: settlement.contract }),
    commit: async (_: unknown, run: unknown) => committed.push(run),
    duties: {
      isProved: async (_: unknown, index: number) => (log.push(`${index}?`), discharged.includes(index)),
      bordersOf: async () => held.result.borders,
      discharge: async (_: unknown, index: number) => {
        log.push(`${index}!`);
        const error = fails(index);
        if (error !== null) throw error;
        discharged.push(index);
      },
    },
  } as unknown as SettlementClient;
  const { move } = movesOf({
    ...{ escrow, proofs, ciphertexts: {} as never, withStake: (work) => work() },
    settings: { brokers: [], escrow: {} as never },
  });
  return { log, discharged, committed, move: (what: Move) => move(held, decodeTerms(bundle.terms), what) };
}

describe('proofs that are brought to the chain', () => {
  beforeEach(() => [0, 1].forEach((index) => proofs.keep(jobId, index, proofOf(index))));

  it('are those that it lacks, asked for one by one; one that fails keeps no other waiting', async () => {
    let refused = 0;
    const { discharged, log, move } = chainOf((index) => (index === refused ? failure : null));
    await expect(move('discharge')).rejects.toBe(failure);
    expect([discharged, log]).toEqual([[1], ['0?', '0!', '1?', '1!']]);
    refused = -1;
    expect([await move('discharge'), discharged]).toEqual(['discharge', [1, 0]]);
    expect(await move('discharge')).toBe('wait');
  });

  it('wait where the chain is away: each more would try as often', async () => {
    const { log, move } = chainOf(() => away);
    await expect(move('discharge')).rejects.toBe(away);
    expect(log).toEqual(['0?', '0!']);
  });

  it('are read before the commit: one that was damaged is fetched anew', async () => {
    const { committed, move } = chainOf(() => null);
    writeFileSync(join(folder, `${jobId}-1.proof`), 'damaged');
    expect([await move('commit'), committed.length, lackingProofs(held, proofs)]).toEqual(['wait', 0, [1]]);
    proofs.keep(jobId, 1, proofOf(1));
    expect([await move('commit'), committed.length]).toEqual(['commit', 1]);
  });
});
