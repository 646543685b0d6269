import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Check } from '../check/checks.js';
import { readVbiosVersion } from './device.js';
import { parseManifest } from './manifest.js';
import { compareMeasurements } from './measurements.js';
import { parseReport } from './spdm.js';
import { verifyNvidia, type NvidiaEvidence } from './verify.js';

const folder = `${process.env['VERITRAIN_VECTORS'] ?? '../shared/vectors'}/nvidia-gpu`;
const present = existsSync(folder);
if (!present) console.warn(`SKIPPED: no samples at ${folder}`);
const bytes = (file: string): Uint8Array => new Uint8Array(readFileSync(`${folder}/${file}`));
const unix = (text: string): number => Date.parse(text) / 1000;

const id = 'h100-550.90.07-full';
const full = (change: Partial<NvidiaEvidence> = {}): NvidiaEvidence => ({
  report: bytes(`${id}/report.bin`),
  certificateChain: readFileSync(`${folder}/${id}/cert-chain.pem`, 'utf8'),
  rims: [bytes(`${id}/vbios-rim.xml`), bytes(`${id}/driver-rim.xml`)],
  ocspAnswers: [],
  at: unix('2026-03-01T00:00:00Z'),
  ...change,
});
const statusOf = (checks: readonly Check[], code: string): string | undefined =>
  checks.find((check) => check.code === code)?.status;

it('writes a VBIOS version as the vendor does', () => {
  expect(readVbiosVersion(Uint8Array.of(0, 0x9f, 0, 0x96, 1, 0, 0, 0))).toBe('96.00.9F.00.01');
});

