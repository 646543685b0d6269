/**
 * A booted guest and a host that sends it what it should not: every request of the wrong shape is answered with a code, a
 * stream that is no frames ends session and machine, nothing is on the console after the first answer. Each boot is another
 * machine to a verifier: its REPORT_ID is another. The second boots without ACPI and with the kernel's own words.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { parseSnpReport } from '#attestation';
import { decodeCanonical, encodeCanonical, equalBytes, toCbor, toHex } from '#attestation/base';
import { parseSessionEvidence } from '#attestation/records';
import { buildGuest, inputsCache, readImage, startGuest } from '#libs/guest';
import { within } from '#libs/process';
import { encodeFrame, frameDecoder } from '#libs/wire/channel';
import { whyNoGuest } from '#test/no-guest';
import { developmentMachine } from '../../apps/cli/src/guest/development-machine.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-session-mutants-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Message = ReadonlyMap<string, unknown>;

const open = { type: 'open', id: 1, provider: new Uint8Array(20), chainId: 1, registry: new Uint8Array(20) };
const attest = { type: 'attest', id: 2, nonce: new Uint8Array(32).fill(9) };

/** Frames of deterministic CBOR that are no requests, or none that may come now. */
const requests: readonly unknown[] = [
  ...[{}, [], null, 0, 'open', new Uint8Array(9), { type: 'close', id: 3 }, { type: 'open' }, { id: 3 }],
  ...[
    { ...open, id: 3 },
    { ...open, id: -1 },
    { ...open, id: 'x' },
    { ...open, extra: 1 },
  ],
  ...[
    { ...attest, nonce: new Uint8Array(31) },
    { ...attest, nonce: 'nonce' },
    { ...attest, id: 2 ** 53 - 1, nonce: 0 },
  ],
  ...[
    { type: 'train', id: 3, checkpoint: null, threads: 0 },
    { type: 'train', id: 3, checkpoint: null, threads: 1 },
  ],
  ...[
    { type: 'shard', id: 3, index: 0, ciphertext: new Uint8Array(100_000) },
    { type: 'shard', id: 3, index: -1 },
  ],
];

/** Streams that are no frames: each ends its session. */
const streams: readonly (readonly [string, Uint8Array])[] = [
  ['a frame that is too long', Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0)],
  ['CBOR that is not deterministic', Uint8Array.of(0, 0, 0, 2, 0x18, 1)],
];

/** The first as it is built; the second without ACPI, its kernel telling of its processors. */
const lines: readonly ((line: string) => string)[] = [
  (line) => line,
  (line) => `${line.replace(' quiet', '')} acpi=off`,
];

const whyNot = await whyNoGuest('dev');
describe.skipIf(whyNot !== null)('a booted guest', () => {
  it(`answers ${requests.length} spoilt requests with codes, ends with a spoilt stream, and is another at its next boot`, async () => {
    const image = join(folder, 'dev');
    await buildGuest('dev', image, { cache: inputsCache });
    const ids: string[] = [];
    const consoles: string[] = [];
    for (const [index, [name, bytes]] of streams.entries()) {
      const place = mkdtempSync(join(folder, 'place-'));
      const around = { qemu: 'qemu-system-x86_64', memory: 1024, accelerator: 'tcg', place } as const;
      const machine = developmentMachine(image, readImage(image), around);
      const guest = await startGuest({
        ...machine,
        vcpus: index === 0 ? 1 : 4,
        cmdline: lines[index]!(machine.cmdline),
      });
      onTestFinished(() => guest.stop());
      const console = (): string => readFileSync(join(place, 'console.log'), 'latin1');
      const host = hostAt(join(place, 'channel.sock'));
      expect((await host.ask(open)).get('type')).toBe('ok');
      const before = console();
      const evidence = parseSessionEvidence((await host.ask(attest)).get('body') as Uint8Array);
      ids.push(toHex(parseSnpReport(evidence.cpu.report).reportId));
      for (const request of requests) {
        const answer = await host.ask(request);
        expect([answer.get('type'), answer.get('code')], JSON.stringify(request)).toEqual([
          'error',
          expect.stringMatching(/^[A-Z][A-Z0-9_]+$/),
        ]);
      }
      host.socket.write(bytes);
      expect((await within(60_000, guest.exited))?.status, name).toBe(0);
      const after = console().slice(before.length).split(/\r?\n/);
      expect(after.filter((line) => !isOfKernel(line, index)).join(''), name).toBe('');
      consoles.push(console());
    }
    expect(new Set(ids).size).toBe(streams.length);
    expectOnlyInit(consoles[0]!);
    expectWithoutAcpi(consoles[1]!);
  }, 1_200_000);
});

/** What the kernel says: of the end of its machine, and where it is not quiet of anything. */
function isOfKernel(line: string, index: number): boolean {
  return index === 0 ? /^(\[.*\] )?reboot: /.test(line) : /^\[ *\d+\.\d{6}\] /.test(line);
}

/** That it is simulated and has no device, nothing of its program. */
function expectOnlyInit(console: string): void {
  const said = console.split(/\r?\n/).filter((line) => line.startsWith('{'));
  const own = said.map((line) => (JSON.parse(line) as { init: string }).init);
  expect(own).toEqual(['SIMULATED', 'INIT_NO_DEVICE']);
}

/** One processor of four, and no table of ACPI read. */
function expectWithoutAcpi(console: string): void {
  expect(console).toContain('smp: Brought up 1 node, 1 CPU');
  expect(console).toContain('ACPI: Interpreter disabled.');
  expect(console).not.toMatch(/ACPI: (RSDP|DSDT|FACP|Core revision)/);
  expect(console).toContain('reboot: Restarting system');
}

function hostAt(path: string): { readonly socket: Socket; ask(message: unknown): Promise<Message> } {
  const socket = connect(path);
  const decoder = frameDecoder();
  const waiting: ((message: Message) => void)[] = [];
  socket.on('error', () => undefined);
  socket.on('data', (chunk) => {
    for (const message of decoder.push(new Uint8Array(chunk))) waiting.shift()?.(message as Message);
  });
  const ask = (message: unknown): Promise<Message> =>
    new Promise((resolve) => {
      waiting.push(resolve);
      const body = encodeCanonical(toCbor(message));
      expect(equalBytes(encodeCanonical(decodeCanonical(body)), body)).toBe(true);
      socket.write(encodeFrame(message));
    });
  return { socket, ask };
}
