/** Samples of NVIDIA evidence: a GPU report with its chain, a bare reference manifest, or tokens of the service. */
import { appraiseGpu, neutralGpuPolicy } from '../appraisal/gpu.js';
import { fromUtf8 } from '../base/bytes.js';
import { Rejection } from '../base/errors.js';
import { openChecks, tierOf, type CheckRule } from '../check/checks.js';
import { rimRules } from '../nvidia/codes.js';
import { nvidiaPins } from '../nvidia/constants.js';
import { parseGpuEvidence } from '../nvidia/evidence.js';
import { verifyNras } from '../nvidia/nras.js';
import { judgeRim, readRim, rimAspects, type RimAspect } from '../nvidia/rim.js';
import { verifyNvidia } from '../nvidia/verify.js';
import { parsePemCertificates, type Certificate } from '../x509/certificate.js';
import { pinOf, serviceKeys, verdictOf } from './types.js';
import type { SampleEntry, SampleRunner, SampleVerdict } from './types.js';

export const runNvidiaSample: SampleRunner = async (entry) => {
  const anchors = entry.anchors.flatMap((pem) => parsePemCertificates(pem));
  if (entry.files.has('report') || entry.files.has('evidenceJson')) return runGpu(entry, anchors);
  if (entry.files.has('eat')) return runNras(entry);
  return runRim(entry, anchors);
};

async function runGpu(entry: SampleEntry, anchors: readonly Certificate[]): Promise<SampleVerdict> {
  const stated = entry.files.get('evidenceJson');
  const parsed = stated === undefined ? undefined : parseGpuEvidence(stated)[0]!;
  const verified = await verifyNvidia({
    report: entry.files.get('report') ?? parsed!.report,
    certificateChain: entry.files.has('chain') ? fromUtf8(entry.files.get('chain')!) : (parsed?.certificateChain ?? []),
    rims: [...entry.files].filter(([role]) => /rim$/i.test(role)).map(([, bytes]) => bytes),
    ocspAnswers: [...entry.files].filter(([role]) => /^ocsp/.test(role)).map(([, response]) => ({ response })),
    ...(parsed && { nonce: parsed.nonce }),
    at: entry.at,
    anchors,
    pins: { device: pinned(anchors, 'device'), rim: pinned(anchors, 'rim') },
  });
  const checks = appraiseGpu(verified.checks, verified.claims, neutralGpuPolicy);
  return verdictOf(verified.authenticity, tierOf(checks), checks);
}

/** The pins of NVIDIA's roots as far as the folder brings their certificates: no other endorsement counts. */
function pinned(anchors: readonly Certificate[], root: 'device' | 'rim'): string[] {
  return nvidiaPins[root].flatMap((pin) => pinOf(pin, anchors));
}

async function runRim(entry: SampleEntry, anchors: readonly Certificate[]): Promise<SampleVerdict> {
  const rules = Object.fromEntries(rimAspects.map((aspect) => [`NVIDIA_RIM_${aspect}`, rimRules[aspect]]));
  const book = openChecks<`NVIDIA_RIM_${RimAspect}`>(rules as Record<`NVIDIA_RIM_${RimAspect}`, CheckRule>);
  const rim = [...entry.files.values()][0];
  if (rim === undefined)
    throw new Rejection('SAMPLE_FILES', { expected: 'a file', got: 'none', rule: 'sample manifest' });
  const request = { pool: anchors, rootSpkiSha256: new Set(pinned(anchors, 'rim')), at: entry.at, graceSeconds: 0 };
  const judged = await judgeRim(await readRim(rim), request);
  for (const [aspect, outcome] of judged.outcomes) {
    book.settle(`NVIDIA_RIM_${aspect}`, outcome.status, outcome.got, outcome.expected);
  }
  const current = book.checks().every((check) => check.status === 'met');
  const authenticity = book.checks().some(({ status }) => status === 'forged') ? 'forged' : 'undecided';
  return verdictOf(judged.authentic && current ? 'authentic' : authenticity, null, book.checks());
}

async function runNras(entry: SampleEntry): Promise<SampleVerdict> {
  const opinion = await verifyNras({ tokens: entry.files.get('eat')!, keys: serviceKeys(entry), at: entry.at });
  return verdictOf(opinion.authenticity, null, opinion.checks);
}
