/**
 * What every source of evidence in the guest looks like: 64 bytes of caller data in, signed evidence out. The parts
 * are what the device gave, not judged here; attestation/ verifies them.
 */

export type EvidenceKind = 'snp' | 'tdx' | 'nvidia-gpu' | 'simulated';

export interface EvidenceParts {
  readonly kind: EvidenceKind;
  /** The signed report or quote, exactly as the device gave it. */
  readonly report: Uint8Array;
  /** Certificates that came with the report, DER, leaf first where the device orders them; may be empty. */
  readonly certificates: readonly Uint8Array[];
  /** Certificate table of an SNP extended report (attestation/EVIDENCE.md §2.9), unparsed: the host supplies it. */
  readonly auxblob?: Uint8Array;
}

export interface Attester {
  readonly kind: EvidenceKind;
  /**
   * @param reportData what the evidence must be bound to: 64 bytes for a CPU (REPORT_DATA), 32 for a GPU (nonce)
   * @throws ConfigurationError when the device interface is absent or refuses this use
   * @throws CollateralError when the device is there but gave no consistent answer: try again
   */
  collect(reportData: Uint8Array): Promise<EvidenceParts>;
}
