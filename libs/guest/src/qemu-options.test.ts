/** QEMU itself reads the options of a guest with SEV-SNP, up to where it wants the machine. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { startProcess, tailOf } from '#libs/process';
import { qemuCommand, qemuVersion } from './index.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-options-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const at = (name: string): string => join(folder, name);
const base64 = (bytes: number): string => Buffer.alloc(bytes).toString('base64');

const qemu = 'qemu-system-x86_64';
const found = await qemuVersion(qemu).catch(() => null);
const isOld = found === null || found.major < 10;
if (isOld) console.warn(`SKIPPED: options of SEV-SNP: QEMU 10 is wanted, there is ${found?.text ?? 'none'}`);

/** @param change  of each word */
async function started(change: (word: string) => string): Promise<readonly [number | null, string]> {
  for (const name of ['vmlinuz', 'initrd.img', 'firmware.fd']) writeFileSync(at(name), name);
  const [file, ...words] = qemuCommand({
    ...{ qemu, kernel: at('vmlinuz'), initrd: at('initrd.img'), cmdline: 'rdinit=/init', vcpus: 4, memoryMiB: 1024 },
    ...{ channel: at('channel.sock'), console: at('console.log') },
    platform: {
      ...{ kind: 'snp', firmware: at('firmware.fd'), cpu: 'EPYC-Milan-v2', policy: '0x130000', cbitpos: 51 },
      ...{ reducedPhysBits: 1, hostData: base64(32) },
      idBlock: { block: base64(96), auth: base64(4096), authored: true },
    },
  });
  const { child, exited } = startProcess([file, ...words.map(change)], {
    ...{ stdio: ['ignore', 'ignore', 'pipe'], endsWithUs: true },
  });
  const said = tailOf(child.stderr!, 20_000);
  const status = await exited;
  return [status, said()];
}

const goesFurther = existsSync('/dev/sev');
if (goesFurther) console.warn('SKIPPED: options of SEV-SNP: this machine has it, QEMU would not stop there');

describe.skipIf(isOld || goesFurther)('options of a guest with SEV-SNP', () => {
  it('are taken by QEMU 10, which stops at a machine without', async () => {
    const [status, said] = await started((word) => word);
    expect([status, said]).toEqual([1, expect.stringMatching(/KVM/)]);
    expect(said).not.toMatch(/not found|invalid|unexpected/i);
  });

  it.each(['kernel-hashes', 'author-key-enabled', 'id-block', 'id-auth', 'host-data'])(
    'would be refused by name where QEMU did not know %s',
    async (name) => {
      const [status, said] = await started((word) => word.replace(`,${name}=`, `,${name}-x=`));
      expect([status, said]).toEqual([1, expect.stringMatching(new RegExp(`parameter '${name}-x'`, 'i'))]);
    },
  );
});
