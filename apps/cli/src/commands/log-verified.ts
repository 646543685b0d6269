/** An entry that stands in a log of the trust policy, and images that do, from files alone. */
import type { Command } from 'commander';
import { ConfigurationError, fromUtf8, Rejection, toHex } from '#attestation/base';
import {
  entryBytesMax,
  leafHash,
  parseEntry,
  parseLogProof,
  proofCharactersMax,
  verifyEntry,
  verifyLogProof,
} from '#attestation/log';
import { readTrustPolicy } from '#libs/client/judging';
import { readBytes } from '#libs/client/files';
import type { Pin } from './log-pins.js';

interface EntryFiles {
  readonly entry: string;
  readonly proof: string;
  readonly logPolicy: string;
  /** Absent: the one that the entry names. */
  readonly issuerKey?: Uint8Array;
}

/** @throws ConfigurationError FILE_*; Rejection LOG_*, COSE_*, CBOR_*, MESSAGE_* */
export async function verifiedEntry({ entry: file, proof: proofFile, logPolicy, issuerKey }: EntryFiles) {
  const policy = readTrustPolicy(logPolicy);
  const bytes = readBytes(file, entryBytesMax);
  const entry = await verifyEntry(bytes, issuerKey ?? parseEntry(bytes).kid);
  const proof = parseLogProof(fromUtf8(readBytes(proofFile, proofCharactersMax)));
  const leaf = leafHash(bytes);
  const trusted = verifyLogProof(proof, leaf, policy);
  const ok = policy.quorum === null || trusted.witnessedAt !== null;
  return { ok, entry, index: proof.index, leaf, trusted, policy };
}

interface LoggedImage {
  /** With its flavour at the end. */
  readonly name: string;
  readonly measurements: readonly Pin[];
}

/**
 * @param files  entries of kind `image` as OUT.image.entry, the proof of each beside it as OUT.image.proof
 * @throws as verifiedEntry; Rejection GUEST_NOT_LOGGED: another kind, or not seen by the quorum
 */
async function loggedImages(logPolicy: string, files: readonly string[]): Promise<readonly LoggedImage[]> {
  const images: LoggedImage[] = [];
  for (const file of files) {
    const proof = file.replace(/(\.entry)?$/, '.proof');
    const { ok, entry } = await verifiedEntry({ entry: file, proof, logPolicy });
    if (entry.class !== 'public' || entry.kind !== 'image') throw notLogged('an entry of kind image', entry.kind);
    if (!ok) throw notLogged('an entry that the quorum of the trust policy saw', `${file}, not seen by it`);
    const { name, measurements } = entry.body as {
      name: string;
      measurements: readonly { kind: string; value: Uint8Array }[];
    };
    images.push({ name, measurements: measurements.map((one) => ({ ...one, value: toHex(one.value) })) });
  }
  return images;
}

const has = ({ measurements }: LoggedImage, { kind, value }: Pin): boolean =>
  measurements.some((one) => one.kind === kind && one.value === value);

/** @throws Rejection GUEST_NOT_LOGGED */
function demandLogged(pins: readonly Pin[], images: readonly LoggedImage[]): void {
  if (pins.length === 0) throw notLogged('a measurement that is pinned (snp.measurements, quote, nitro.pcrs)', 'none');
  const missing = pins.filter((pin) => !images.some((image) => has(image, pin)));
  if (missing.length > 0)
    throw notLogged(
      'each measurement in an entry of an image that is logged',
      `${missing.length} of ${pins.length} in none, the first ${missing[0]!.kind} ${missing[0]!.value}`,
    );
}

/** @throws Rejection GUEST_FLAVOUR: one is of an image for development */
function demandProduction(pins: readonly Pin[], images: readonly LoggedImage[]): void {
  const simulated = images.find((image) => image.name.endsWith('-dev') && pins.some((pin) => has(image, pin)));
  if (simulated === undefined) return;
  throw new Rejection('GUEST_FLAVOUR', {
    ...{ expected: 'an image of production', got: simulated.name, rule: 'enclave/guest/README.md, manifest' },
    action: 'pin an image of flavour cpu or gpu',
  });
}

export interface LoggedOptions {
  readonly logPolicy?: string;
  readonly image: readonly string[];
}

/** With --log-policy: measurements must stand in entries of images that this log has. */
export function withLogged(command: Command): Command {
  return command
    .option('--log-policy <file>', 'demand that measurements are logged: the log and witnesses you trust (tlog-policy)')
    .option(
      '--image <entry>',
      'an entry of guest manifest, OUT.image.entry with OUT.image.proof beside it; repeat it',
      (one: string, before: readonly string[]) => [...before, one],
      [],
    );
}

/**
 * @returns how many measurements are logged, null where that was not asked for
 * @throws as loggedImages; Rejection GUEST_FLAVOUR; ConfigurationError GUEST_LOG_POLICY
 */
export async function checkLogged(
  pins: readonly Pin[],
  { logPolicy, image }: LoggedOptions,
  isProduction: boolean,
): Promise<number | null> {
  if (logPolicy === undefined && image.length === 0) return null;
  if (logPolicy === undefined)
    throw new ConfigurationError('GUEST_LOG_POLICY', {
      ...{ expected: '--log-policy with the log and witnesses that you trust', got: 'none' },
      rule: 'arguments of this command',
    });
  const images = await loggedImages(logPolicy, image);
  demandLogged(pins, images);
  if (isProduction) demandProduction(pins, images);
  return pins.length;
}

function notLogged(expected: string, got: string): Rejection {
  return new Rejection('GUEST_NOT_LOGGED', {
    ...{ expected, got, rule: 'enclave/guest/README.md, manifest' },
    action:
      'ask the publisher for OUT.image.entry and OUT.image.proof of guest manifest, and name the entry with --image',
  });
}
