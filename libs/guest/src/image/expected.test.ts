/** What is expected of an image without its application: the smallest change of it ends the build, one of the application not. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { fileMode, programMode, type ImageEntry } from './cpio.js';
import { baseOf, checkBase, writeExpected } from './expected.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-expected-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const made = (path: string, text: string, mode = fileMode): ImageEntry => ({ path, mode, bytes: Buffer.from(text) });
const entries = [made('init', 'program', programMode), made('etc/modules', 'list'), made('app/dist/main.js', 'main')];
const contents = { kernel: Buffer.from('kernel'), firmware: Buffer.from('firmware'), entries };
const base = baseOf(contents);

beforeEach(() => void writeExpected({ cpu: base, dev: base }, folder));

type Parts = Parameters<typeof baseOf>[0];

/** The parts with another in place of the file of that path. */
const withFile = (entry: ImageEntry): Parts => ({
  ...contents,
  entries: [...entries.filter(({ path }) => path !== entry.path), entry],
});

const code = (wanted: string, got?: string) =>
  expect.objectContaining({ code: wanted, ...(got && { detail: expect.objectContaining({ got }) as unknown }) });

describe('the base of an image', () => {
  it('is the same in any order, and with another application', () => {
    expect(base.files).toEqual(['100644 etc/modules', '100755 init']);
    expect(baseOf({ ...contents, entries: entries.toReversed() })).toEqual(base);
    expect(baseOf(withFile(made('app/dist/main.js', 'another')))).toEqual(base);
    checkBase('cpu', base, folder);
  });

  it.each<readonly [string, Parts, string]>([
    ['a file beside those named', withFile(made('bin/sh', 'shell', programMode)), '100755 bin/sh'],
    ['a file outside app that begins like it', withFile(made('apps', '')), '100644 apps'],
    ['a file that became a program', withFile(made('etc/modules', 'list', programMode)), '100755 etc/modules'],
    ['no modules', { ...contents, entries: entries.filter(({ path }) => path !== 'etc/modules') }, 'no such file'],
    ['one byte of a file', withFile(made('etc/modules', 'lisu')), ''],
    ['one byte of the kernel', { ...contents, kernel: Buffer.from('kernem') }, ''],
    ['one byte of the firmware', { ...contents, firmware: Buffer.from('firmwarf') }, ''],
  ])('GUEST_EXPECTED: %s', (_, parts, got) => {
    expect(() => checkBase('cpu', baseOf(parts), folder)).toThrow(code('GUEST_EXPECTED', got));
  });

  it('is written once, and again where it is another', () => {
    expect(writeExpected({ cpu: base, dev: base }, folder)).toBe(false);
    const other = baseOf(withFile(made('etc/modules', 'other')));
    expect(writeExpected({ cpu: base, dev: other }, folder)).toBe(true);
    checkBase('dev', other, folder);
    expect(() => checkBase('dev', base, folder)).toThrow(code('GUEST_EXPECTED'));
  });

  it.each(['', '{}', '{"version":1,"flavours":{"cpu":null,"dev":null}}', 'x'.repeat(9 * 1024 * 1024)])(
    'GUEST_LOCK: a spoilt file of what is expected',
    (text) => {
      writeFileSync(join(folder, 'expected.json'), text);
      expect(() => checkBase('cpu', base, folder)).toThrow(code('GUEST_LOCK'));
    },
  );
});
