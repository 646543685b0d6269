/** Cost of one SNP verification: parse, chain of three RSA-PSS signatures, report signature, identity links. */
import { neutralSnpPolicy, appraiseSnp, parsePemCertificates, verifySnp } from '#attestation';
import { loadSamples } from '../support/samples.js';
import type { BenchResult } from './result.js';

const rounds = 50;
const warmUp = 10;

/** Empty where the samples are not at hand. */
export async function run(): Promise<BenchResult[]> {
  const samples = loadSamples('amd-snp').filter(({ id }) =>
    /^(milan-v3-vcek|genoa-v3-vcek-azure|turin-v5-vcek-azure)$/.test(id),
  );
  const results: BenchResult[] = [];
  for (const { id, files, anchors, at } of samples) {
    const product = id.split('-')[0]!;
    const chain = anchors
      .flatMap(parsePemCertificates)
      .filter(({ subjectText }) => new RegExp(`CN=(?:ARK|SEV)-${product}$`, 'i').test(subjectText));
    const certificates = [files.get('leaf')!, ...chain.map(({ raw }) => raw)];
    const request = { report: files.get('report')!, certificates, crls: [], at };
    const times: number[] = [];
    for (let round = 0; round < warmUp + rounds; round++) {
      const start = performance.now();
      const { claims } = await verifySnp(request);
      appraiseSnp(claims!, neutralSnpPolicy, at);
      if (round >= warmUp) times.push(performance.now() - start);
    }
    times.sort((a, b) => a - b);
    results.push({
      name: `SNP chain and report, ${id}`,
      unit: 'ms',
      n: rounds,
      min: times[0]!,
      median: times[rounds >> 1]!,
      max: times[rounds - 1]!,
    });
  }
  return results;
}

export const short = run;
