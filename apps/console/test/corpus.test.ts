/** What the page arranges: the state of every link for every file of the corpus, and no check that it drops. */
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { CodedError } from '#attestation/base';
import { headingOf, meanings, policyFault, reasonsOf, reviewBundle, statusOrder, type Check } from '#libs/review';
import { visibleText } from '#libs/review/text';
import { compared, fallen, simplyHolds, sorted } from '../src/reviewer/compare.js';
import { chainOf, linkIds, linkOf, standingOf, type Link, type Standing } from '../src/reviewer/links.js';
import { bringsBundle, bytesOfText, sortOut } from '../src/reviewer/open.js';
import { duration, plain, utc } from '../src/reviewer/text.js';
import { corpus, type Sample } from './corpus.js';
import { flipsOf, presentOfTest, seenOfFlip } from './flips.js';
import { judgedHere } from './judged.js';
import { alterationsOf } from './parts.js';

let samples: readonly Sample[];
beforeAll(async () => {
  samples = await corpus();
});

/** Of what segments and measurements hang on. */
const standings: Readonly<Record<string, Standing>> = {
  good: 'holds',
  proved: 'holds',
  'seal-altered': 'holds',
  'revocation-demanded': 'open',
  'start-not-given': 'open',
  'receipt-altered': 'broken',
  'measurement-altered': 'broken',
};

describe('the chain', () => {
  it('has a row for every check that an appraisal can bring, samples of vectors aside', () => {
    const ofSamples =
      /^(SAMPLE_FILES|SNP_MESSAGE_SIGNATURE|SNP_LAUNCH_DIGEST|NVIDIA_RIM_(FORM|ISSUER|SIGNATURE|NOT_YET_VALID|EXPIRED))$/;
    const without = Object.keys(meanings).filter((id) => !ofSamples.test(id) && linkOf(id) === undefined);
    expect(without).toEqual([]);
    expect(linkOf('SOMETHING_ELSE')).toBeUndefined();
  });

  it('is broken where it is broken, and unsupported to the right of it', async () => {
    for (const sample of samples.filter(({ heading }) => heading !== 'not-a-bundle')) {
      const [verdict, later] = await judgedHere(sample, sample.at ?? presentOfTest);
      const chain = chainOf(verdict.checks, verdict.simulated, verdict.sessions.length === 0);
      expect([sample.name, headingOf(verdict)]).toEqual([sample.name, sample.heading]);
      if (sample.later !== undefined) expect([sample.name, headingOf(later)]).toEqual([sample.name, sample.later]);
      const broken = chain.filter(({ state }) => state === 'broken').map(({ id }) => id);
      if (sample.broken !== undefined) expect([sample.name, broken]).toEqual([sample.name, sample.broken]);
      for (const [id, state] of Object.entries(sample.states ?? {})) {
        expect([sample.name, id, chain.find((link) => link.id === id)?.state]).toEqual([sample.name, id, state]);
      }
      expect(
        chain.reduce((sum, link) => sum + link.checks.length, 0),
        sample.name,
      ).toBe(verdict.checks.length);
      expectHonest(chain);
      if (standings[sample.name] !== undefined) {
        expect([sample.name, standingOf(chain)]).toEqual([sample.name, standings[sample.name]]);
      }
      if (sample.heading === 'do-not-rely') {
        expect(['forged', 'refused'], sample.name).toContain(reasonsOf(verdict.checks)[0]!.status);
      }
    }
  }, 300_000);

  it('is no bundle, with a code, where it is none', async () => {
    for (const { name, bytes, code } of samples.filter(({ heading }) => heading === 'not-a-bundle')) {
      const error = await reviewBundle({ bundle: bytes }).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      expect([name, error instanceof CodedError ? error.code : error]).toEqual([name, code]);
    }
  });

  it('is never greener than the evidence', () => {
    const check = (id: Check['id'], status: Check['status']): Check => ({
      ...{
        id,
        status,
        code: id,
        claim: 'hardware',
        got: '',
        expected: '',
        rule: '',
        means: '',
        source: '',
        action: '',
      },
    });
    const all = (status: Check['status']): Check[] =>
      [
        ...(['SNP_CHAIN', 'SNP_CHIP_ID', 'SNP_TCB_ORDER', 'SNP_MEASUREMENT', 'BUNDLE_SESSIONS'] as const),
        ...(['BUNDLE_RECEIPTS', 'BUNDLE_SEAL', 'LOG_BUNDLE', 'LOG_ENTRIES'] as const),
        ...(['BUNDLE_TRANSACTIONS'] as const),
      ].map((id) => check(id, status));
    const states = (chain: readonly Link[]): string[] => [...new Set(chain.map(({ state }) => state))];
    expect(states(chainOf(all('met'), false, false))).toEqual(['holds']);
    expect(
      chainOf(all('met'), true, false)
        .slice(0, 4)
        .map(({ state }) => state),
    ).toEqual([...['remark', 'remark', 'remark', 'holds']]);
    for (const status of statusOrder.filter((one) => one !== 'met')) {
      expect(states(chainOf(all(status), false, false))).not.toContain('holds');
    }
    const proved = chainOf([check('BUNDLE_PROOFS', 'met'), check('BUNDLE_SESSIONS', 'met')], false, true);
    expect(proved.map(({ id, state }) => `${id} ${state}`)).toEqual([
      ...['proof holds', 'receipts absent', 'seal absent', 'log absent', 'payment absent'],
    ]);
  });
});

