/** Runner for composite folders: files `quote` or `report` of the CPU, `gpuReport` and `gpuChain`. */
import { appraise } from '../appraisal/appraise.js';
import { noEndorsements } from '../appraisal/evidence.js';
import { fromUtf8 } from '../base/bytes.js';
import { parsePemCertificates } from '../x509/certificate.js';
import { samplePolicy, verdictOf } from './types.js';
import type { SampleRunner } from './types.js';

export const runCompositeSample: SampleRunner = async ({ files, anchors, at }) => {
  const quote = files.get('quote');
  const leaf = files.get('leaf');
  const certificates = [...(leaf ? [leaf] : []), ...anchors.flatMap(parsePemCertificates).map(({ raw }) => raw)];
  const result = await appraise({
    evidence: {
      kind: 'composite',
      cpu: quote ? { kind: 'tdx', quote } : { kind: 'snp', report: files.get('report') ?? new Uint8Array() },
      gpus: [
        {
          kind: 'nvidia',
          report: files.get('gpuReport') ?? new Uint8Array(),
          certificateChain: fromUtf8(files.get('gpuChain') ?? new Uint8Array()),
        },
      ],
    },
    endorsements: {
      ...noEndorsements,
      certificates,
      rims: [...files].filter(([role]) => /rim$/i.test(role)).map(([, bytes]) => bytes),
    },
    policy: samplePolicy,
    at,
  });
  return verdictOf(result.authenticity, result.tier, result.checks);
};