describe.skipIf(!present)('verifyNvidia', () => {
  it('hands on what a policy needs', async () => {
    const { claims } = await verifyNvidia(full());
    expect(claims).toMatchObject({
      architecture: 'hopper',
      chip: 'GH100',
      deviceId: '48B02D92494BADF4',
      ueid: '478176379286082186618948445787393647364802107249',
      driverVersion: '550.90.07',
      vbiosVersion: '96.00.9F.00.01',
      driverRimId: 'NV_GPU_DRIVER_GH100_550.90.07',
      vbiosRimId: 'NV_GPU_VBIOS_1010_0200_882_96009F0001',
      nonce: '931d8dd0add203ac3d8b4fbde75e115278eefcdceac5b87671a748f32364dfcb',
      fwidPresent: true,
      measurements: 'match',
      driverRim: { version: '550.90.07', authentic: true, notAfter: unix('2026-06-01T02:08:29Z') },
      vbiosRim: { version: '96.00.9F.00.01', authentic: true, notBefore: unix('2026-01-07T18:39:21Z') },
      revocation: [],
    });
  });

  it('reads no manifest for a report that no GPU signed', async () => {
    const { report, rims } = full();
    let read = 0;
    const counted = new Proxy(rims, {
      get(list, name) {
        if (name === '0') read += 1;
        return Reflect.get(list, name) as unknown;
      },
    });
    const altered = report.with(report.length - 1, report.at(-1)! ^ 1);
    expect((await verifyNvidia(full({ report: altered, rims: counted }))).authenticity).toBe('forged');
    expect(read).toBe(0);
    expect((await verifyNvidia(full({ rims: counted }))).authenticity).toBe('authentic');
    expect(read).toBe(1);
  });

  it('names Blackwell manifests', async () => {
    const gb100 = {
      report: bytes('gb100-575.32/report.bin'),
      certificateChain: readFileSync(`${folder}/gb100-575.32/cert-chain.pem`, 'utf8'),
    };
    const { claims } = await verifyNvidia(full(gb100));
    expect(claims).toMatchObject({
      architecture: 'blackwell',
      driverRimId: 'NV_GPU_CC_DRIVER_GB100_575.32',
      vbiosRimId: 'NV_GPU_VBIOS_G525_0220_886_970088000F',
      measurements: 'undecided',
    });
  });

  it('compares the nonce inside the signed report', async () => {
    const nonce = parseReport(full().report).nonce;
    expect(statusOf((await verifyNvidia(full({ nonce }))).checks, 'NVIDIA_NONCE')).toBe('met');
    const other = nonce.with(31, nonce[31]! ^ 1);
    const replayed = await verifyNvidia(full({ nonce: other }));
    expect(replayed.authenticity).toBe('authentic');
    expect(statusOf(replayed.checks, 'NVIDIA_NONCE')).toBe('refused');
    expect(statusOf((await verifyNvidia(full())).checks, 'NVIDIA_NONCE')).toBe('not-checked');
  });

  it.each([
    ['2026-06-01T02:08:29Z', 0, 'met'],
    ['2026-06-01T02:08:30Z', 0, 'missing'],
    ['2026-06-01T02:08:30Z', 60, 'warned'],
    ['2026-06-01T02:09:30Z', 60, 'missing'],
  ])('an expired manifest is no forgery (%s, grace %d: %s)', async (at, graceSeconds, status) => {
    const result = await verifyNvidia(full({ at: unix(at), graceSeconds }));
    expect(result.authenticity).toBe('authentic');
    expect(statusOf(result.checks, 'NVIDIA_DRIVER_RIM_EXPIRED')).toBe(status);
    expect(statusOf(result.checks, 'NVIDIA_DRIVER_RIM_SIGNATURE')).toBe('met');
    expect(statusOf(result.checks, 'NVIDIA_VBIOS_RIM_EXPIRED')).toBe('met');
    expect(result.checks.filter((check) => check.status === 'forged')).toEqual([]);
  });

  it('a manifest of tomorrow is missing today', async () => {
    const { checks } = await verifyNvidia(full({ at: unix('2026-01-07T18:39:20Z') }));
    expect(statusOf(checks, 'NVIDIA_VBIOS_RIM_NOT_YET_VALID')).toBe('missing');
    expect(statusOf(checks, 'NVIDIA_VBIOS_RIM_ISSUER')).toBe('met');
  });

  it('a manifest for another version decides nothing', async () => {
    const rims = [bytes(`${id}/driver-rim.xml`), bytes('rim-vbios-1010_0200_882_960074001a/rim.xml')];
    const { checks, claims } = await verifyNvidia(full({ rims }));
    expect(statusOf(checks, 'NVIDIA_VBIOS_RIM_VERSION')).toBe('missing');
    expect(statusOf(checks, 'NVIDIA_MEASUREMENT_MISMATCH')).toBe('not-checked');
    expect(claims?.measurements).toBe('undecided');
  });

  it('picks the right manifest among many, and takes none twice', async () => {
    const wrong = ['rim-driver-gh100-550.144.03', 'rim-vbios-1010_0200_882_960074001a'].map((r) =>
      bytes(`${r}/rim.xml`),
    );
    expect((await verifyNvidia(full({ rims: [...wrong, ...full().rims] }))).claims?.measurements).toBe('match');
    const twice = [full().rims[0]!, full().rims[0]!];
    const { checks } = await verifyNvidia(full({ rims: twice }));
    expect(statusOf(checks, 'NVIDIA_DRIVER_RIM_ABSENT')).toBe('missing');
    expect(statusOf(checks, 'NVIDIA_MEASUREMENT_MISMATCH')).toBe('not-checked');
  });

  it('refuses a device root that is not pinned, whatever the chain brings', async () => {
    const pins = { device: ['00'.repeat(32)], rim: [] };
    const result = await verifyNvidia(full({ pins }));
    expect(result.authenticity).toBe('forged');
    expect(statusOf(result.checks, 'X509_PATH_ROOT')).toBe('forged');
  });

  it('says for every certificate what the answers give', async () => {
    const none = await verifyNvidia(full());
    expect(statusOf(none.checks, 'NVIDIA_OCSP_MISSING')).toBe('not-checked');
    const broken = await verifyNvidia(full({ ocspAnswers: [{ response: Uint8Array.of(0x30, 0) }] }));
    expect(broken.claims?.revocation.map((item) => item.state)).toEqual(Array(9).fill('forged'));
    expect(statusOf(broken.checks, 'NVIDIA_OCSP_FORGED')).toBe('missing');
    expect(statusOf(broken.checks, 'NVIDIA_CERTIFICATE_REVOKED')).toBe('not-checked');
    const silent = await verifyNvidia(full({ ocspAnswers: [{ response: Uint8Array.of(0x30, 3, 0x0a, 1, 3) }] }));
    expect(statusOf(silent.checks, 'NVIDIA_OCSP_MISSING')).toBe('missing');
  });

  it('judges the mode that the guest states', async () => {
    const mode = {
      ccFeature: 1,
      devToolsMode: 0,
      environment: 2,
      multiGpuMode: 0,
      gpuCount: 1,
      driverVersion: 'x',
    } as const;
    const on = await verifyNvidia(full({ mode }));
    expect(['NVIDIA_CC_MODE_OFF', 'NVIDIA_CC_DEVTOOLS'].map((code) => statusOf(on.checks, code))).toEqual([
      'met',
      'met',
    ]);
    for (const change of [{ ccFeature: 0 }, { environment: 1 }] as const) {
      const { checks } = await verifyNvidia(full({ mode: { ...mode, ...change } }));
      expect(statusOf(checks, 'NVIDIA_CC_MODE_OFF')).toBe('refused');
    }
    const tools = await verifyNvidia(full({ mode: { ...mode, devToolsMode: 1 } }));
    expect(statusOf(tools.checks, 'NVIDIA_CC_DEVTOOLS')).toBe('refused');
    expect(statusOf((await verifyNvidia(full())).checks, 'NVIDIA_CC_MODE_OFF')).toBe('not-checked');
  });
});

