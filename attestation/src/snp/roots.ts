/**
 * Pinned AMD keys: SHA-256 of SubjectPublicKeyInfo. The certificates come with the endorsements. The same values stand
 * in several independent public verifiers; see attestation/SPEC.md §5.6 for names, serial numbers and validity.
 */
import type { SnpProduct } from './product.js';

/** A root that may end a chain, and the product line it endorses. */
export interface SnpRoot {
  readonly product: SnpProduct;
  readonly spkiSha256: string;
}

export const amdRoots: readonly SnpRoot[] = [
  { product: 'Milan', spkiSha256: '9f056bee44377e29308cb5ffa895bdfb62d18881fa6bed8d6f075b0204089cb9' },
  { product: 'Genoa', spkiSha256: '429a69c9422aa258ee4d8db5fcda9c6470ef15f8cd5a9cebd6cbc7d90b863831' },
  { product: 'Turin', spkiSha256: '4f125410563a2ab9a50356f9243f6fe0b6f73de98603f53f90339c70e9d7ad08' },
];

/** Intermediates seen so far, per product and leaf kind; a new one under a pinned root is shown as a warning. */
export const amdIntermediates: readonly (SnpRoot & { readonly kind: 'vcek' | 'vlek' })[] = [
  { product: 'Milan', kind: 'vcek', spkiSha256: '42491669ccb851d627ea9846cd24eccbeb7de7c2a62740120fff88001d38ebb6' },
  { product: 'Milan', kind: 'vlek', spkiSha256: '66450a123ea5876206df67f2514a4fea224c0f63b18313423078b0edc4535e33' },
  { product: 'Genoa', kind: 'vcek', spkiSha256: '0324d55bcd48ba877a8fd87c0e1b4934dec8448e3807a24384a34dc6a6c9ebb8' },
  { product: 'Genoa', kind: 'vcek', spkiSha256: '0dee0c846c77000ff39d65b9d51d8b31189426d6f2f50858fb23b39718dd9c30' },
  { product: 'Genoa', kind: 'vlek', spkiSha256: '7d1633252ebbadaa75f96e9b4e6f7d43a90ceb3f843937482630f8da2459264e' },
  { product: 'Turin', kind: 'vcek', spkiSha256: '0000ead352025f208bf55297c4192c34cd1b878002107366d8f2065a9ae7d3a9' },
  { product: 'Turin', kind: 'vlek', spkiSha256: 'bfc441408b2f806c5dbf180bd8920e6e60dd404d82141780d85dbf962954d386' },
];
