/** A whole machine, CPU and GPU under made-up vendors, through the one function that judges it. */
import { beforeAll, expect, it, vi } from 'vitest';
import { fakeAmd, fakeAmdAt } from '#test/fake-amd';
import { createFakeNvidia, type FakeNvidia } from '#test/fake-nvidia';
import { encodeCanonical } from '../base/cbor.js';
import { gpuNonce, reportData, type KeyBinding } from '../records/key-binding.js';
import { appraise, type AppraisalRequest } from './appraise.js';
import type { CompositeEvidence } from './evidence.js';
import { noEndorsements } from './evidence.js';
import { neutralPolicy, type AppraisalPolicy } from './policy.js';

const pins = vi.hoisted(() => ({ device: [] as string[], rim: [] as string[] }));
vi.mock('../nvidia/constants.js', async (original) => ({ ...(await original<object>()), nvidiaPins: pins }));

const at = fakeAmdAt;
const filled = (size: number, byte: number) => new Uint8Array(size).fill(byte);
const nonce = filled(32, 6);
const keys: KeyBinding = {
  receiptKey: filled(32, 1),
  settlementKey: filled(20, 2),
  transportKey: filled(32, 3),
  provider: filled(20, 4),
  chainId: 31337,
  registry: filled(20, 5),
};
const measurements = new Map([
  [1, filled(48, 1)],
  [2, filled(48, 2)],
]);
const mode = {
  ccFeature: 1,
  devToolsMode: 0,
  environment: 2,
  multiGpuMode: 0,
  gpuCount: 1,
  driverVersion: '550.90.07',
};
const amd = fakeAmd('milan');
const policy: AppraisalPolicy = {
  ...neutralPolicy,
  environment: 'development',
  simulatedRoots: amd.roots,
  freshness: 'required',
  cpuKinds: ['simulated-snp'],
  snp: { ...neutralPolicy.snp, revocation: 'not-demanded' },
  gpu: { ...neutralPolicy.gpu, mode: 'required', count: 1 },
};
let nvidia: FakeNvidia;
let rims: Uint8Array[];

beforeAll(async () => {
  nvidia = await createFakeNvidia();
  pins.device.push(...nvidia.pins.device);
  pins.rim.push(...nvidia.pins.rim);
  rims = [
    await nvidia.rim('550.90.07', new Map([[1, filled(48, 1)]])),
    await nvidia.rim('96.00.9F.00.01', new Map([[2, filled(48, 2)]])),
  ];
});

interface Bend {
  readonly answered?: Uint8Array;
  readonly stated?: object;
  readonly covered?: boolean;
  readonly measured?: ReadonlyMap<number, Uint8Array>;
  readonly request?: Partial<AppraisalRequest>;
}

async function judge({ answered, stated = mode, covered = true, measured = measurements, request }: Bend = {}) {
  const gpu = await nvidia.report({
    nonce: answered ?? gpuNonce(nonce, keys),
    measurements: measured,
    driver: '550.90.07',
    vbios: '009f009601000000',
  });
  const claims = encodeCanonical(new Map([['gpu', new Map(Object.entries(stated))]]));
  const report = await amd.report({ REPORT_DATA: reportData(nonce, keys, covered ? [gpu] : [], claims) });
  const evidence: CompositeEvidence = {
    kind: 'composite',
    cpu: { kind: 'simulated-snp', report },
    gpus: [{ kind: 'nvidia', report: gpu, certificateChain: nvidia.device.map(({ certificate }) => certificate.raw) }],
    session: { nonce, keys, claims },
  };
  const endorsements = { ...noEndorsements, certificates: amd.certificates, rims };
  const result = await appraise({ evidence, endorsements, policy, nonce, at, ...request });
  const bad = result.checks.filter(({ id, status }) => status !== 'met' && id !== 'SIMULATED_HARDWARE');
  return { result, codes: bad.map(({ code, status }) => `${code} ${status}`) };
}

