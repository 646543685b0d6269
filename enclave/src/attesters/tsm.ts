/**
 * Evidence through Linux's configfs-tsm, the same for SEV-SNP and TDX (Linux Documentation/ABI/testing/
 * configfs-tsm-report; attestation/EVIDENCE.md §6). One directory per request; the generation counter tells whether
 * somebody else wrote to it between our write and our reads, in which case what was read answers another question.
 */
import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { certTableEndorsements, CollateralError, ConfigurationError, Rejection } from '#attestation/base';
import type { Attester, EvidenceParts } from './attester.js';

const root = '/sys/kernel/config/tsm/report';
const reportDataBytes = 64;
const outblobBytesMax = 32 * 1024;
const auxblobBytesMax = 256 * 1024;
const attemptsMax = 5;
const pauseMs = 50;

/** What the kernel calls its providers. */
const providers: Readonly<Record<string, 'snp' | 'tdx'>> = { sev_guest: 'snp', tdx_guest: 'tdx' };

/** errno of a device that is busy or was interrupted: worth another attempt. */
const transient: ReadonlySet<string> = new Set(['EBUSY', 'EAGAIN', 'EINTR', 'ETIMEDOUT', 'EWOULDBLOCK']);

/** The file operations of the kernel interface; errors carry `code`, the name of the errno. */
export interface TsmFiles {
  mkdir(path: string): Promise<void>;
  rmdir(path: string): Promise<void>;
  read(path: string): Promise<Uint8Array>;
  write(path: string, value: Uint8Array | string): Promise<void>;
  pause(ms: number): Promise<void>;
}

const kernelFiles: TsmFiles = {
  mkdir: (path) => mkdir(path).then(() => undefined),
  rmdir: (path) => rmdir(path),
  read: async (path) => new Uint8Array(await readFile(path)),
  // Attributes are write-only and take the whole value in one write.
  write: (path, value) => writeFile(path, value, { flag: 'w' }),
  pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};

interface TsmOptions {
  readonly files?: TsmFiles;
  /** VMPL of the report, 0 to 3; SNP only. The kernel refuses levels below its floor. */
  readonly privilegeLevel?: 0 | 1 | 2 | 3;
}

/**
 * @throws ConfigurationError TSM_ABSENT, TSM_PROVIDER when this machine offers no such reports. What it returns throws
 *   besides ConfigurationError TSM_REFUSED, TSM_REPORT_DATA and CollateralError TSM_BUSY, TSM_RACED, TSM_REPORT,
 *   TSM_CERTIFICATES
 */
export async function openTsm(kind: 'snp' | 'tdx', options: TsmOptions = {}): Promise<Attester> {
  const files = options.files ?? kernelFiles;
  await retry(files, () => withEntry(files, (entry) => checkProvider(kind, entry)));
  return {
    kind,
    async collect(reportData) {
      if (reportData.length !== reportDataBytes) {
        throw configuration('TSM_REPORT_DATA', `${reportDataBytes} bytes`, `${reportData.length}`, 'give 64 bytes');
      }
      return retry(files, () => withEntry(files, (entry) => converse(kind, reportData, options, entry)));
    },
  };
}

/** A fresh directory for every attempt: a raced or half-served one is never read again. */
async function retry<T>(files: TsmFiles, attempt: () => Promise<T>): Promise<T> {
  for (let count = 1; ; count++) {
    try {
      return await attempt();
    } catch (error) {
      const worth = error instanceof CollateralError && (error.code === 'TSM_BUSY' || error.code === 'TSM_RACED');
      if (!worth || count === attemptsMax) throw error;
      await files.pause(pauseMs * 2 ** (count - 1));
    }
  }
}

async function withEntry<T>(files: TsmFiles, use: (entry: Entry) => Promise<T>): Promise<T> {
  const path = `${root}/veritrain-${randomUUID()}`;
  await files.mkdir(path).catch(absent);
  try {
    return await use(createEntry(path, files));
  } finally {
    // A directory that stays is the kernel's small loss; the report that was read is not.
    await files.rmdir(path).catch(errno);
  }
}