describe.skipIf(!present)('compareMeasurements', () => {
  const read = (): [ReturnType<typeof parseReport>, ReturnType<typeof parseManifest>[]] => [
    parseReport(full().report),
    full().rims.map(parseManifest),
  ];

  it('counts as the vendor does: 32 equal, index 35 skipped', () => {
    const [report, manifests] = read();
    const result = compareMeasurements(report, 0x55, manifests);
    expect([result.matched.length, result.skipped, result.mismatched, result.conflicts]).toEqual([32, [35], [], []]);
  });

  it('treats index 35 by the decoder state', () => {
    const [report, manifests] = read();
    expect(compareMeasurements(report, undefined, manifests).mismatched).toEqual([35]);
    expect(compareMeasurements(report, 0x00, manifests).mismatched).toEqual([35]);
    expect(compareMeasurements(report, 0xaa, manifests).skipped).toEqual([]);
  });

  it('sees every altered, absent, shorter or doubly claimed measurement', () => {
    const [report, manifests] = read();
    const { matched } = compareMeasurements(report, 0x55, manifests);
    for (const index of matched) {
      const seen = report.measurements.get(index + 1)!;
      const changed = [
        { ...seen, value: seen.value.with(5, seen.value[5]! ^ 16) },
        { ...seen, value: seen.value.subarray(0, 47) },
      ];
      for (const block of changed) {
        const measurements = new Map(report.measurements).set(index + 1, block);
        expect(compareMeasurements({ ...report, measurements }, 0x55, manifests).mismatched).toEqual([index]);
      }
      const measurements = new Map(report.measurements);
      measurements.delete(index + 1);
      expect(compareMeasurements({ ...report, measurements }, 0x55, manifests).mismatched).toEqual([index]);
    }
    expect(compareMeasurements(report, 0x55, [...manifests, manifests[0]!]).conflicts.length).toBe(12);
  });
});