it('is affirmed when CPU, GPU and session all hold', async () => {
  const { result, codes } = await judge();
  expect(codes).toEqual([]);
  expect(result.submodules.map(({ name, kind, tier }) => `${name} ${kind} ${tier}`)).toEqual([
    'cpu simulated-snp warning',
    'gpu-0 nvidia affirming',
    'session session affirming',
  ]);
  expect(result.keys).toBe(keys);
});

it.each<[string, Bend, string[]]>([
  ['the GPU answers another nonce', { answered: nonce }, ['COMPOSITE_UNBOUND refused']],
  ['REPORT_DATA does not cover the GPU report', { covered: false }, ['REPORT_DATA_MISMATCH refused']],
  ['the guest states developer tools', { stated: { ...mode, devToolsMode: 1 } }, ['NVIDIA_CC_DEVTOOLS refused']],
  ['the guest states that the mode is off', { stated: { ...mode, ccFeature: 0 } }, ['NVIDIA_CC_MODE_OFF refused']],
  ['the guest states more GPUs', { stated: { ...mode, gpuCount: 8 } }, ['COMPOSITE_GPU_COUNT refused']],
  [
    'a measurement differs',
    { measured: new Map([...measurements, [1, filled(48, 9)]]) },
    ['NVIDIA_MEASUREMENT_MISMATCH refused'],
  ],
])('is refused when %s', async (_, bend, codes) => {
  const judged = await judge(bend);
  expect(judged.codes).toEqual(codes);
  expect(judged.result.tier).toBe('contraindicated');
  expect(judged.result.keys).toBeUndefined();
});

it('A-M2 names its GPUs by device and serial number, and is refused where another live session has one', async () => {
  const { result } = await judge();
  const gpu = result.submodules.find(({ kind }) => kind === 'nvidia')!;
  expect(result.devices).toEqual([gpu.device]);
  expect(gpu.serial).toMatch(/^\d+$/);
  expect(gpu.checks.every(({ subject }) => JSON.stringify(subject) === '{"gpu":0,"session":0}')).toBe(true);
  const second = await judge({ request: { devicesInUse: new Set(result.devices), session: 3 } });
  expect(second.codes).toEqual(['COMPOSITE_DEVICE_IN_USE refused']);
  expect(second.result.checks.at(-1)!.subject).toEqual({ session: 3 });
});

it('A-M2 is refused when the driver that the guest states is not the one that the GPU reports', async () => {
  const judged = await judge({ stated: { ...mode, driverVersion: '595.71.05' } });
  expect(judged.codes).toEqual(['COMPOSITE_DRIVER refused']);
});

it('condemns a GPU by product, firmware or device id', async () => {
  const deviceId = (await judge()).result.devices[0]!;
  for (const selector of [{ product: 'GH100' }, { versions: ['550.90.07'] }, { chip: deviceId }]) {
    const advisories = [
      {
        ...{ version: 1, id: 'test', issued: at },
        advisories: [
          {
            ...{ id: 'TEST-1', title: 'a test', source: 'https://example.org', standing: 'vendor', severity: 'high' },
            ...{ since: 0, effect: 'refuse', condemns: [selector] },
          },
        ],
      },
    ] as unknown as NonNullable<AppraisalRequest['endorsements']['advisories']>;
    const endorsements = { ...noEndorsements, certificates: amd.certificates, rims, advisories };
    expect((await judge({ request: { endorsements } })).codes).toEqual(['ADVISORY_CONDEMNED refused']);
  }
});

it('is refused while its GPU serves another session, by the name that results give it', async () => {
  const device = (await judge()).result.submodules.find(({ kind }) => kind === 'nvidia')!.device!;
  const { codes } = await judge({ request: { devicesInUse: new Set([device]) } });
  expect(codes).toEqual(['COMPOSITE_DEVICE_IN_USE refused']);
});

it('is unknown without reference manifests', async () => {
  const { result } = await judge({ request: { endorsements: { ...noEndorsements, certificates: amd.certificates } } });
  expect(result.tier).toBe('none');
  expect(result.authenticity).toBe('authentic');
});
