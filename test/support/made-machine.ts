/** Sessions on whole machines under made-up vendors, with the endorsements that a key broker hands on. */
import { ed25519 } from '@noble/curves/ed25519.js';
import { neutralPolicy, type AppraisalPolicy } from '#attestation';
import { encodeCanonical } from '#attestation/base';
import {
  encodeSessionEvidence,
  expectedGpuNonce,
  expectedReportData,
  noEndorsementRecord,
  withSessionProof,
  type EndorsementRecord,
  type KeyBinding,
  type ReportedSession,
} from '#attestation/records';
import { fakeAmd, fakeAmdAt } from './fake-amd.js';
import { collateralFile, fakeIntel, type FakeRoot } from './fake-intel.js';
import { createFakeNvidia, type FakeNvidia } from './fake-nvidia.js';
import { chainId, receiptKey, receiptSecret, word } from './made-session.js';

/** Unix seconds at which a machine with a GPU is in order. */
export const gpuMachineAt = fakeAmdAt;

const amd = fakeAmd('milan');
const driver = '550.90.07';
const vbios = { reported: '009f009601000000', manifest: '96.00.9F.00.01' };
const golden = [new Map([[1, filled(48, 1)]]), new Map([[2, filled(48, 2)]])] as const;
const gpuMode = {
  ...{ ccFeature: 1, devToolsMode: 0, environment: 2, multiGpuMode: 0, gpuCount: 1 },
  driverVersion: driver,
};

/** What a data owner demands who leaves nothing open that an endorsement can say. */
export const gpuPolicy: AppraisalPolicy = {
  ...neutralPolicy,
  environment: 'development',
  simulatedRoots: amd.roots,
  cpuKinds: ['simulated-snp'],
  snp: { ...neutralPolicy.snp, revocation: 'required' },
  gpu: { ...neutralPolicy.gpu, mode: 'required', count: 1, revocation: 'required' },
};

export const tdxPolicy: AppraisalPolicy = {
  ...neutralPolicy,
  cpuKinds: ['tdx'],
  quote: { ...neutralPolicy.quote, tcbEvaluationNumberMinimum: 17 },
};

export interface MadeMachine {
  readonly evidence: Uint8Array;
  readonly endorsements: EndorsementRecord;
}

export interface GpuVendor {
  readonly nvidia: FakeNvidia;
  /** By a session that no other has: `place` is in its nonce and keys. The device is always the same. */
  session(provider: Uint8Array, place?: number, of?: SessionInMachine): Promise<MadeMachine>;
  readonly endorsements: EndorsementRecord;
}

/** Whose evidence a machine is to make, where a test has keys of its own. */
export interface SessionInMachine {
  readonly nonce: Uint8Array;
  readonly binding: KeyBinding;
  sign(message: Uint8Array): Uint8Array | Promise<Uint8Array>;
}

export async function madeGpuVendor(): Promise<GpuVendor> {
  const nvidia = await createFakeNvidia();
  const endorsements: EndorsementRecord = {
    ...noEndorsementRecord,
    certificates: amd.certificates,
    crls: [await amd.crl()],
    rims: [await nvidia.rim(driver, golden[0]), await nvidia.rim(vbios.manifest, golden[1])],
    ocsp: await answersOf(nvidia),
  };
  const session = async (provider: Uint8Array, place = 1, of?: SessionInMachine): Promise<MadeMachine> => {
    const bare = { ...sessionOf(provider, place, of), claims: encodeCanonical(claimsOf(gpuMode)) };
    const report = await nvidia.report({
      ...{ nonce: expectedGpuNonce(bare), measurements: new Map(golden.flatMap((values) => [...values])) },
      ...{ driver, vbios: vbios.reported },
    });
    const certificates = nvidia.device.map(({ certificate }) => certificate.raw);
    const withGpu = { ...bare, gpus: [{ report, certificates }] };
    const cpu = await amd.report({ REPORT_DATA: expectedReportData(withGpu) });
    return { evidence: await proved({ ...withGpu, cpu: { ...bare.cpu, report: cpu } }, of), endorsements };
  };
  return { nvidia, session, endorsements };
}

/** A TD, its collateral and the time at which both are in order. */
export async function madeTd(
  provider: Uint8Array,
  root: FakeRoot,
  of?: SessionInMachine,
): Promise<MadeMachine & { readonly at: number }> {
  const bare = sessionOf(provider, 1, of);
  const reportDataAt = 520;
  const platform = await fakeIntel({ root, body: [[reportDataAt, expectedReportData(bare)]] });
  const evidence = await proved({ ...bare, cpu: { kind: 'tdx', report: platform.quote, certificates: [] } }, of);
  return { evidence, endorsements: { ...noEndorsementRecord, intel: [collateralFile(platform)] }, at: platform.at };
}

function sessionOf(provider: Uint8Array, place: number, of?: SessionInMachine): ReportedSession {
  const registry = filled(20, 0xdd);
  const keys = { receiptKey, settlementKey: filled(20, place), transportKey: word(place) };
  return {
    nonce: of?.nonce ?? word(place),
    binding: of?.binding ?? { ...keys, provider, chainId, registry },
    cpu: { kind: 'simulated-snp', report: new Uint8Array(), certificates: [] },
    gpus: [],
    claims: new Uint8Array(),
  };
}

async function proved(reported: ReportedSession, of?: SessionInMachine): Promise<Uint8Array> {
  const sign = of?.sign ?? ((message: Uint8Array) => ed25519.sign(message, receiptSecret));
  return encodeSessionEvidence(await withSessionProof(reported, sign));
}

const claimsOf = (mode: typeof gpuMode) => new Map([['gpu', new Map(Object.entries(mode))]]);

/** About every certificate that is looked at: the device's without leaf and root, and the manifests' signer. */
function answersOf({ device, rimSigner, ocsp }: FakeNvidia): Promise<Uint8Array[]> {
  const pairs = [
    [device[1], device[2]],
    [device[2], device[3]],
    [rimSigner[0], rimSigner[1]],
  ] as const;
  return Promise.all(pairs.map(([subject, issuer]) => ocsp(subject!.certificate, issuer!, gpuMachineAt)));
}

function filled(size: number, byte: number): Uint8Array {
  return new Uint8Array(size).fill(byte);
}
