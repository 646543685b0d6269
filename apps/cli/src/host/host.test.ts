/** An operator's way on a host that is made up: its files of /proc, /sys and /dev, and a program in QEMU's place. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toHex } from '#attestation/base';
import { startProcess, tailOf } from '#libs/process';
import {
  buildSnpReport,
  createSimulatedVendor,
  signSnpReport,
  simulatedMeasurement,
  snpReportSigner,
} from '#libs/simulated-vendor';
import { writeFakeQemu } from '#test/fake-qemu';
import { writeMadeHost } from '#test/made-host';
import { madeGuest, withListed, writeMadeGuest, type MadeGuest } from '#test/made-guest';
import { samplesRoot } from '#test/samples';
import { runCommand, type Ran } from '#test/run-command';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-host-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const at = (...parts: readonly string[]): string => join(folder, ...parts);
const write = (path: string, content: string | Uint8Array): void => {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
};
let guest: MadeGuest;
const qemu = at('qemu');

beforeAll(async () => {
  guest = await madeGuest();
  writeMadeGuest(at('image'), guest);
  write(at('manifest.cose'), await guest.builders[0].sign(guest.manifest));
  writeFakeQemu(qemu);
});

const host = (change: Readonly<Record<string, string | null>> = {}): string => writeMadeHost(at('root'), change);

async function preflight(change: Readonly<Record<string, string | null>> = {}, ...more: readonly string[]) {
  const named = ['--root', host(change), '--qemu', qemu, '--dir', folder, '--offline', '--cache', at('cache')];
  const ran = await runCommand('host', 'preflight', ...named, ...more);
  const checks = (ran.json['checks'] ?? []) as { name: string; state: string; found: string; action: string }[];
  return { ...ran, of: (name: string) => checks.find((check) => check.name === name)!, checks };
}

describe('preflight', () => {
  it('finds what a host with SEV-SNP has, and says what only a boot shows', async () => {
    const { code, checks, of } = await preflight();
    expect([code, checks.filter(({ state }) => state === 'missing')]).toEqual([0, []]);
    expect(of('C-bit').found).toBe('bit 51, costs 1');
    expect(of('QEMU').found).toContain('10.0.2');
    expect(of('firmware TCB')).toMatchObject({
      state: 'warning',
      action: expect.stringContaining('--check') as string,
    });
  });

  it.each<[string, Readonly<Record<string, string | null>>, RegExp]>([
    ['processor', { 'proc/cpuinfo': 'vendor_id : GenuineIntel\nmodel name : other\n' }, /--profile dev/],
    ['kernel', { 'proc/sys/kernel/osrelease': '6.1.0-50-amd64\n' }, /6\.11/],
    ['kvm_amd sev_snp', { 'sys/module/kvm_amd/parameters/sev_snp': 'N\n' }, /BIOS/],
    ['/dev/kvm', { 'dev/kvm': null }, /group kvm/],
    ['/dev/sev', { 'dev/sev': null }, /ccp/],
    ['IOMMU', { 'sys/class/iommu/ivhd0': null }, /BIOS/],
    ['memory', { 'proc/meminfo': 'MemAvailable: 1024 kB\n' }, /--memory/],
  ])('names what is missing and what to do: %s', async (name, change, action) => {
    const { code, of } = await preflight(change);
    expect([code, of(name).state]).toEqual([1, 'missing']);
    expect(of(name).action).toMatch(action);
  });

  it('names an old QEMU, and debug_swap, which changes every measurement', async () => {
    write(at('qemu.env'), 'export FAKE_QEMU_VERSION=7.2.22\n');
    const { of } = await preflight({ 'sys/module/kvm_amd/parameters/debug_swap': 'Y\n' });
    write(at('qemu.env'), '');
    expect([of('QEMU').state, of('kvm_amd debug_swap').state]).toEqual(['missing', 'warning']);
  });

  it('holds the firmware of a report against the floors of a policy, and looks for the certificate', async () => {
    // Boot loader 4, SNP 22, microcode 213.
    write(at('report.bin'), buildSnpReport({ REPORTED_TCB: Uint8Array.of(4, 0, 0, 0, 0, 0, 22, 213) }));
    const { code, of } = await preflight({}, '--report', at('report.bin'), '--policy', at('floors.json'));
    expect(code).toBe(1);
    expect(of('firmware TCB')).toMatchObject({
      state: 'missing',
      action: expect.stringContaining('AMD-SB-3019') as string,
    });
    expect(of('VCEK certificate').found).toContain('COLLATERAL_OFFLINE');
  });

  it('counts the disk before the folder of the settings is there', async () => {
    const named = await preflight({}, '--dir', at('not', 'there', 'yet'));
    expect(Number.parseInt(named.of('disk').found, 10)).toBeGreaterThan(0);
  });

  it('does not take a file for a certificate because it has bytes', async () => {
    write(at('report.bin'), buildSnpReport({}));
    write(at('README.md'), '# not a certificate\n');
    const { code, of } = await preflight({}, '--report', at('report.bin'), '--vcek', at('README.md'));
    expect([code, of('VCEK certificate')]).toMatchObject([
      1,
      { state: 'missing', found: expect.stringContaining('no X.509 certificate') as string },
    ]);
    expect((await preflight({}, '--vcek', at('README.md'))).of('VCEK certificate').state).toBe('missing');
  });

  it('opens the policy without a report, too', async () => {
    expect(codeOf(await preflight({}, '--policy', at('nope.json')))).toBe('FILE_UNREADABLE');
    write(at('no-policy.json'), '{}');
    expect(codeOf(await preflight({}, '--policy', at('no-policy.json')))).toBe('DOCUMENT_SHAPE');
  });

  it('refuses a simulated report, and names it so', async () => {
    const vendor = await createSimulatedVendor({ product: 'Milan', at: Math.floor(Date.now() / 1000) });
    const reportOf = (measurement: Uint8Array): Promise<Uint8Array> =>
      signSnpReport(
        buildSnpReport({
          MEASUREMENT: measurement,
          CHIP_ID: vendor.hwid,
          REPORTED_TCB: Uint8Array.of(4, 0, 0, 0, 0, 0, 24, 219),
        }),
        snpReportSigner(vendor.vcekKey),
      );
    write(at('report.bin'), await reportOf(simulatedMeasurement));
    const bare = await preflight({}, '--report', at('report.bin'), '--policy', at('floors.json'));
    expect([bare.code, bare.json['simulated'], bare.of('firmware TCB').state]).toEqual([1, true, 'missing']);
    expect(bare.of('firmware TCB').found).toMatch(/^SIMULATED: Milan/);

    write(at('report.bin'), await reportOf(new Uint8Array(48).fill(7)));
    write(at('vcek.der'), vendor.vcek);
    const given = await preflight({}, '--report', at('report.bin'), '--vcek', at('vcek.der'));
    expect([given.code, given.json['simulated']]).toEqual([1, true]);
    for (const name of ['firmware TCB', 'VCEK certificate'])
      expect(given.of(name)).toMatchObject({
        state: 'missing',
        found: expect.stringMatching(/^SIMULATED: /) as string,
      });
  });

  it('ticks no TCB that has no floor to be held against', async () => {
    write(at('report.bin'), buildSnpReport({}));
    const floors = JSON.parse(readFileSync(at('floors.json'), 'utf8')) as { snp: object };
    write(at('no-floors.json'), JSON.stringify({ ...floors, snp: { ...floors.snp, tcbFloors: [] } }));
    const { of } = await preflight({}, '--report', at('report.bin'), '--policy', at('no-floors.json'));
    expect(of('firmware TCB')).toMatchObject({
      state: 'warning',
      action: expect.stringContaining('no floor to hold it against') as string,
    });
  });

  describe.skipIf(!existsSync(samplesRoot))('of a recorded machine', () => {
    const recorded = (machine: string, file: string): string => join(samplesRoot, 'amd-snp', machine, file);
    const milan = 'milan-v3-vcek';
    const judge = (report: string, vcek: string) =>
      preflight({}, '--report', report, '--vcek', vcek, '--policy', at('floors.json'));

    it('reads the firmware, and says that nothing vouches for it', async () => {
      const report = recorded('turin-v5-vcek-azure', 'report.bin');
      const { of } = await preflight({}, '--report', report, '--policy', at('floors.json'));
      expect(of('firmware TCB').found).toMatch(/^Turin .*snp.*nothing vouches/);
      expect(of('firmware TCB').state).not.toBe('ok');
    });

    it('verifies the report under the certificate, up to AMD’s root where the chain is at hand', async () => {
      const alone = await judge(recorded(milan, 'report.bin'), recorded(milan, 'vcek.der'));
      expect(alone.of('VCEK certificate')).toMatchObject({
        state: 'warning',
        found: expect.stringContaining('AMD’s chain is not at hand: COLLATERAL_OFFLINE') as string,
      });
      expect(alone.of('firmware TCB').state).not.toBe('ok');
      const der = readFileSync(recorded(milan, 'vcek.der'));
      const leaf = `-----BEGIN CERTIFICATE-----\n${der.toString('base64').replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`;
      const issuers = ['ask-milan.pem', 'ark-milan.pem'].map((name) => readFileSync(recorded('anchors', name), 'utf8'));
      write(at('chain.pem'), [leaf, ...issuers].join(''));
      const whole = await judge(recorded(milan, 'report.bin'), at('chain.pem'));
      expect(whole.of('VCEK certificate'), JSON.stringify(whole.checks)).toMatchObject({ state: 'ok' });
      expect(whole.of('firmware TCB').found).not.toContain('nothing vouches');
    });

    it.each([
      ['another chip’s certificate', milan, 'milan-v2-vcek-smt', /SNP_/],
      ['another product’s certificate', milan, 'turin-v5-vcek-azure', /SNP_/],
    ])('refuses %s', async (_, machine, other, code) => {
      const { code: status, of } = await judge(recorded(machine, 'report.bin'), recorded(other, 'vcek.der'));
      expect([status, of('VCEK certificate').state]).toEqual([1, 'missing']);
      expect(of('VCEK certificate').found).toMatch(code);
    });

    it('refuses a report that was changed after it was signed', async () => {
      const report = readFileSync(recorded(milan, 'report.bin'));
      report[0x50]! ^= 1;
      write(at('changed.bin'), report);
      const { code, of } = await judge(at('changed.bin'), recorded(milan, 'vcek.der'));
      expect([code, of('VCEK certificate').found]).toEqual([1, expect.stringContaining('SNP_REPORT_SIGNATURE')]);
    });
  });

  it('of profile dev asks for QEMU alone, and says SIMULATED', async () => {
    const { code, json, of } = await preflight({ 'dev/sev': null, 'dev/kvm': null }, '--profile', 'dev');
    expect([code, json['simulated'], of('/dev/sev').state]).toEqual([0, true, 'skipped']);
  });

  beforeAll(() => {
    const template = JSON.parse(readFileSync('apps/key-broker/policies/production-cpu.json', 'utf8')) as object;
    write(at('floors.json'), JSON.stringify({ ...template, environment: 'development' }));
  });
});

async function init(name: string, ...more: readonly string[]): Promise<Ran & { dir: string }> {
  const dir = at(name);
  const places = [
    '--dir',
    dir,
    '--image',
    at('image'),
    '--qemu',
    qemu,
    '--run-dir',
    at(`${name}-run`),
    '--state',
    at('state'),
  ];
  let ran: Ran | undefined;
  await withListed(guest.firmware, async () => void (ran = await runCommand('host', 'init', ...places, ...more)));
  return { ...ran!, dir };
}
const measured = (): string[] => [
  ...['--manifest', at('manifest.cose'), '--public-key', toHex(guest.builders[0].publicKey)],
  ...[
    '--firmware',
    at('image', 'OVMF.fd'),
    '--vcpus',
    '4',
    '--cpu',
    'EPYC-Milan',
    '--cbitpos',
    '51',
    '--reduced-phys-bits',
    '1',
  ],
];
const codeOf = ({ json }: Ran): unknown => (json['error'] as { code: string } | undefined)?.code;
const check = (dir: string): Promise<Ran> => runCommand('host', 'up', '0', '--check', '--dir', dir);

describe('a host with SEV-SNP', () => {
  it('is set up from a signed manifest, and keys are their owner’s alone', async () => {
    write(at('api.key'), 'vt_0123456789abcdef_0123456789abcdef0123456789abcdef\n');
    write(at('deployment.json'), '{}');
    write(at('dispatch.json'), '{"host":"control.test","port":4200}');
    const agent = [
      ...['--control-plane', 'https://control.test', '--dispatch', at('dispatch.json')],
      ...['--api-key', at('api.key'), '--rpc', 'https://chain.test'],
    ];
    const { code, json, dir } = await init('snp', ...measured(), ...agent, '--deployment', at('deployment.json'));
    expect(code, JSON.stringify(json)).toBe(0);
    const modes = ['provider.key', 'host-secret.key', 'host-0.json', 'guest/0.json'].map((file) =>
      (statSync(join(dir, file)).mode & 0o777).toString(8),
    );
    expect(modes).toEqual(['600', '600', '600', '644']);
    const key = readFileSync(join(dir, 'provider.key'), 'utf8');
    await init('snp', ...measured());
    expect(readFileSync(join(dir, 'provider.key'), 'utf8')).toBe(key);
    const { enclave } = JSON.parse(readFileSync(join(dir, 'host-0.json'), 'utf8')) as { enclave: object };
    expect(enclave).toEqual({ address: `unix:${at('snp-run')}/0/channel.sock`, attester: 'snp' });
  });

  it('boots, is asked over a fresh nonce, and is measured as the manifest says', async () => {
    const { dir } = await init('boots', ...measured());
    const { code, json } = await check(dir);
    expect(code, JSON.stringify(json)).toBe(0);
    expect(json).toMatchObject({ kind: 'snp', simulated: false, measurement: guest.manifest.launch[1]!.measurement });
    expect(statSync(join(dir, 'guest/0.report.bin')).size).toBe(1184);
  });

  it('GUEST_QEMU_FAILED: the ID block lets no other launch start', async () => {
    const { dir } = await init('blocked', ...measured());
    write(at('qemu.env'), 'export FAKE_QEMU_FEATURES=0x21\n');
    const ran = await check(dir);
    write(at('qemu.env'), '');
    expect(codeOf(ran)).toBe('GUEST_QEMU_FAILED');
    expect(JSON.stringify(ran.json)).toContain('ID block');
  });

  it('GUEST_MEASUREMENT: without an ID block the input that differs is named', async () => {
    const { dir } = await init('swapped', ...measured());
    const file = join(dir, 'guest/0.json');
    const settings = JSON.parse(readFileSync(file, 'utf8')) as { platform: Record<string, unknown> };
    delete settings.platform['idBlock'];
    write(file, JSON.stringify(settings));
    write(at('qemu.env'), 'export FAKE_QEMU_FEATURES=0x21\n');
    const ran = await check(dir);
    write(at('qemu.env'), '');
    expect(codeOf(ran)).toBe('GUEST_MEASUREMENT');
    expect(JSON.stringify(ran.json)).toContain('SEV_FEATURES 0x21 instead of 0x1');
  });

  it('GUEST_IMAGE: a file of the image that is another is named before anything starts', async () => {
    const { dir } = await init('changed', ...measured());
    write(at('image', 'initrd.img'), 'another');
    const ran = await check(dir);
    writeMadeGuest(at('image'), guest);
    expect([codeOf(ran), JSON.stringify(ran.json).includes('initrd.img')]).toEqual(['GUEST_IMAGE', true]);
  });

  it('GUEST_SHAPE: a shape that the manifest does not have is refused with those that it has', async () => {
    const ran = await init('shape', ...measured(), '--cpu', 'EPYC-Genoa');
    expect(codeOf(ran)).toBe('GUEST_SHAPE');
    expect(JSON.stringify(ran.json)).toContain('4 × EPYC-Milan 0x1');
  });

  it('HOST_INIT: no settings of a measured guest without its manifest', async () => {
    expect(codeOf(await init('bare'))).toBe('HOST_INIT');
  });
});

describe('a host for development', () => {
  it('boots a real enclave with a simulated attester, and says SIMULATED', async () => {
    const { dir, code } = await init('dev', '--profile', 'dev');
    expect(code).toBe(0);
    expect((await check(dir)).json).toMatchObject({ ok: true, kind: 'simulated-snp', simulated: true });
  });

  it('holds the image against a manifest where there is one', async () => {
    const [own, other] = guest.builders.map(({ publicKey }) => toHex(publicKey)) as [string, string];
    const signedBy = (key: string) => ['--profile', 'dev', '--manifest', at('manifest.cose'), '--public-key', key];
    expect((await init('signed', ...signedBy(own))).code).toBe(0);
    expect(codeOf(await init('signed', ...signedBy(other)))).toMatch(/^COSE_/);
    expect(codeOf(await init('signed', '--profile', 'dev', '--public-key', own))).toBe('HOST_INIT');
    write(at('image', 'initrd.img'), 'another');
    const changed = await init('signed', ...signedBy(own));
    writeMadeGuest(at('image'), guest);
    expect(codeOf(changed)).toBe('GUEST_IMAGE');
  });

  it('is found again from any folder', async () => {
    const { dir, json } = await init('relative', '--profile', 'dev', '--run-dir', 'run-of-a-test');
    const settings = JSON.parse(readFileSync(join(dir, 'guest/0.json'), 'utf8')) as object;
    expect(settings).toMatchObject({ runDirectory: resolve('run-of-a-test/0'), image: at('image') });
    expect(json['next']).toContain(`veritrain host up 0 --check --dir ${dir}`);
  });

  it('HOST_INIT: does not boot to serve before its agent has settings', async () => {
    const { dir } = await init('no-agent', '--profile', 'dev');
    const ran = await runCommand('host', 'up', '0', '--dir', dir);
    expect(codeOf(ran)).toBe('HOST_INIT');
    expect(JSON.stringify(ran.json)).toContain('--control-plane');
    expect(existsSync(at('no-agent-run'))).toBe(false);
  });
});

const hasSystemd = (await startProcess(['systemd-analyze', '--version'], { stdio: 'ignore' }).exited) === 0;
if (!hasSystemd) console.warn('SKIPPED: systemd-analyze is not installed, units are not verified');
describe.skipIf(!hasSystemd)('units that host init writes', () => {
  it('are accepted by systemd-analyze verify', async () => {
    const { dir } = await init('units', '--profile', 'dev');
    const files = ['veritrain-guest@0.service', 'veritrain-host-agent@0.service'];
    for (const file of files) {
      const [template] = [file.replace('@0', '@')];
      writeFileSync(join(dir, 'systemd', file), readFileSync(join(dir, 'systemd', template)));
    }
    const paths = files.map((file) => join(dir, 'systemd', file));
    const { child, exited } = startProcess(['systemd-analyze', 'verify', '--man=no', ...paths], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const said = tailOf(child.stderr!, 8000);
    await exited;
    const own = said()
      .split('\n')
      .filter((line) => line.includes('veritrain') && !/is not executable|No such file/.test(line));
    expect(own).toEqual([]);
  });
});
