/** The exported files that a document is about. */
import { ConfigurationError } from '#attestation/base';

/** A file by its path within the model, `/` between parts. */
export interface ModelFile {
  readonly name: string;
  readonly sha256: string;
  readonly bytes: number;
}

/** In the order of their names by code point, as OMS §5.2.1 wants them. @throws ConfigurationError REPORT_MODEL */
export function orderedFiles(files: readonly ModelFile[]): readonly ModelFile[] {
  const names = new Set(files.map(({ name }) => name));
  if (files.length === 0 || names.size !== files.length || files.some(({ name }) => isBad(name))) {
    throw new ConfigurationError('REPORT_MODEL', {
      expected: 'at least one exported file, each once, by its path within the model',
      got: files.length === 0 ? 'none' : [...files.map(({ name }) => name)].join(', '),
      rule: 'OpenSSF Model Signing 1.0 §6.1.2',
      action: 'name the exported files with --model',
    });
  }
  return files.toSorted((a, b) => byCodePoint(a.name, b.name));
}

function isBad(name: string): boolean {
  return name.split('/').some((part) => part === '' || part === '.' || part === '..');
}

function byCodePoint(a: string, b: string): number {
  const [left, right] = [[...a], [...b]].map((text) => text.map((one) => one.codePointAt(0)!)) as [number[], number[]];
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    if (left[i] !== right[i]) return left[i]! - right[i]!;
  }
  return left.length - right.length;
}
