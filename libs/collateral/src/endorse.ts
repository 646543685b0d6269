/** Everything that a verifier may need to judge one piece of evidence without a network, asked for in one call. */
import {
  candidateProducts,
  noEndorsements,
  parseCertificate,
  parsePckExtension,
  parsePemCertificates,
  parseQuote,
  parseSnpReport,
  pckExtensionOid,
  productLayout,
  readTcb,
  verifyNvidia,
  type Certificate,
  type CpuEvidence,
  type Endorsements,
  type Evidence,
  type GpuEvidence,
  type QuoteCollateral,
  type SnpProduct,
} from '#attestation';
import { CollateralError, equalBytes, fromBase64, isZero, Rejection } from '#attestation/base';
import { AmdKds } from './amd.js';
import { text } from './check.js';
import { failure } from './failure.js';
import { IntelPcs } from './intel.js';
import { NvidiaServices } from './nvidia.js';
import type { CollateralStore } from './store.js';

interface Collected {
  readonly endorsements: Endorsements;
  /** What could not be had; the appraisal will call it missing. */
  readonly missing: readonly CollateralError[];
}

/**
 * @param at  Unix seconds, to read GPU evidence as of
 * @throws Rejection when the evidence cannot even be read
 * @throws ConfigurationError COLLATERAL_DIRECTORY
 */
export async function collectEndorsements(store: CollateralStore, evidence: Evidence, at: number): Promise<Collected> {
  const collector = new EndorsementCollector();
  switch (evidence.kind) {
    case 'composite':
      await addCpu(store, evidence.cpu, collector);
      for (const gpu of evidence.gpus) await addGpu(store, gpu, at, collector);
      break;
    case 'nvidia':
      await addGpu(store, evidence, at, collector);
      break;
    case 'snp':
    case 'simulated-snp':
    case 'tdx':
    case 'sgx':
    case 'nitro':
      await addCpu(store, evidence, collector);
  }
  return { endorsements: collector.endorsements, missing: collector.missing };
}

async function addCpu(store: CollateralStore, evidence: CpuEvidence, collector: EndorsementCollector): Promise<void> {
  switch (evidence.kind) {
    case 'snp':
      return addSnp(new AmdKds(store), evidence.report, collector);
    case 'tdx':
    case 'sgx':
      return addQuote(new IntelPcs(store), evidence.quote, collector);
    case 'simulated-snp':
    case 'nitro':
      return undefined;
  }
}

/** A report of version 2 names no product: the first candidate whose service knows the chip is taken. */
async function addSnp(kds: AmdKds, bytes: Uint8Array, collector: EndorsementCollector): Promise<void> {
  const report = parseSnpReport(bytes);
  const [first, ...others] = candidateProducts(report) as [SnpProduct, ...SnpProduct[]];
  const kind = report.signingKey;
  const vcek = (product: SnpProduct) =>
    kds.vcek(product, report.chipId, readTcb(report.reportedTcb, productLayout[product]));
  let product = first;
  if (kind === 'vcek' && !isZero(report.chipId)) {
    const unknown = (error: unknown): boolean =>
      error instanceof CollateralError && error.code === 'COLLATERAL_NOT_FOUND';
    await collector.take(async () => {
      const found = await vcek(first).catch((error: unknown) => {
        if (others.length === 0 || !unknown(error)) throw error;
        product = others[0]!;
        return vcek(product);
      });
      collector.certificates.push(found.body);
    });
  }
  await collector.take(async () => {
    const chain = await kds.chain(product, kind);
    collector.certificates.push(...parsePemCertificates(text(chain.body)).map(({ raw }) => raw));
  });
  await collector.take(async () => {
    collector.crls.push((await kds.crl(product, kind)).body);
  });
}

async function addQuote(pcs: IntelPcs, bytes: Uint8Array, collector: EndorsementCollector): Promise<void> {
  const quote = parseQuote(bytes);
  const leaf = parsePemCertificates(text(quote.pckChain))[0]!;
  const { fmspc } = parsePckExtension(leaf.extensions.get(pckExtensionOid)?.value ?? new Uint8Array());
  const ca = leaf.issuerText.includes('Processor') ? 'processor' : 'platform';
  const tee = quote.body.kind === 'sgx' ? 'sgx' : 'tdx';
  await collector.take(async () => {
    collector.collateral.tcbInfo = (await pcs.tcbInfo(tee, fmspc)).document;
  });
  await collector.take(async () => {
    collector.collateral.qeIdentity = (await pcs.qeIdentity(tee)).document;
  });
  for (const list of [() => pcs.rootCrl(), () => pcs.pckCrl(ca)]) {
    await collector.take(async () => {
      collector.crls.push((await list()).body);
    });
  }
}

/** Both RIMs, and OCSP answers for the chains of the device (without its leaf) and of the RIM signers, but no roots. */
async function addGpu(
  store: CollateralStore,
  gpu: GpuEvidence,
  at: number,
  collector: EndorsementCollector,
): Promise<void> {
  const { certificateChain: chain, report } = gpu;
  const { claims } = await verifyNvidia({ report, certificateChain: chain, rims: [], ocspAnswers: [], at });
  if (claims === undefined) return;
  const services = new NvidiaServices(store);
  const device = typeof chain === 'string' ? parsePemCertificates(chain) : chain.map(parseCertificate);
  const chains = [device.slice(1)];
  for (const id of [claims.driverRimId, claims.vbiosRimId]) {
    await collector.take(async () => {
      const rim = await services.rim(id);
      collector.rims.push(rim);
      chains.push(signerChain(rim));
    });
  }
  const asked = new Set<string>();
  for (const certificate of chains.flat()) {
    const issuer = chains.flat().find((candidate) => equalBytes(candidate.subject, certificate.issuer));
    const name = `${certificate.issuerText} ${certificate.serial}`;
    if (issuer === undefined || equalBytes(certificate.issuer, certificate.subject) || asked.has(name)) continue;
    asked.add(name);
    await collector.take(async () => {
      collector.ocspAnswers.push({ response: (await services.ocsp(certificate, issuer)).body });
    });
  }
}

/** Tells which certificates to ask the responder about. Verification reads the manifest again by itself. */
function signerChain(rim: Uint8Array): Certificate[] {
  const blocks = [...text(rim).matchAll(/<(?:\w+:)?X509Certificate>([A-Za-z0-9+/=\s]+)</g)];
  return blocks.slice(0, 8).map((block) => parseCertificate(fromBase64(block[1]!)));
}

function unreadable(error: Rejection): CollateralError {
  const { expected, got, rule } = error.detail;
  return failure('COLLATERAL_FORMAT', expected, got, rule, 'try again later, or use another mirror');
}

class EndorsementCollector {
  readonly certificates: Uint8Array[] = [];
  readonly crls: Uint8Array[] = [];
  readonly rims: Uint8Array[] = [];
  readonly ocspAnswers: { response: Uint8Array }[] = [];
  readonly missing: CollateralError[] = [];
  readonly collateral: { -readonly [K in keyof QuoteCollateral]: QuoteCollateral[K] } = {};

  async take(step: () => Promise<void>): Promise<void> {
    try {
      await step();
    } catch (error) {
      if (!(error instanceof CollateralError) && !(error instanceof Rejection)) throw error;
      this.missing.push(error instanceof CollateralError ? error : unreadable(error));
    }
  }

  get endorsements(): Endorsements {
    const { certificates, crls, rims, ocspAnswers, collateral } = this;
    return { ...noEndorsements, certificates, crls, rims, ocspAnswers, collateral };
  }
}
