/** Which accelerator a guest runs with, with a program in QEMU's place and a file in that of KVM's device. */
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { writeFakeQemu } from '#test/fake-qemu';
import { runImage } from './run.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-run-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const at = (name: string): string => join(folder, name);
const request = { folder: at('image'), memory: 64, qemu: at('qemu'), kvm: at('kvm') };

beforeAll(() => {
  mkdirSync(at('image'));
  const part = (file: string) => {
    writeFileSync(join(at('image'), file), file);
    return { file, sha256: createHash('sha256').update(file).digest('hex'), bytes: file.length };
  };
  const image = {
    ...{ flavour: 'dev', kernel: part('vmlinuz'), initrd: part('initrd.img') },
    ...{ cmdline: { ...part('cmdline'), text: 'cmdline' }, files: { ...part('files.txt'), count: 1 } },
    ...{ sbom: part('sbom.json'), firmware: { ...part('firmware.fd'), name: 'none' } },
    ...{ lockSha256: '0'.repeat(64), inputs: [] },
  };
  writeFileSync(join(at('image'), 'image.json'), JSON.stringify(image));
  writeFakeQemu(at('emulates'));
  writeRefusing('echo "qemu: failed to initialize kvm: Operation not supported" >&2; exit 1');
});

/** QEMU that carries a guest without KVM alone. @param refusal  what it does with KVM */
function writeRefusing(refusal: string): void {
  writeFileSync(at('qemu'), `#!/bin/sh\ncase "$*" in *'-accel kvm'*) ${refusal};; esac\nexec ${at('emulates')} "$@"\n`);
  chmodSync(at('qemu'), 0o755);
}

it('emulates the processor where there is no KVM', async () => {
  expect(await runImage(request)).toMatchObject({ ok: true, accelerator: 'tcg', withoutKvm: null });
});

it('emulates it, and says why, where KVM is there and starts no guest', async () => {
  writeFileSync(at('kvm'), '');
  const ran = await runImage(request);
  expect(ran).toMatchObject({ ok: true, accelerator: 'tcg' });
  expect(ran.withoutKvm).toContain('failed to initialize kvm');
});

it('emulates it where KVM starts a guest and stops it with an error of its own', async () => {
  const listens = `exec ${process.execPath} -e "require('net').createServer().listen('$(echo "$*" | sed 's/.*path=\\([^,]*\\),.*/\\1/')')"`;
  writeRefusing(`echo "KVM internal error. Suberror: 1" >&2; ${listens}`);
  const ran = await runImage(request);
  expect(ran).toMatchObject({ ok: true, accelerator: 'tcg', withoutKvm: 'KVM internal error. Suberror: 1' });
});

it('GUEST_QEMU_FAILED: does not where KVM was asked for', async () => {
  await expect(runImage({ ...request, accelerator: 'kvm' })).rejects.toMatchObject({ code: 'GUEST_QEMU_FAILED' });
});
