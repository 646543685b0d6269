/** What a file of evidence is, told by its own bytes. */
import { ConfigurationError } from '../base/errors.js';
import { snpReportBytes } from '../snp/abi.js';

export const evidenceKinds = ['snp', 'hcl', 'tdx', 'sgx', 'nvidia', 'nvidia-json', 'nitro', 'session'] as const;
export type FileKind = (typeof evidenceKinds)[number];

/**
 * `hcl`: an SNP report inside the runtime data of an Azure paravisor; `nvidia-json`: what NVIDIA's tools exchange;
 * `session`: the evidence of one of this system's enclaves.
 *
 * @throws ConfigurationError EVIDENCE_FORMAT
 */
export function kindOf(bytes: Uint8Array): FileKind {
  const starts = (...head: readonly number[]): boolean => head.every((byte, index) => bytes[index] === byte);
  if (starts(0x48, 0x43, 0x4c, 0x41)) return 'hcl';
  if (bytes.length === snpReportBytes) return 'snp';
  if (starts(0x11, 0xe0)) return 'nvidia';
  if (starts(0x84) || starts(0xd2, 0x84)) return 'nitro';
  if (starts(0xa6) || starts(0xa7)) return 'session';
  const quote = quoteKind(bytes);
  if (quote !== undefined) return quote;
  const first = bytes.find((byte) => byte > 0x20);
  if (first === 0x5b || first === 0x7b) return 'nvidia-json';
  throw new ConfigurationError('EVIDENCE_FORMAT', {
    expected: 'a report, quote or document of a known kind',
    got: `${bytes.length} bytes of another`,
    rule: 'arguments of this command',
    action: `say what it is: --kind ${evidenceKinds.join('|')}`,
  });
}

/** Version 3 to 5 and attestation key type, u16 each, then TEE type, u32; little-endian. */
function quoteKind(bytes: Uint8Array): 'tdx' | 'sgx' | undefined {
  if (bytes.length < 48) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const version = view.getUint16(0, true);
  if (version < 3 || version > 5) return undefined;
  const tee = view.getUint32(4, true);
  return tee === 0x81 ? 'tdx' : tee === 0 || version === 3 ? 'sgx' : undefined;
}