function expectHonest(chain: readonly Link[]): void {
  const first = chain.findIndex(({ state }) => state === 'broken');
  const right = first < 0 ? [] : chain.slice(first + 1).map(({ state }) => state);
  expect(right).not.toContain('holds');
  for (const { state, checks } of chain) {
    if (state === 'holds') expect(checks.every(({ status }) => status === 'met')).toBe(true);
  }
  expect(chain.every(({ id }) => id === 'proof' || linkIds.includes(id))).toBe(true);
}

it('is never the untouched verdict with a bit flipped, and has a reason', async () => {
  for (const name of ['good', 'logged']) {
    const sample = samples.find((one) => one.name === name)!;
    const [untouched] = await judgedHere(sample, presentOfTest);
    for (const flip of flipsOf(sample.bytes, 15)) {
      const { code } = await seenOfFlip(sample, untouched, flip);
      expect(code, `${name}, byte ${flip.place}`).not.toBeNull();
    }
  }
}, 300_000);

it('is never the untouched verdict with a part altered, and has a reason', async () => {
  const sample = samples[0]!;
  const [untouched] = await judgedHere(sample, presentOfTest);
  const all = alterationsOf(sample.bytes);
  const members = ['spec.salt', 'policy.snp', 'sessions[0].evidence.cpu.report', 'segments[0].signed.receipt', 'seal'];
  for (const member of members) expect(all.filter(({ what }) => what.startsWith(member)).length).toBeGreaterThan(2);
  for (const { what, bytes } of all.filter((_, at) => at % 10 === 0)) {
    expect((await seenOfFlip(sample, untouched, { bytes, place: 0 })).code, what).not.toBeNull();
  }
}, 300_000);

describe('then and another time', () => {
  it('shows what fell since, what came and what went', async () => {
    const bundle = samples[0]!.bytes;
    const [was, later] = [await reviewBundle({ bundle }), await reviewBundle({ bundle, at: 4_000_000_000 })];
    const all = compared(was.checks, later.checks);
    expect(all.length).toBeGreaterThanOrEqual(was.checks.length);
    expect(fallen(all).map(({ check }) => check.id)).toContain('SNP_CHAIN');
    expect(simplyHolds(sorted(all)[0]!)).toBe(false);
    const [gone, ...rest] = was.checks;
    expect(compared(was.checks, rest)[0]).toMatchObject({ was: gone, today: undefined });
    expect(compared(rest, was.checks).at(-1)).toMatchObject({ was: undefined, today: gone });
  });
});

