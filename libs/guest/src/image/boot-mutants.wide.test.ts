/**
 * A score of machines under emulation, each with another spoilt list of arguments or modules in its image: the first process
 * says in one line what it found, and switches off; nothing answers. The images hold no program: what is booted is quick.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { within } from '#libs/process';
import { whyNoGuest } from '#test/no-guest';
import { startGuest } from '../qemu-process.js';
import { fetchGuest, inputsCache, writeImage } from './build.js';
import { imageContents, inputsOf, recipeOf } from './contents.js';
import { fileMode, type ImageEntry } from './cpio.js';
import { inputFile } from './inputs.js';
import { readImageList, readLock } from './lock.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-boot-mutants-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const whyNot = await whyNoGuest('dev');

const modules = '/lib/modules/configfs.ko\n/lib/modules/tsm.ko\n';
const argv = '/bin/node\n';

/** List, what stands in it, and the line of the first process. */
const mutants: readonly (readonly ['etc/modules' | 'etc/enclave.argv', string, string])[] = [
  ['etc/modules', '', 'INIT_WORDS /etc/modules'],
  ['etc/modules', '\n', 'INIT_WORDS /etc/modules'],
  ['etc/modules', '/lib/modules/configfs.ko', 'INIT_WORDS /etc/modules'],
  ['etc/modules', `${modules}\n`, 'INIT_WORDS /etc/modules'],
  ['etc/modules', `${modules}\0\n`, 'INIT_WORDS /etc/modules'],
  ['etc/modules', '/lib/modules/configfs.ko\r\n', 'INIT_WORDS /etc/modules'],
  ['etc/modules', '/a\n'.repeat(33), 'INIT_WORDS /etc/modules'],
  ['etc/modules', `/${'a'.repeat(5000)}\n`, 'INIT_FILE /etc/modules'],
  ['etc/modules', 'lib/modules/configfs.ko\n', 'INIT_MODULE /etc/modules'],
  ['etc/modules', '/lib/modules/../modules/configfs.ko\n', 'INIT_MODULE /etc/modules'],
  ['etc/modules', '/lib//modules/configfs.ko\n', 'INIT_MODULE /etc/modules'],
  ['etc/modules', '/lib/modules/absent.ko\n', 'INIT_MODULE /lib/modules/absent.ko'],
  ['etc/modules', '/etc/enclave.argv\n', 'INIT_MODULE /etc/enclave.argv'],
  ['etc/modules', '/lib/modules/tsm.ko\n', 'INIT_MODULE /lib/modules/tsm.ko'],
  ['etc/enclave.argv', '', 'INIT_WORDS /etc/enclave.argv'],
  ['etc/enclave.argv', '/bin/node', 'INIT_WORDS /etc/enclave.argv'],
  ['etc/enclave.argv', '/bin/node\n\x1b[2J\n', 'INIT_WORDS /etc/enclave.argv'],
  ['etc/enclave.argv', '-\n'.repeat(40), 'INIT_WORDS /etc/enclave.argv'],
  ['etc/enclave.argv', `${'x'.repeat(4096)}\n`, 'INIT_FILE /etc/enclave.argv'],
  ['etc/enclave.argv', '/bin/absent\n', 'INIT_ENDED program'],
  // Sound lists, and a port of another name.
  ['etc/enclave.argv', argv, 'INIT_PORT org.veritrain.channel'],
];

/** QEMU whose port has another name than the channel. */
function withOtherPort(): string {
  const file = join(folder, 'qemu');
  const script = '#!/bin/bash\nexec qemu-system-x86_64 "${@//name=org.veritrain.channel/name=org.veritrain.chanel}"\n';
  writeFileSync(file, script, { mode: 0o755 });
  return file;
}

/** The locked image without program and libraries. */
async function bareEntries() {
  const { inputs } = await fetchGuest('dev', { cache: inputsCache });
  const recipe = recipeOf('dev', readLock(), readImageList());
  const paths = new Map(inputsOf(recipe).map((input, at) => [inputFile(input), inputs[at]!.path] as const));
  const contents = imageContents(recipe, paths);
  const isBare = ({ path }: ImageEntry): boolean => !/^(app|bin|lib64|lib\/x86_64|etc)(\/|$)/.test(path);
  return { ...contents, entries: contents.entries.filter(isBare) };
}

describe.skipIf(whyNot !== null)('a guest whose lists are spoilt', () => {
  it('INIT_WORDS, INIT_MODULE, INIT_FILE, INIT_ENDED, INIT_PORT: says which, switches off, and never answers', async () => {
    const bare = await bareEntries();
    for (const [path, text, line] of mutants) {
      const lists = { 'etc/modules': modules, 'etc/enclave.argv': argv, [path]: text };
      const files = Object.entries(lists).map(([name, content]) => ({
        ...{ path: name, mode: fileMode, bytes: Buffer.from(content, 'latin1') },
      }));
      const out = join(folder, 'image');
      const image = { ...bare, entries: [...bare.entries, ...files] };
      rmSync(out, { recursive: true, force: true });
      mkdirSync(out);
      const found = await booted(out, image, line.startsWith('INIT_PORT') ? withOtherPort() : undefined);
      expect([found.status, found.answered, found.lines], JSON.stringify(text).slice(0, 60)).toEqual([0, 0, [line]]);
    }
  }, 1_200_000);
});

async function booted(out: string, contents: Parameters<typeof writeImage>[1], qemu = 'qemu-system-x86_64') {
  const cmdline = 'console=ttyS0 quiet panic=-1 no_timer_check module.sig_enforce=1 oops=panic rdinit=/init';
  const { kernel, initrd } = writeImage(out, contents, cmdline, 'none');
  const [channel, console] = [join(out, 'channel.sock'), join(out, 'console.log')];
  const guest = await startGuest({
    ...{ qemu, kernel: join(out, kernel.file), initrd: join(out, initrd.file), cmdline },
    ...{ vcpus: 1, memoryMiB: 512, channel, console, platform: { kind: 'dev', accelerator: 'tcg' } },
  });
  try {
    let answered = 0;
    const socket = connect(channel).on('data', ({ length }) => void (answered += length));
    socket.on('error', () => undefined).write(Buffer.alloc(64, 1));
    const ended = await within(120_000, guest.exited);
    const lines = readFileSync(console, 'latin1')
      .split(/\r?\n/)
      .filter((each) => each.startsWith('{'))
      .map((each) => JSON.parse(each) as { init: string; what: string })
      .map(({ init, what }) => `${init} ${what}`);
    return { status: ended?.status ?? null, answered, lines };
  } finally {
    await guest.stop();
  }
}
