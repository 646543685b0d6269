import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { neutralPolicy, noEndorsements, parsePemCertificates, type AppraisalPolicy } from '#attestation';
import { toHex } from '#attestation/base';
import { type SessionEvidence } from '#attestation/records';
import { writeWhole } from '#libs/client/files';
import { CollateralStore } from '#libs/collateral';
import {
  createSimulatedVendor,
  encodeSimulatedVendor,
  simulatedMeasurement,
  type SimulatedVendor,
} from '#libs/simulated-vendor';
import { describeSamples } from '#test/describe-samples';
import { samplesRoot } from '#test/samples';
import { readFacts } from './facts.js';
import { areaOf, findingsOfDates } from './findings.js';
import { judgeMachine, preflight } from './preflight.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-preflight-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const store = new CollateralStore({ directory: join(folder, 'collateral'), offline: true });
const now = Math.floor(Date.now() / 1000);

describe('preflight of this machine', () => {
  const vendorFile = join(folder, 'vendor.json');
  let vendor: SimulatedVendor;
  beforeAll(async () => {
    vendor = await createSimulatedVendor({ product: 'Milan', at: now });
    writeWhole(vendorFile, encodeSimulatedVendor(vendor), 0o600);
  });
  const machine = { attester: 'simulated', vendor: vendorFile, gpus: 'none' } as const;
  const policyOf = (change: Partial<AppraisalPolicy['snp']> = {}): AppraisalPolicy => ({
    ...neutralPolicy,
    id: 'test',
    environment: 'development',
    simulatedRoots: [{ product: vendor.product, spkiSha256: vendor.arkSpkiSha256 }],
    freshness: 'required',
    snp: { ...neutralPolicy.snp, measurements: [toHex(simulatedMeasurement)], ...change },
  });

  it('passes the policy that accepts it', async () => {
    const report = await preflight(machine, policyOf(), store, now);
    expect([report.ok, report.appraisal, report.findings.filter(({ weight }) => weight === 'blocking')]).toEqual([
      true,
      'warning',
      [],
    ]);
    expect(report.facts?.cpu).toMatchObject({ kind: 'simulated-snp', product: 'Milan' });
    expect(report.facts?.certificates).toHaveLength(3);
  });

  it('says what another policy would refuse, and what to do', async () => {
    const floor = {
      product: 'Milan',
      floor: { snp: 255 },
      advisory: 'TEST-1',
      since: 0,
      appliesTo: ['reported'],
    } as const;
    const report = await preflight(
      machine,
      policyOf({ tcbFloors: [floor], measurements: ['00'.repeat(48)] }),
      store,
      now,
    );
    expect(report.ok).toBe(false);
    expect(report.findings.map(({ area }) => area)).toEqual(
      expect.arrayContaining(['firmware and TCB', 'guest image and settings']),
    );
    for (const { action, expected, got } of report.findings)
      expect([action, expected, got].every((text) => text !== '')).toBe(true);
  });

  it.skipIf(existsSync('/sys/kernel/config/tsm/report'))('names the device that is missing', async () => {
    const report = await preflight({ attester: 'snp', gpus: 'none' }, neutralPolicy, store, now);
    expect(report).toMatchObject({ ok: false, appraisal: null, findings: [{ area: 'devices', code: 'TSM_ABSENT' }] });
  });
});

describeSamples('preflight of a recorded machine', () => {
  const bytes = (file: string) => new Uint8Array(readFileSync(`${samplesRoot}/${file}`));
  const gpu = 'nvidia-gpu/h100-550.90.07-full';
  const twenty = new Uint8Array(20);
  const key = new Uint8Array(32);
  const session: SessionEvidence = {
    ...{ version: 2, proof: new Uint8Array(64) },
    nonce: key,
    binding: {
      receiptKey: key,
      settlementKey: twenty,
      transportKey: key,
      provider: twenty,
      chainId: 0,
      registry: twenty,
    },
    cpu: { kind: 'snp', report: bytes('amd-snp/turin-v5-vcek-azure/report.bin'), certificates: [] },
    gpus: [
      {
        report: bytes(`${gpu}/report.bin`),
        certificates: parsePemCertificates(new TextDecoder().decode(bytes(`${gpu}/cert-chain.pem`))).map(
          ({ raw }) => raw,
        ),
      },
    ],
    claims: new Uint8Array(),
  };

  it('lists until when the signers of reference manifests last', async () => {
    const endorsements = { ...noEndorsements, rims: [bytes(`${gpu}/driver-rim.xml`), bytes(`${gpu}/vbios-rim.xml`)] };
    const { certificates } = await readFacts(session, endorsements, 1772323200);
    expect(certificates[0]!.notAfter).toBe(Date.parse('2026-06-01T02:08:29Z') / 1000);
    expect(findingsOfDates(certificates, 1780000000).map(({ code }) => code)).toContain('PREFLIGHT_EXPIRES_SOON');
    expect(findingsOfDates(certificates, 1772323200)).toEqual([]);
  });

  it('reads firmware, TCB, driver and VBIOS, and names the collateral that is not kept', async () => {
    const { ok, facts, findings } = await judgeMachine(session, neutralPolicy, store, 1772323200);
    expect(ok).toBe(false);
    expect(facts?.cpu).toMatchObject({ product: 'Turin', firmware: '1.55.65' });
    expect(facts?.gpus[0]).toMatchObject({ driver: '550.90.07', 'driver RIM': 'NV_GPU_DRIVER_GH100_550.90.07' });
    expect(findings.map(({ code }) => code)).toEqual(
      expect.arrayContaining(['COLLATERAL_OFFLINE', 'SNP_ENDORSEMENT_MISSING', 'NVIDIA_DRIVER_RIM_ABSENT']),
    );
  });
});

it('sorts codes by what an operator touches', () => {
  const sorted = [
    'X509_PATH_EXPIRED',
    'NVIDIA_VBIOS_RIM_ABSENT',
    'SNP_TCB_BELOW_FLOOR',
    'SNP_POLICY_DEBUG_SET',
    'GPU_DRIVER',
    'GPU_VBIOS',
    'QUOTE_TCB_STATUS',
    'SNP_REVOKED',
    'SNP_REPORT_SIGNATURE',
  ];
  expect(sorted.map(areaOf)).toEqual([
    'certificates',
    'reference manifests',
    'firmware and TCB',
    'guest image and settings',
    'GPU driver',
    'GPU VBIOS',
    'firmware and TCB',
    'collateral',
    'evidence',
  ]);
});