describe('what is dropped', () => {
  const file = (name: string, bytes: Uint8Array) => ({ name, bytes });
  const text = (value: string): Uint8Array => new TextEncoder().encode(value);

  it('is told apart by its bytes, and named where nobody knows it', () => {
    const { bytes } = samples[0]!;
    const events = text('[{"type":"progress","data":{"step":1,"loss":0.5}},{"data":{"step":2,"loss":0.25}}]');
    const opened = sortOut([file('a.vtb', bytes), file('events.json', events), file('b.txt', text('hello'))]);
    expect(opened.unknown.map(({ name }) => name)).toEqual(['b.txt']);
    expect([opened.bundle?.name, opened.curve?.points.length]).toEqual(['a.vtb', 2]);
    const first = sortOut([file('b.txt', text('hello')), file('a.vtb', bytes)]);
    expect([first.bundle?.name, first.unknown[0]?.name]).toEqual(['a.vtb', 'b.txt']);
    const pasted = sortOut([file('pasted', text(`${Buffer.from(bytes).toString('base64')}\n`))]);
    expect(Buffer.from(pasted.bundle!.bytes).equals(bytes)).toBe(true);
    expect(bytesOfText(text('not base64!'.repeat(10)))).toBeUndefined();
    expect(sortOut([file('r.vtr', Uint8Array.of(0xd2, 0x84))]).report?.name).toBe('r.vtr');
  });

  it('is start weights or an export of a log, whatever its name, and no other bundle', () => {
    const { bytes, beside } = samples.find(({ name }) => name === 'start-given')!;
    const [bundle, start] = [file('a.vtb', bytes), file('x', beside![0]!.bytes)];
    const opened = sortOut([start, bundle]);
    expect([opened.bundle, opened.start, opened.unknown]).toEqual([bundle, start, []]);
    expect([bringsBundle([start], bundle), bringsBundle([start], undefined)]).toEqual([false, true]);
    const short = file('x', start.bytes.subarray(8));
    expect(sortOut([bundle, short])).toMatchObject({ unknown: [short] });
    const revoking = samples.find(({ name }) => name === 'revoked-in-export')!.beside![1]!;
    expect(sortOut([file('y', revoking.bytes), bundle]).logExport?.content.revocations.length).toBe(1);
    expect(sortOut([bundle, file('y', revoking.bytes.subarray(1))]).logExport).toBeUndefined();
  });

  it('takes the place of the open bundle where it begins as one, and of none where it does not', () => {
    const bundle = file('a.vtb', samples[0]!.bytes);
    const pinless = file('pins.json', new Uint8Array(readFileSync('apps/key-broker/policies/production-cpu.json')));
    const others = [
      ...[pinless, file('README.md', text('# Read me')), file('client.json', text('{"url": "http://127.0.0.1"}'))],
      ...[file('model.onnx', Uint8Array.of(8, 8, 0x12, 7)), file('empty', new Uint8Array())],
    ];
    for (const other of others) {
      expect([other.name, bringsBundle([other], bundle)]).toEqual([other.name, false]);
      expect([other.name, sortOut([other, bundle])]).toMatchObject([other.name, { bundle, unknown: [other] }]);
    }
    expect(policyFault(pinless.bytes)?.code).toBe('POLICY_NOT_PINNED');
    expect(sortOut([pinless])).toMatchObject({ unknown: [pinless] });
    const [readme] = [file('README.md', text('# Read me'))];
    expect([bringsBundle([readme], undefined), bringsBundle([bundle], readme)]).toEqual([true, true]);
    const second = file('b.vtb', samples[1]!.bytes);
    expect(bringsBundle([second], bundle)).toBe(true);
    expect(sortOut([readme, second, bundle])).toMatchObject({ bundle: second, unknown: [bundle, readme] });
    const pasted = file('pasted', text(Buffer.from(bundle.bytes).toString('base64')));
    expect(bringsBundle([pasted], second)).toBe(true);
    expect(sortOut([readme, pasted])).toMatchObject({ bundle: { name: 'pasted' }, unknown: [readme] });
  });

  it('is shown without what nobody sees', () => {
    expect(plain('a\u202Eb\u0000c\n')).toBe('a⟨U+202E⟩b⟨U+0000⟩c⟨U+000A⟩');
    expect(plain('\u3164\u{E0002}\u2800\u034F\u2065')).toBe('⟨U+3164⟩⟨U+E0002⟩⟨U+2800⟩⟨U+034F⟩⟨U+2065⟩');
    expect(plain('é 漢 ع -')).toBe('é 漢 ع -');
    const every = Array.from({ length: 0x11_0000 }, (_, code) => String.fromCodePoint(code));
    expect(every.filter((sign) => plain(sign) !== visibleText(sign))).toEqual([]);
    expect(plain('x'.repeat(300))).toBe(`${'x'.repeat(256)}… (300 characters)`);
    expect([utc(0), utc(2 ** 60), duration(59), duration(3600)]).toEqual([
      ...['1970-01-01 00:00:00', `${2 ** 60} s`, '59 s', '60 min'],
    ]);
  });
});
