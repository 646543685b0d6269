import { afterEach, expect, it, vi } from 'vitest';
import { Rejection } from '#attestation/base';
import { log, ownTable, reportFailure, table, taken, printResult } from './output.js';

afterEach(() => {
  vi.restoreAllMocks();
  process.exitCode = 0;
});

function written(act: () => void): string {
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  act();
  return write.mock.calls.map(([words]) => String(words)).join('');
}

it('shows what is unseen in names and values of a table, each on its own line', () => {
  expect(
    table([
      ['a\u061c', 'x\ny\u001b[1A\u009b1H\u{e0041}'],
      ['longer', 'y\u00ad\u2029\tz'],
    ]),
  ).toBe('a⟨U+061C⟩  x⟨U+000A⟩y⟨U+001B⟩[1A⟨U+009B⟩1H⟨U+E0041⟩\nlonger     y⟨U+00AD⟩⟨U+2029⟩⟨U+0009⟩z');
});

it('keeps its own lines and tabs, and lets nothing else through that moves a cursor', async () => {
  expect(written(() => log('one\n\ttwo\r\u001b[2K\u202e'))).toBe('one\n\ttwo⟨U+000D⟩⟨U+001B⟩[2K⟨U+202E⟩\n');
  const [printed] = await taken(async () => printResult({}, { a: '\u001b' }, () => 'a\n\u001bb'));
  expect(printed).toEqual({ result: { a: '\u001b' }, text: 'a\n⟨U+001B⟩b' });
});

it('says on stderr what was expected and got without a line that a stranger wrote', () => {
  const detail = { expected: 'one', got: 'x\nrule      none\u2067', rule: 'SPEC', action: 'ask' };
  const words = written(() => reportFailure(new Rejection('CODE\u001bX', detail), false));
  expect(words.split('\n')).toEqual([
    ...['CODE⟨U+001B⟩X', 'expected  one', 'got       x', '          | rule      none⟨U+2067⟩', 'rule      SPEC'],
    ...['do        ask', ''],
  ]);
});

it('shows the user’s own text as it is written, so that it can be copied', async () => {
  const own = 'می\u200cخواهم 👩\u200d👧 ❤\ufe0f \u06dd\r\nso';
  const [printed] = await taken(async () => printResult({}, {}, () => `${own}\u001b[2J\u202e\r`));
  expect(printed!.text).toBe(`${own}⟨U+001B⟩[2J⟨U+202E⟩⟨U+000D⟩`);
  expect(ownTable([['می\u200cخواهم', '/👩\u200d👧\n\u200f']])).toBe('می\u200cخواهم  /👩\u200d👧⟨U+000A⟩⟨U+200F⟩');
});
