/** The operator’s screen as README.md prints it: a made-up release, host and QEMU stand in for what its lines name. */
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { toHex } from '#attestation/base';
import { writeFakeQemu } from '#test/fake-qemu';
import { madeGuest, withListed, writeMadeImage, type MadeGuest } from '#test/made-guest';
import { writeMadeHost } from '#test/made-host';
import { runCommand } from '#test/run-command';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-journey-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const at = (...parts: readonly string[]): string => join(folder, ...parts);

const section = readFileSync('README.md', 'utf8').split('## For a host operator, on one screen')[1]!;
const lines = /```sh\n([\s\S]*?)```/.exec(section)![1]!.trim().split('\n');
const commands = lines.map((line) => line.split('#')[0]!.trim().split(/\s+/));

let guest: MadeGuest;
/** What stands in for the words of the page. */
let words: Readonly<Record<string, string>>;

beforeAll(async () => {
  guest = await madeGuest();
  writeMadeImage(at('built'), guest);
  writeFakeQemu(at('qemu'));
  const signed = ['a.cose', 'b.cose'].map((name) => at(name));
  for (const [index, file] of signed.entries()) writeFileSync(file, await guest.builders[index]!.sign(guest.manifest));
  const { tag } = guest.manifest;
  await runCommand('guest', 'pack', at('built'), '--tag', tag, '--out', at('release'), '--manifest', ...signed);
  const [H, H2] = guest.builders.map(({ publicKey }) => toHex(publicKey)) as [string, string];
  words = { TAG: tag, URL: at('release'), D: at('image'), 'D/manifest-1.cose': at('image/manifest-1.cose'), H, H2 };
});

/** Where this machine is not the operator's. */
const around: Readonly<Record<string, () => readonly string[]>> = {
  'host preflight': () => [
    ...['--root', writeMadeHost(at('root')), '--qemu', at('qemu'), '--dir', at('etc'), '--offline'],
    ...['--cache', at('cache')],
  ],
  'guest fetch': () => [],
  'host init': () => [
    ...['--dir', at('etc'), '--qemu', at('qemu'), '--run-dir', at('run'), '--state', at('state')],
    ...['--cpu', 'EPYC-Milan', '--cbitpos', '51', '--reduced-phys-bits', '1'],
  ],
  'host up': () => ['--dir', at('etc')],
};

it('runs line by line', async () => {
  const own = commands.filter(([program]) => program === 'veritrain').map(([, ...rest]) => rest);
  expect(own.map(([first, second]) => `${first} ${second}`)).toEqual(Object.keys(around));
  for (const command of own) {
    const said = command.map((word) => words[word] ?? word);
    const more = around[`${command[0]} ${command[1]}`]!();
    await withListed(guest.firmware, async () => {
      const { code, json } = await runCommand(...said, ...more);
      expect(code, `${command.join(' ')}: ${JSON.stringify(json)}`).toBe(0);
    });
  }
  const [copy, enable] = commands.slice(own.length) as [string[], string[]];
  expect(copy).toEqual(['cp', '/etc/veritrain/systemd/*.service', '/etc/systemd/system/']);
  mkdirSync(at('systemd'));
  for (const name of readdirSync(at('etc/systemd'))) copyFileSync(at('etc/systemd', name), at('systemd', name));
  // Each unit that is enabled is an instance of one that was copied.
  expect(enable.slice(0, 3)).toEqual(['systemctl', 'enable', '--now']);
  for (const unit of enable.slice(3))
    expect(readdirSync(at('systemd'))).toContain(`${unit.replace(/@\d+$/, '@')}.service`);
});
