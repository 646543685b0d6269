/** An image of a release, as those signed it whom the caller trusts. */
import { ConfigurationError } from '#attestation/base';
import { fetchRelease, readImage, type InputSources } from '#libs/guest';
import { verifyBuilders } from './manifest.js';

interface SignedRequest {
  readonly tag: string;
  readonly flavour: string;
  readonly from?: string;
  readonly out?: string;
  readonly publicKey: readonly Uint8Array[];
  readonly oneBuilder?: boolean;
  readonly onProgress?: InputSources['onProgress'];
}

interface FetchedImage {
  readonly ok: true;
  readonly tag: string;
  readonly flavour: string;
  readonly commit: string;
  /** Of the artifact. */
  readonly digest: string;
  readonly builders: number;
  readonly launches: number;
  /** The first builder's, for `host init` and `policy add-image`. */
  readonly manifest: string;
  readonly folder: string;
}

const rule = 'enclave/guest/README.md, releases';

/**
 * Fetches, and demands that every key signed a manifest, that all say the same, that the image is what they say, and that each
 * launch in it is measured so.
 * @throws as fetchRelease; ConfigurationError GUEST_RELEASE, GUEST_ONE_BUILDER; Rejection GUEST_BUILDERS, GUEST_MANIFEST, COSE_*,
 *   GUEST_FIRMWARE, SNP_*
 */
export async function fetchSigned(request: SignedRequest): Promise<FetchedImage> {
  const { tag, flavour, from, out, publicKey: keys, oneBuilder, onProgress } = request;
  if (from === undefined || out === undefined || keys.length === 0)
    throw new ConfigurationError('GUEST_RELEASE', {
      ...{ expected: '--from, --out and --public-key with a release', got: 'not all of them', rule },
      action: 'see veritrain guest fetch --help',
    });
  if (keys.length < 2 && oneBuilder !== true)
    throw new ConfigurationError('GUEST_ONE_BUILDER', {
      ...{ expected: 'an image that two builders signed', got: 'the key of one', rule },
      action: 'name the second key with --public-key, or build it yourself and say --one-builder',
    });
  const { signed, digest } = await fetchRelease({ from, tag, flavour, out, onProgress });
  const { manifest, file, launches } = await verifyBuilders(signed, keys, {
    tag,
    flavour,
    folder: out,
    image: readImage(out),
  });
  return {
    ...{ ok: true as const, tag, flavour, commit: manifest.commit, digest, builders: keys.length, launches },
    ...{ manifest: file, folder: out },
  };
}
