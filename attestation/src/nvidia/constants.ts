/** Names, addresses, pins and maxima of the NVIDIA evidence; data, not code (attestation/EVIDENCE.md §1, §3). */

/** NVML's report buffer is 8 KiB; the request in front adds 37 bytes. */
export const gpuReportBytesMax = 16 * 1024;
/** JSON evidence of all GPUs: about 13 kB for each. */
export const gpuEvidenceBytesMax = 1024 * 1024;
/** GPUs in one JSON evidence list. */
export const gpuCountMax = 64;
/** Reference manifests and OCSP answers looked at for one GPU; bundles carry those of all GPUs. */
export const rimsMax = 64;
export const ocspAnswersMax = 256;
/** One OCSP response, DER. */
export const ocspBytesMax = 16 * 1024;
/** One detached EAT of the remote attestation service. */
export const nrasBytesMax = 256 * 1024;

/** SHA-256 of the SubjectPublicKeyInfo of the roots, hexadecimal (attestation/EVIDENCE.md §1). */
export const nvidiaPins = {
  /** NVIDIA Device Identity CA, serial 0x2d3670b1ca100411c1fec0e82a065b54. */
  device: ['a90c4eb5acfd3e3d03a25db6a26b84f720ad0503196c627c21ddd48dd85b06a4'],
  /** NVIDIA CoRIM signing Root CA, serial 0x45dae3a00e5037bddf875375ecb5e270. */
  rim: ['dec1dc316477aa851eebdf51327ae9f864bc8d89254657ed1e7eb9168af1e1a3'],
} as const;

export const nrasIssuer = 'https://nras.attestation.nvidia.com';
