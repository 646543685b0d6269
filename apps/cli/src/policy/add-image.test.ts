/** From the template and a signed manifest to a policy, as the data owner runs it. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { measurementOf, parsePolicy, type GuestManifest } from '#attestation';
import { toHex } from '#attestation/base';
import { madeGuest, withListed, type MadeGuest } from '#test/made-guest';
import { runCommand, type Ran } from '#test/run-command';

const template = 'apps/key-broker/policies/production-cpu.json';
const folder = mkdtempSync(join(tmpdir(), 'veritrain-add-image-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const file = (name: string): string => join(folder, name);
let guest: MadeGuest;

beforeAll(async () => {
  guest = await madeGuest();
  writeFileSync(file('OVMF.fd'), guest.firmware);
});

/** Runs it on what both builders signed. */
async function add(manifests: readonly [GuestManifest, GuestManifest], ...others: readonly string[]): Promise<Ran> {
  const [one, two] = guest.builders;
  writeFileSync(file('one.cose'), await one.sign(manifests[0]));
  writeFileSync(file('two.cose'), await two.sign(manifests[1]));
  let ran: Ran | undefined;
  await withListed(guest.firmware, async () => {
    const second = ['--second', file('two.cose'), '--second-key', toHex(two.publicKey)];
    const named = ['--policy', template, '--public-key', toHex(one.publicKey), '--firmware', file('OVMF.fd')];
    const all = [...named, '--out', file('policy.json'), ...(others.includes('--alone') ? [] : second)];
    const rest = others.filter((word) => word !== '--alone');
    ran = await runCommand('policy', 'add-image', file('one.cose'), ...all, ...rest);
  });
  return ran!;
}
const written = () => parsePolicy(readFileSync(file('policy.json'), 'utf8'));
const codeOf = ({ json }: Ran): unknown => (json['error'] as { code: string } | undefined)?.code;

it('the template parses with the measurements of every launch, and accepts what it names code for', async () => {
  const { code, json } = await add([guest.manifest, guest.manifest]);
  expect([code, json['dropped']]).toEqual([0, ['tdx']]);
  const policy = written();
  expect(policy.environment).toBe('production');
  expect(policy.cpuKinds).toEqual(['snp']);
  expect(policy.snp.measurements).toEqual(guest.manifest.launch.map(({ measurement }) => measurement));
});

it('an image beside the one that is there: both are accepted while sessions of the old one last', async () => {
  await add([guest.manifest, guest.manifest]);
  const next = await madeGuest({ files: { ...guest.manifest.files, cmdline: 'console=ttyS0 rdinit=/init v2' } });
  // Another command line gives other measurements: the manifest that keeps the old ones does not verify.
  expect(codeOf(await add([next.manifest, next.manifest], '--policy', file('policy.json')))).toBe('GUEST_MANIFEST');
  const again = await add([guest.manifest, guest.manifest], '--policy', file('policy.json'));
  expect(again.code).toBe(0);
  expect(written().snp.measurements).toHaveLength(2);
});

it('by the key that signs launches: one line for every shape, with the least security version', async () => {
  const { code, json } = await add([guest.manifest, guest.manifest], '--by', 'id-key');
  expect([code, json['added']]).toEqual([0, [guest.manifest.idKeyDigest]]);
  const { measurements, idKeyDigests, authorKeyDigests, guestSvnMinimum } = written().snp;
  expect(measurements).toBeUndefined();
  expect([idKeyDigests, authorKeyDigests, guestSvnMinimum]).toEqual([
    [guest.manifest.idKeyDigest],
    [guest.manifest.authorKeyDigest],
    7,
  ]);
});

it('GUEST_FLAVOUR: an image for development is refused in a production policy', async () => {
  const dev: GuestManifest = { ...guest.manifest, flavour: 'dev' };
  expect(codeOf(await add([dev, dev]))).toBe('GUEST_FLAVOUR');
});

it('GUEST_ONE_BUILDER: one builder is refused until that is said', async () => {
  expect(codeOf(await add([guest.manifest, guest.manifest], '--alone'))).toBe('GUEST_ONE_BUILDER');
  expect((await add([guest.manifest, guest.manifest], '--alone', '--one-builder')).code).toBe(0);
});

it('GUEST_BUILDERS: two builders that say different things are refused', async () => {
  expect(codeOf(await add([guest.manifest, { ...guest.manifest, tag: 'v9' }]))).toBe('GUEST_BUILDERS');
});

it('a manifest that nobody signed, or another key, is refused', async () => {
  const stranger = await madeGuest();
  const named = ['--policy', template, '--firmware', file('OVMF.fd'), '--out', file('policy.json'), '--one-builder'];
  writeFileSync(file('plain.json'), JSON.stringify(guest.manifest));
  const key = ['--public-key', toHex(guest.builders[0].publicKey)];
  expect(codeOf(await runCommand('policy', 'add-image', file('plain.json'), ...named, ...key))).toMatch(
    /^(COSE|CBOR)_/,
  );
  writeFileSync(file('other.cose'), await stranger.builders[0].sign(guest.manifest));
  expect(codeOf(await runCommand('policy', 'add-image', file('other.cose'), ...named, ...key))).toMatch(/^COSE_/);
});

it('GUEST_FIRMWARE: firmware that is on no list is refused', async () => {
  const [one] = guest.builders;
  writeFileSync(file('one.cose'), await one.sign(guest.manifest));
  const named = ['--policy', template, '--firmware', file('OVMF.fd'), '--out', file('policy.json'), '--one-builder'];
  const ran = await runCommand('policy', 'add-image', file('one.cose'), ...named, '--public-key', toHex(one.publicKey));
  expect(codeOf(ran)).toBe('GUEST_FIRMWARE');
});

it('with --acpi off: the launches stand in the policy in words, and an image without that word is refused', async () => {
  expect(codeOf(await add([guest.manifest, guest.manifest], '--acpi', 'off'))).toBe('GUEST_ACPI');
  const cmdline = 'console=ttyS0 rdinit=/init acpi=off';
  const shape = { vcpus: 1, cpu: 'EPYC-Milan-v2', features: '0x1' };
  const files = { ...guest.manifest.files, cmdline };
  const measurement = measurementOf({ files }, guest.firmware, shape);
  const { idKeyDigest: _, authorKeyDigest: __, ...plain } = guest.manifest;
  const launch = [{ vmm: 'QEMU', qemu: '>=10.0', ...shape, policy: '0x130000', measurement }] as const;
  const off: GuestManifest = { ...plain, files, launch };
  expect((await add([off, off], '--acpi', 'off')).code).toBe(0);
  const { acpi, launches, measurements } = written().snp;
  expect([acpi, measurements]).toEqual(['off', [measurement]]);
  expect(launches).toEqual([
    {
      ...{ firmware: off.firmware.sha256, kernel: files.kernel.sha256, initrd: files.initrd.sha256 },
      ...{ commandLine: cmdline, vcpus: 1, cpu: 'EPYC-Milan', features: 1 },
    },
  ]);
  // The demand stays in the policy: a later image is held against it.
  const again = await add([guest.manifest, guest.manifest], '--policy', file('policy.json'));
  expect(codeOf(again)).toBe('GUEST_ACPI');
});
