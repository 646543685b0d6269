/** What the browser runs: samples as JSON in, reports as JSON out. Bundled by the test; imports nothing of Node. */
import { runSample } from '#attestation';
import { fromBase64 } from '#attestation/base';

interface PortableSample {
  readonly id: string;
  readonly files: Readonly<Record<string, string>>;
  readonly anchors: readonly string[];
  readonly at: number;
}

export async function runPortable(json: string): Promise<string> {
  const samples = JSON.parse(json) as readonly PortableSample[];
  const reports: unknown[] = [];
  for (const { id, files, anchors, at } of samples) {
    const bytes = new Map(Object.entries(files).map(([role, text]) => [role, fromBase64(text)]));
    reports.push(await runSample({ id, files: bytes, anchors, at }));
  }
  return JSON.stringify(reports);
}

(globalThis as { runPortable?: typeof runPortable }).runPortable = runPortable;
