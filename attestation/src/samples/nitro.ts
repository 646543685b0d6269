/** Runner for folders of AWS Nitro documents: file `document`. */
import { tierOf } from '../check/checks.js';
import { appraiseNitro, neutralNitroPolicy } from '../nitro/policy.js';
import { nitroRootSpkiSha256, verifyNitro } from '../nitro/verify.js';
import { parsePemCertificates } from '../x509/certificate.js';
import { pinOf, verdictOf } from './types.js';
import type { SampleRunner } from './types.js';

export const runNitroSample: SampleRunner = async ({ files, anchors, at }) => {
  const pins = new Set(pinOf(nitroRootSpkiSha256, anchors.flatMap(parsePemCertificates)));
  const document = files.get('document') ?? new Uint8Array();
  const verified = await verifyNitro({ document, at, pins });
  const policyChecks = verified.claims ? appraiseNitro(verified.claims, neutralNitroPolicy, at) : [];
  const checks = [...verified.checks, ...policyChecks];
  return verdictOf(verified.authenticity, tierOf(checks), checks);
};
