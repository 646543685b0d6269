/** Paths to NVIDIA's roots. */
import { equalBytes } from '../bytes.js';
import { Rejection } from '../errors.js';
import type { Certificate } from '../x509/certificate.js';
import { verifyPath, type PathRequest } from '../x509/path.js';

/**
 * A path whose end is a self-signed root of a pinned key: the pin alone would let a root with altered names pass, as
 * nothing then checks its signature.
 * @throws Rejection X509_PATH_ROOT and the codes of `verifyPath`
 */
export async function verifyPathToRoot(request: PathRequest): Promise<readonly Certificate[]> {
  const { certificates, root } = await verifyPath(request);
  if (!equalBytes(root.issuer, root.subject)) {
    throw new Rejection('X509_PATH_ROOT', {
      expected: 'a self-signed root',
      got: root.issuerText,
      rule: 'RFC 5280 §6.1',
    });
  }
  return certificates;
}
