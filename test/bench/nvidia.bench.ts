/** Cost of verifying one GPU fully offline: report, device chain and both reference manifests. */
import { existsSync, readFileSync } from 'node:fs';
import { verifyNvidia, type NvidiaEvidence } from '../../attestation/src/nvidia/verify.js';
import type { BenchResult } from './result.js';

const folder = `${process.env['VERITRAIN_VECTORS'] ?? '../shared/vectors'}/nvidia-gpu/h100-550.90.07-full`;

/** Empty where the samples are not at hand. */
export async function run(): Promise<BenchResult[]> {
  if (!existsSync(folder)) return [];
  const bytes = (file: string): Uint8Array => new Uint8Array(readFileSync(`${folder}/${file}`));
  const bare: NvidiaEvidence = {
    report: bytes('report.bin'),
    certificateChain: readFileSync(`${folder}/cert-chain.pem`, 'utf8'),
    rims: [],
    ocspAnswers: [],
    at: Date.parse('2026-03-01T00:00:00Z') / 1000,
  };
  const full = { ...bare, rims: [bytes('driver-rim.xml'), bytes('vbios-rim.xml')] };
  return [await measure('GPU chain and report', bare), await measure('GPU chain, report and both RIMs', full)];
}

async function measure(name: string, evidence: NvidiaEvidence): Promise<BenchResult> {
  const times: number[] = [];
  for (let n = 0; n < 35; n++) {
    const start = performance.now();
    const { authenticity } = await verifyNvidia(evidence);
    if (authenticity !== 'authentic') throw new Error(`${name}: ${authenticity}`);
    if (n >= 5) times.push(performance.now() - start);
  }
  times.sort((a, b) => a - b);
  return { name, unit: 'ms', n: times.length, min: times[0]!, median: times[times.length >> 1]!, max: times.at(-1)! };
}

export const short = run;
