/**
 * What the GPU flavour adds, booted as far as it can be without a GPU, with simulated evidence of a CPU: a disk under
 * dm-verity that the program's libraries come from, and a start that fails closed where no GPU answers.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { connectEnclave } from '#libs/enclave-channel';
import { fetchGuest, inputsCache, startGuest, type GuestMachine } from '#libs/guest';
import { within } from '#libs/process';
import { whyNoGuest } from '#test/no-guest';
import { writeImage } from '../../libs/guest/src/image/build.js';
import { imageContents, inputsOf, recipeOf, type ImageContents } from '../../libs/guest/src/image/contents.js';
import { inputFile, obtainInputs } from '../../libs/guest/src/image/inputs.js';
import { guestFolder, readImageList, readLock, type ImageList } from '../../libs/guest/src/image/lock.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-guest-root-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const whyNot = await whyNoGuest('dev');

const library = 'lib/x86_64-linux-gnu/libstdc++.so.6';
const cmdline = 'console=ttyS0 quiet panic=-1 no_timer_check module.sig_enforce=1 oops=panic rdinit=/init';
const own = (name: string): Buffer => readFileSync(join(guestFolder, name));

/** The image of dev with modules, disk and packages of gpu; on the disk is a library that Node does not start without. */
async function contents(argv: string): Promise<ImageContents> {
  await fetchGuest('dev', { cache: inputsCache });
  const list = readImageList();
  const { dev, gpu } = list.flavours;
  const changed: ImageList = {
    ...list,
    system: list.system.filter(({ path }) => path !== library),
    flavours: {
      ...list.flavours,
      dev: {
        without: [],
        packages: [...new Set([...dev.packages, ...gpu.packages])].sort(),
        files: [...dev.files, ...gpu.files],
        system: gpu.system,
        root: list.system.filter(({ path }) => path === library),
      },
    },
  };
  const recipe = recipeOf('dev', readLock(), changed);
  const inputs = await obtainInputs(inputsOf(recipe), { cache: inputsCache });
  const made = imageContents(recipe, new Map([...inputs].map(([input, path]) => [inputFile(input), path])));
  const lists: Record<string, Uint8Array> = {
    'etc/modules': own('modules.gpu'),
    'etc/enclave.argv': Buffer.from(argv),
  };
  const entries = made.entries.map((entry) => ({ ...entry, bytes: lists[entry.path] ?? entry.bytes }));
  return { ...made, entries };
}

interface Boot {
  readonly answered: boolean;
  readonly status: number | null;
  readonly console: string;
}

async function booted(machine: Omit<GuestMachine, 'channel' | 'console'>, name: string): Promise<Boot> {
  const place = join(folder, name);
  mkdirSync(place);
  const [channel, console] = [join(place, 'channel.sock'), join(place, 'console.log')];
  const guest = await startGuest({ ...machine, channel, console });
  try {
    const enclave = await connectEnclave(`unix:${channel}`);
    const body = { provider: new Uint8Array(20), chainId: 0, registry: new Uint8Array(20) };
    const asked = enclave.request('open', body).then(
      () => true,
      () => false,
    );
    const answered = await Promise.race([asked, guest.exited.then(() => false)]);
    enclave.close();
    const ended = await within(120_000, guest.exited);
    return { answered, status: ended?.status ?? null, console: readFileSync(console, 'latin1') };
  } finally {
    await guest.stop();
  }
}

describe.skipIf(whyNot !== null)('a guest with a disk that its command line pins', () => {
  it('NVML_ABSENT: runs its program from it, which finds no GPU and ends; and not where a byte, the tree, the root or the disk is another', async () => {
    const out = join(folder, 'image');
    mkdirSync(out);
    const image = await contents(`${own('argv.dev').toString()}--gpus\nnvml\n`);
    const built = writeImage(out, image, cmdline, 'none');
    const disk = join(out, 'root.img');
    const whole = readFileSync(disk);
    const machine = {
      ...{ qemu: 'qemu-system-x86_64', kernel: join(out, 'vmlinuz'), initrd: join(out, 'initrd.img') },
      ...{ cmdline: built.cmdline.text, root: disk, vcpus: 1, memoryMiB: 1024 },
      platform: { kind: 'dev', accelerator: 'tcg' } as const,
    };
    const honest = await booted(machine, 'honest');
    // Node does not start without the disk's library, and has passed its self-test before it asks for GPUs.
    expect([honest.answered, honest.status]).toEqual([false, 0]);
    expect(honest.console).toContain('"code":"NVML_ABSENT"');
    expect(honest.console).toContain('"init":"INIT_ENDED"');
    const dataBytes = 4096 * Number(/root=(\d+):/.exec(built.cmdline.text)![1]);
    const text = image.root![0]!.bytes;
    const at = whole.indexOf(text.subarray(0, 64));
    expect(at).toBeGreaterThan(0);
    for (const [name, place] of [
      ['the superblock', 1024],
      ['the first page of the library', at + 64],
      ['the top of the tree', dataBytes],
    ] as const) {
      const bad = Buffer.from(whole);
      bad[place]! ^= 1;
      writeFileSync(disk, bad);
      const ran = await booted(machine, name.replaceAll(' ', '-'));
      expect([ran.answered, ran.status], name).toEqual([false, 0]);
      expect(ran.console, name).not.toContain('NVML_ABSENT');
      expect(ran.console, name).toMatch(/device-mapper: verity: .*corrupted|INIT_ROOT/);
    }
    writeFileSync(disk, whole);
    const other = built.cmdline.text.replace(
      /(root=\d+:)(.)/,
      (_, word: string, digit: string) => word + (digit === '0' ? '1' : '0'),
    );
    const wrong = await booted({ ...machine, cmdline: other }, 'another-root');
    expect([wrong.answered, wrong.status]).toEqual([false, 0]);
    expect(wrong.console).not.toContain('NVML_ABSENT');
    const unpinned = await booted({ ...machine, cmdline }, 'no-root');
    expect([unpinned.answered, unpinned.status]).toEqual([false, 0]);
    expect(unpinned.console).toContain('"init":"INIT_ROOT","what":"/proc/cmdline"');
    const { root: _, ...diskless } = machine;
    const absent = await booted(diskless, 'no-disk');
    expect([absent.answered, absent.status]).toEqual([false, 0]);
    expect(absent.console).toContain('"init":"INIT_ROOT","what":"/dev/vda"');
  }, 1_200_000);
});
