/** Exported files that a document is about: their digests, and that they say what the bundle says. Each is read once, so both are of the same bytes. */
import { createHash } from 'node:crypto';
import { createReadStream, lstatSync, readdirSync } from 'node:fs';
import { basename, join, relative, sep } from 'node:path';
import { ConfigurationError, Rejection } from '#attestation/base';
import { readBytes, unreadable } from '#libs/client/files';
import { onnxBytesMax, originOf } from '#libs/models';
import type { BundleVerdict, ModelFile } from '#libs/review';

interface FoundFile extends ModelFile {
  readonly path: string;
  /** What an ONNX file says that it was trained by. */
  readonly origin: ReturnType<typeof originOf>;
}

const filesMax = 1000;
/** At the top of a folder: OMS §6.2. */
const ignored = new Set(['.git', '.gitattributes', '.github', '.gitignore']);

/**
 * @param paths files, or one folder whose files are named by their path in it
 * @throws ConfigurationError FILE_UNREADABLE, REPORT_MODEL for a link, a device or too many files; Rejection ONNX_*
 */
export async function modelFiles(paths: readonly string[]): Promise<readonly FoundFile[]> {
  const found = paths.flatMap((path) =>
    kindOf(path) === 'folder' ? inFolder(path) : [{ path, name: basename(path) }],
  );
  if (found.length > filesMax) throw refused(`at most ${filesMax} files`, `${found.length}`);
  const files: FoundFile[] = [];
  for (const one of found) files.push({ ...one, ...(await digestOf(one.path)) });
  return files;
}

function inFolder(folder: string): { readonly path: string; readonly name: string }[] {
  const walk = (at: string): string[] =>
    readdirSync(at).flatMap((name) => {
      if (at === folder && ignored.has(name)) return [];
      const path = join(at, name);
      return kindOf(path) === 'folder' ? walk(path) : [path];
    });
  return walk(folder).map((path) => ({ path, name: relative(folder, path).split(sep).join('/') }));
}

function kindOf(path: string): 'file' | 'folder' {
  let found;
  try {
    found = lstatSync(path);
  } catch (error) {
    throw unreadable(path, error);
  }
  if (found.isDirectory()) return 'folder';
  if (found.isFile()) return 'file';
  throw refused('files and folders', `${path}: a link or a device`);
}

async function digestOf(path: string): Promise<Pick<FoundFile, 'sha256' | 'bytes' | 'origin'>> {
  if (path.endsWith('.onnx') && lstatSync(path).size <= onnxBytesMax) {
    const content = readBytes(path, onnxBytesMax);
    const sha256 = createHash('sha256').update(content).digest('hex');
    return { sha256, bytes: content.length, origin: originOf(content) };
  }
  const hash = createHash('sha256');
  let bytes = 0;
  try {
    for await (const part of createReadStream(path) as AsyncIterable<Buffer>) {
      hash.update(part);
      bytes += part.length;
    }
  } catch (error) {
    throw unreadable(path, error);
  }
  return { sha256: hash.digest('hex'), bytes, origin: null };
}

/** @throws Rejection REPORT_MODEL where an ONNX file names another training than the bundle shows */
export function agreeOnOrigin(files: readonly FoundFile[], { jobId, result }: BundleVerdict): void {
  for (const { path, origin } of files) {
    if (origin === null || (origin.jobId === jobId && origin.weights === result)) continue;
    throw new Rejection('REPORT_MODEL', {
      expected: `a file of job ${jobId} with weights ${result}`,
      got: `${path} of job ${origin.jobId} with weights ${origin.weights}`,
      rule: 'libs/review/DOCUMENTS.md',
      action: 'name the files of this bundle’s job',
    });
  }
}

function refused(expected: string, got: string): ConfigurationError {
  return new ConfigurationError('REPORT_MODEL', {
    ...{ expected, got, rule: 'OpenSSF Model Signing 1.0 §6.1' },
    action: 'name regular files with --model',
  });
}
