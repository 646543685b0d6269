/** What `veritrain report make` writes of a file of the corpus and of what lies beside it. */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeReport, parseReport, type DocumentFormat, type Report } from '#libs/review';
import { runCommand } from '#test/run-command';
import type { Sample } from './corpus.js';
import { judgedHere } from './judged.js';

export async function reportByCommand({ bytes, beside = [] }: Sample, at: number): Promise<Report> {
  const folder = mkdtempSync(join(tmpdir(), 'veritrain-corpus-'));
  const written = (name: string, content: Uint8Array): string => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  const options = beside.flatMap(({ name, kind, bytes: content, digest }) =>
    kind === 'groth16-key' ? ['--verification-key', digest!] : [`--${kind}`, written(name, content)],
  );
  const out = join(folder, 'report.json');
  const args = [written('bundle.vtb', bytes), '--out', out, '--at', `${at}`, ...options];
  const { code, json } = await runCommand('report', 'make', ...args);
  if (code !== 0) throw new Error(JSON.stringify(json));
  return parseReport(new Uint8Array(readFileSync(out)));
}

/** What `veritrain report make --format` writes of a bundle. */
export async function documentByCommand(bundle: Uint8Array, format: DocumentFormat): Promise<Uint8Array> {
  const folder = mkdtempSync(join(tmpdir(), 'veritrain-document-'));
  const [file, out] = [join(folder, 'bundle.vtb'), join(folder, 'document')];
  writeFileSync(file, bundle);
  const { code, json } = await runCommand('report', 'make', file, '--out', out, '--format', format);
  if (code !== 0) throw new Error(JSON.stringify(json));
  return new Uint8Array(readFileSync(out));
}

/** The same by the judge that the page is compared with. */
export async function reportHere(sample: Sample, at: number, { reviewer }: Report): Promise<Report> {
  const [was, later] = await judgedHere(sample, at);
  const judged = [
    { at: null, verdict: was },
    { at, verdict: later },
  ] as const;
  return makeReport(sample.bytes, judged, reviewer);
}
