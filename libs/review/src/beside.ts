/** Files that a reader lays beside a bundle and that no signature of their own tells apart: read, or known by the bundle. */
import { parseLogExport, type LogExport } from '#attestation/log';
import { CodedError } from '#attestation/base';
import { parseBundle, parseJobSpec } from '#attestation/records';
import { readMaterial } from '#attestation';
import { isNet, parameterBytes, parseJobManifestText } from '#libs/step';
import { exportBytesMax } from './limits.js';

/** @param bytes file of `veritrain log export` @returns undefined for any other file */
export function readLogExport(bytes: Uint8Array): LogExport | undefined {
  if (bytes.length > exportBytesMax) return undefined;
  return readOr(() => parseLogExport(bytes), undefined);
}

/**
 * Whom a reader trusts is no news: his policies, of machines and of logs, count as of when the evidence was fresh too,
 * where certificates, lists and advisories that came later say nothing of then.
 *
 * @returns those of the files that are such policies
 */
export function policiesAmong(material: readonly Uint8Array[]): readonly Uint8Array[] {
  return material.filter((bytes) => {
    const kind = readMaterial(bytes)?.kind;
    return kind === 'policy' || kind === 'log-policy';
  });
}

/**
 * Whether a file may be the start weights that the bundle's manifest names: weights have no form but their length. Whether
 * they are those weights is for `BUNDLE_START` to say.
 */
export function isStartOf(bundle: Uint8Array, file: Uint8Array): boolean {
  return readOr(() => {
    const { manifest } = parseJobSpec(parseBundle(bundle).spec);
    const read = parseJobManifestText(manifest);
    return isNet(read) && read.start.kind === 'weights' && parameterBytes(read) === file.length;
  }, false);
}

function readOr<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof CodedError) return otherwise;
    throw error;
  }
}
