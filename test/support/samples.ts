/** Reads folders of real evidence: manifest.json, files, anchors. Where they are absent, tests skip and say so. */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { basename } from 'node:path';
import type { SampleEntry, Tier } from '#attestation';

export const samplesRoot = process.env['VERITRAIN_VECTORS'] ?? '../shared/vectors';
if (!existsSync(samplesRoot)) console.warn(`SKIPPED: no real samples at ${samplesRoot}; set VERITRAIN_VECTORS`);

export interface LoadedSample extends SampleEntry {
  readonly folder: string;
  readonly expect: { readonly authentic: boolean; readonly appraisal: Tier | null; readonly at: string } | null;
}

interface ManifestEntry {
  readonly id: string;
  readonly files: Readonly<Record<string, { readonly file: string }>>;
  readonly expect: LoadedSample['expect'];
}

/** For entries that name no time of their own. */
const defaultAt = '2026-06-15T00:00:00Z';

export function loadSamples(only?: string): LoadedSample[] {
  if (!existsSync(samplesRoot)) return [];
  const folders = readdirSync(samplesRoot).filter((name) => existsSync(`${samplesRoot}/${name}/manifest.json`));
  return folders.filter((folder) => only === undefined || folder === only).flatMap(loadFolder);
}

function loadFolder(folder: string): LoadedSample[] {
  const root = `${samplesRoot}/${folder}`;
  const anchorFolder = `${root}/anchors`;
  const names = existsSync(anchorFolder) ? readdirSync(anchorFolder).filter((name) => name.endsWith('.pem')) : [];
  const anchors = names.map((name) => readFileSync(`${anchorFolder}/${name}`, 'utf8'));
  const manifest = JSON.parse(readFileSync(`${root}/manifest.json`, 'utf8')) as readonly ManifestEntry[];
  return manifest.map(({ id, files, expect }) => ({
    id,
    folder,
    expect,
    anchors,
    at: Date.parse(expect?.at ?? defaultAt) / 1000,
    named: new Map(
      Object.values(files).map(({ file }) => [basename(file), new Uint8Array(readFileSync(`${root}/${file}`))]),
    ),
    files: new Map(
      Object.entries(files).map(([role, { file }]) => [role, new Uint8Array(readFileSync(`${root}/${file}`))]),
    ),
  }));
}