async function checkProvider(kind: 'snp' | 'tdx', entry: Entry): Promise<void> {
  const provider = text(await entry.read('provider', 64)).trim();
  if (providers[provider] !== kind) {
    throw configuration('TSM_PROVIDER', kind, provider, 'start the guest on the machine that it is for');
  }
}

async function converse(
  kind: 'snp' | 'tdx',
  reportData: Uint8Array,
  options: TsmOptions,
  entry: Entry,
): Promise<EvidenceParts> {
  await checkProvider(kind, entry);
  await entry.start();
  await entry.write('inblob', reportData);
  if (options.privilegeLevel !== undefined) await entry.write('privlevel', `${options.privilegeLevel}`);
  const report = await entry.read('outblob', outblobBytesMax);
  const auxblob = kind === 'snp' ? await entry.read('auxblob', auxblobBytesMax) : undefined;
  await entry.finish();
  if (report.length === 0) throw collateral('TSM_REPORT', 'a report', 'no bytes');
  if (auxblob === undefined || auxblob.length === 0) return { kind, report, certificates: [] };
  return { kind, report, certificates: readCertificates(auxblob), auxblob };
}

function readCertificates(auxblob: Uint8Array): readonly Uint8Array[] {
  try {
    return certTableEndorsements(auxblob).certificates;
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    throw collateral('TSM_CERTIFICATES', 'a certificate table of the host', `${error.code}: ${error.detail.got}`);
  }
}

interface Entry {
  /** Remembers the generation before the first write. */
  start(): Promise<void>;
  write(attribute: string, value: Uint8Array | string): Promise<void>;
  read(attribute: string, bytesMax: number): Promise<Uint8Array>;
  /** @throws CollateralError TSM_RACED unless the generation counts exactly our writes */
  finish(): Promise<void>;
}

function createEntry(path: string, files: TsmFiles): Entry {
  let expected = 0n;
  const generation = async (): Promise<bigint> => {
    const value = text(await files.read(`${path}/generation`).catch(refused)).trim();
    if (!/^\d{1,20}$/.test(value)) throw collateral('TSM_REPORT', 'a decimal generation', value.slice(0, 40));
    return BigInt(value);
  };
  return {
    async start() {
      expected = await generation();
    },
    async write(attribute, value) {
      await files.write(`${path}/${attribute}`, value).catch(refused);
      expected++;
    },
    async read(attribute, bytesMax) {
      const value = await files.read(`${path}/${attribute}`).catch(refused);
      if (value.length > bytesMax)
        throw collateral('TSM_REPORT', `${attribute} ≤ ${bytesMax} bytes`, `${value.length}`);
      return value;
    },
    async finish() {
      const seen = await generation();
      if (seen !== expected) throw collateral('TSM_RACED', `generation ${expected}`, `${seen}`);
    },
  };
}

function absent(error: unknown): never {
  const code = errno(error);
  if (transient.has(code)) throw collateral('TSM_BUSY', 'a directory for this request', code);
  const action = 'mount configfs and load sev-guest or tdx-guest (Linux 6.7 or newer), as root';
  throw configuration('TSM_ABSENT', root, code, action);
}

function refused(error: unknown): never {
  const code = errno(error);
  if (transient.has(code)) throw collateral('TSM_BUSY', 'an answer of the device', code);
  if (code === 'EINVAL' || code === 'EPERM' || code === 'EACCES') {
    throw configuration('TSM_REFUSED', 'a request that the kernel takes', code, 'check privilege level and rights');
  }
  throw collateral('TSM_REPORT', 'an answer of the device', code);
}

/** The errno name; anything else is a bug and passes through. */
function errno(error: unknown): string {
  const code = (error as { readonly code?: unknown } | null)?.code;
  if (typeof code !== 'string') throw error;
  return code;
}

function text(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes.subarray(0, 64));
}

const rule = 'Linux ABI configfs-tsm-report; attestation/EVIDENCE.md §6';

function configuration(code: string, expected: string, got: string, action: string): ConfigurationError {
  return new ConfigurationError(code, { expected, got, rule, action });
}

function collateral(code: string, expected: string, got: string): CollateralError {
  return new CollateralError(code, { expected, got, rule, action: 'try again' });
}
