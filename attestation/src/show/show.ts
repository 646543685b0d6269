/** Evidence as a list of its fields, each with name, offset and size: read, not judged. */
import { fromHex, fromUtf8, toHex } from '../base/bytes.js';
import { dateOf } from '../base/date.js';
import { CodedError } from '../base/errors.js';
import { parseQuote } from '../intel/quote.js';
import { parseGpuEvidence } from '../nvidia/evidence.js';
import { parseReport as parseGpuReport } from '../nvidia/spdm.js';
import { describeSnpReport, parseSnpReport } from '../snp/abi.js';
import { parseHclReport } from '../snp/hcl.js';
import { readGuestPolicy, readPlatformInfo } from '../snp/policy.js';
import { candidateProducts, productLayout } from '../snp/product.js';
import { readTcb, tcbText } from '../snp/tcb.js';
import { parseCertificate, parsePemCertificates } from '../x509/certificate.js';
import { cborRows } from './cbor-tree.js';
import type { FieldRow, Section } from './fields.js';
import type { FileKind } from './kind.js';
import { readSession } from './read-session.js';

/** @throws Rejection when the file cannot be read as `kind` */
export function showEvidence(bytes: Uint8Array, kind: FileKind): readonly Section[] {
  switch (kind) {
    case 'snp':
      return [snpSection(bytes)];
    case 'hcl': {
      const { report, runtimeClaims } = parseHclReport(bytes);
      const claims = { name: 'RUNTIME_CLAIMS', offset: 0, size: runtimeClaims.length, value: toHex(runtimeClaims) };
      return [snpSection(report), { title: 'runtime claims', fields: [meant(claims, printable(runtimeClaims))] }];
    }
    case 'tdx':
    case 'sgx':
      return [quoteSection(bytes)];
    case 'nvidia':
      return [gpuSection('GPU report', bytes)];
    case 'nvidia-json':
      return parseGpuEvidence(bytes).map(({ arch, report }, index) => gpuSection(`GPU ${index}, ${arch}`, report));
    case 'nitro':
      return [{ title: 'Nitro document', fields: nitroRows(bytes) }];
    case 'session':
      return sessionSections(bytes);
  }
}

function sessionSections(bytes: Uint8Array): readonly Section[] {
  const { cpu, gpus, nonce, binding, claims } = readSession(bytes);
  const named = { nonce, ...binding, claims };
  const fields = Object.entries(named).map(([name, value]) =>
    value instanceof Uint8Array
      ? { name, offset: 0, size: value.length, value: toHex(value) }
      : { name, offset: 0, size: 0, value: `${value}` },
  );
  return [
    { title: 'session', fields },
    cpu.kind === 'tdx' ? quoteSection(cpu.report) : snpSection(cpu.report, cpu.kind === 'simulated-snp'),
    ...gpus.map(({ report }, index) => gpuSection(`GPU ${index}`, report)),
  ];
}

function snpSection(report: Uint8Array, simulated = false): Section {
  const meanings = snpMeanings(report);
  return {
    title: simulated ? 'SIMULATED SEV-SNP report' : 'SEV-SNP report',
    fields: describeSnpReport(report).map((line) => meant(line, meanings.get(line.name))),
  };
}

/** Empty where the report is malformed: the fields are still shown. */
function snpMeanings(bytes: Uint8Array): Map<string, string> {
  try {
    const report = parseSnpReport(bytes);
    const { abiMajor, abiMinor, ...bits } = readGuestPolicy(report.policy);
    const set = Object.entries(bits).flatMap(([name, on]) => (on ? [name] : []));
    const platform = readPlatformInfo(report.platformInfo);
    const meanings = new Map([
      ['POLICY', [`ABI ${abiMajor}.${abiMinor}`, ...set].join(', ')],
      ['PLATFORM_INFO', [...platform.set, ...platform.unknownBits.map((bit) => `bit ${bit}`)].join(', ')],
      ['FLAGS', `signed by a ${report.signingKey.toUpperCase()}${report.chipKeyMasked ? ', chip id masked' : ''}`],
    ]);
    const [product] = candidateProducts(report);
    if (product === undefined) return meanings;
    const layout = productLayout[product];
    for (const [name, tcb] of Object.entries({
      CURRENT_TCB: report.currentTcb,
      REPORTED_TCB: report.reportedTcb,
      COMMITTED_TCB: report.committedTcb,
      LAUNCH_TCB: report.launchTcb,
    })) {
      meanings.set(name, tcbText(readTcb(tcb, layout)));
    }
    return meanings;
  } catch (error) {
    if (error instanceof CodedError) return new Map([['VERSION', `malformed: ${error.message}`]]);
    throw error;
  }
}

function quoteSection(bytes: Uint8Array): Section {
  const quote = parseQuote(bytes);
  const fields = quote.fields.map(({ name, offset, bytes: value }) => {
    const row = { name, offset, size: value.length, value: toHex(value) };
    return meant(row, name === 'pckChain' ? subjectsOf(value) : undefined);
  });
  return { title: `${quote.body.kind === 'sgx' ? 'SGX' : 'TDX'} quote, version ${quote.version}`, fields };
}

function gpuSection(title: string, report: Uint8Array): Section {
  const fields = parseGpuReport(report).fields.map(({ name, offset, length }) => {
    const value = report.subarray(offset, offset + length);
    return meant({ name, offset, size: length, value: toHex(value) }, printable(value));
  });
  return { title, fields };
}

const coseParts = ['protected', 'unprotected', 'payload', 'signature'];

function nitroRows(document: Uint8Array): FieldRow[] {
  const nameOf = (parent: string, key: string): string =>
    parent === '' ? (coseParts[Number(key)] ?? key) : `${parent}.${key}`;
  const rows = cborRows(document, { nameOf, holdsCbor: (name) => name === 'protected' || name === 'payload' });
  return rows.map((row) => {
    if (/^payload\.(certificate|cabundle\.\d+)$/.test(row.name)) return meant(row, subjectOf(row.value));
    return row.name === 'payload.timestamp' ? meant(row, dateOf(row.value)) : row;
  });
}

function meant(row: FieldRow, meaning: string | undefined): FieldRow {
  return meaning === undefined || meaning === '' ? row : { ...row, meaning };
}

function subjectOf(hex: string): string | undefined {
  try {
    return parseCertificate(fromHex(hex)).subjectText;
  } catch (error) {
    if (error instanceof CodedError) return error.message;
    throw error;
  }
}

function subjectsOf(pem: Uint8Array): string {
  try {
    const certificates = parsePemCertificates(fromUtf8(pem).replace(/\0+$/, ''));
    return certificates.map(({ subjectText }) => subjectText).join(' < ');
  } catch (error) {
    if (error instanceof CodedError) return error.message;
    throw error;
  }
}

/** Text where the bytes are nothing but text, filled up with zeros or not. */
function printable(bytes: Uint8Array): string | undefined {
  const text = new TextDecoder('latin1').decode(bytes).replace(/\0+$/, '');
  return text.length > 2 && /^[\x20-\x7e]+$/.test(text) ? JSON.stringify(text) : undefined;
}
