/**
 * Bundles that show evidence of real machines which others recorded: none is of this job, so vendor and chip hold and the
 * session's link must not. The evidence is no part of this repository (VERITRAIN_VECTORS); where it is absent there are none.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parsePemCertificates, spelled } from '#attestation';
import { fromUtf8 } from '#attestation/base';
import {
  encodeBundle,
  encodeSessionEvidence,
  parseSessionEvidence,
  type EndorsementRecord,
  type EvidenceBundle,
  type SessionEvidence,
} from '#attestation/records';

const folder = process.env['VERITRAIN_VECTORS'] ?? '../shared/vectors';
const hasRecordings = existsSync(join(folder, 'intel-tdx', 'manifest.json'));
if (!hasRecordings) console.warn(`SKIPPED: no recorded evidence in ${folder}; set VERITRAIN_VECTORS`);

const read = (path: string): Uint8Array => new Uint8Array(readFileSync(join(folder, path)));

interface Recorded {
  readonly name: 'recorded-tdx' | 'recorded-gpu' | 'recorded-snp';
  readonly bytes: Uint8Array;
}

export function recordedBundles(bundle: EvidenceBundle): readonly Recorded[] {
  if (!hasRecordings) return [];
  const tdx = 'intel-tdx/v4-td10-with-collateral';
  const gpu = 'nvidia-gpu/h100-550.90.07-full';
  const snp = 'amd-snp/milan-v3-vcek';
  const der = (path: string): Uint8Array[] => parsePemCertificates(fromUtf8(read(path))).map(({ raw }) => raw);
  return [
    {
      name: 'recorded-tdx',
      bytes: shown(bundle, '2025-06-19T12:00:00Z', {
        change: { cpu: { kind: 'tdx', report: read(`${tdx}/quote.bin`), certificates: [] } },
        endorsements: { intel: [read(`${tdx}/collateral.json`)] },
      }),
    },
    {
      name: 'recorded-gpu',
      bytes: shown(bundle, '2026-03-01T00:00:00Z', {
        change: { gpus: [{ report: read(`${gpu}/report.bin`), certificates: der(`${gpu}/cert-chain.pem`) }] },
        endorsements: { rims: [read(`${gpu}/driver-rim.xml`), read(`${gpu}/vbios-rim.xml`)] },
      }),
    },
    {
      name: 'recorded-snp',
      bytes: shown(bundle, '2026-06-20T00:00:00Z', {
        change: {
          cpu: {
            kind: 'snp',
            report: read(`${snp}/report.bin`),
            certificates: [
              read(`${snp}/vcek.der`),
              ...der('amd-snp/anchors/ask-milan.pem'),
              ...der('amd-snp/anchors/ark-milan.pem'),
            ],
          },
        },
      }),
    },
  ];
}

interface Change {
  readonly change: Partial<SessionEvidence>;
  readonly endorsements?: Partial<EndorsementRecord>;
}

function shown(bundle: EvidenceBundle, at: string, { change, endorsements }: Change): Uint8Array {
  const appraisedAt = Date.parse(at) / 1000;
  const sessions = bundle.sessions.map((session) => {
    const evidence = encodeSessionEvidence({ ...parseSessionEvidence(session.evidence), ...change });
    return { ...session, evidence, appraisedAt };
  });
  return encodeBundle({ ...bundle, sessions, endorsements: spelled({ ...bundle.endorsements, ...endorsements }) });
}
