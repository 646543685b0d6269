/** Weights that a job starts from: its client uploads them, and the enclave compares their root with the manifest's. */
import { isNet, parameterBytes, type JobManifest } from '#libs/step';
import { limits } from '#libs/wire';
import { refusal } from '../core/problem/codes.js';

export interface StoredPart {
  /** 0x-hex SHA-256. */
  readonly name: string;
  /** Null where no such blob was uploaded by the client. */
  readonly bytes: number | null;
}

/** @throws Rejection JOB_START unless all parts are here where the manifest names weights, and none where its seed draws them */
export function checkStart(manifest: JobManifest, parts: readonly StoredPart[]): void {
  const expected = startBytesOf(manifest);
  if (expected === null) {
    if (parts.length > 0) refuse('no start weights, for the manifest has its seed draw them', `${parts.length} parts`);
    return;
  }
  for (const { name, bytes } of parts) {
    if (bytes === null) refuse('parts of the start weights, uploaded in the last hours', `${name}, which is not here`);
    else if (bytes > limits.startPartBytesMax) {
      refuse(`parts of at most ${limits.startPartBytesMax} bytes`, `${name} of ${bytes} bytes`);
    }
  }
  const given = parts.reduce((sum, { bytes }) => sum + bytes!, 0);
  if (given !== expected) refuse(`${expected} bytes of start weights`, `${given} bytes in ${parts.length} parts`);
}

/** Bytes of all parameters; null where the manifest names no weights. */
function startBytesOf(manifest: JobManifest): number | null {
  return isNet(manifest) && manifest.start.kind === 'weights' ? parameterBytes(manifest) : null;
}

function refuse(expected: string, got: string): never {
  throw refusal('JOB_START', {
    ...{ expected, got, rule: 'apps/control-plane/README.md, submission' },
    action: 'Upload the weights that the manifest names as blobs, and name the blobs in order.',
  });
}
