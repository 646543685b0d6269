/** Circuits and keys in a cache folder, by the circuit's digest. Files are large and can all be made again. */
import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ConfigurationError, toHex } from '#attestation/base';
import { circuitDigest, circuitText } from '../relation/circuit.js';
import type { CircuitShape } from '../relation/shape.js';
import type { Ceremony } from '../verifier/key.js';
import { encodeKey } from './encode.js';
import { runTool, type ToolLimits } from './process.js';
import { domainPower, readR1csHeader, type R1csHeader } from './r1cs.js';
import { makeWhole } from './whole.js';

export interface Circuit {
  readonly shape: CircuitShape;
  readonly digest: Uint8Array;
  readonly folder: string;
  readonly r1cs: string;
  readonly wasm: string;
  readonly header: R1csHeader;
}

export interface ProvingKey {
  readonly ceremony: Ceremony;
  readonly zkey: string;
  /** The verification key (verifier/key.ts). */
  readonly bytes: Uint8Array;
}

/** A file and the SHA-256 that it must have, 64 hexadecimal digits. */
export interface PinnedFile {
  readonly path: string;
  readonly sha256: string;
}

/**
 * Where a key comes from. Without `zkey` this machine makes it, from given powers of tau or its own: a development key
 * either way, for whoever contributes alone can forge.
 */
export interface KeySource {
  readonly ptau?: PinnedFile;
  readonly zkey?: PinnedFile;
}

/**
 * Compiles the circuit unless it is at hand.
 *
 * @throws ConfigurationError BACKEND_UNAVAILABLE, GROTH16_COMPILE, ZK_MEMORY_EXCEEDED
 */
export async function openCircuit(cache: string, shape: CircuitShape, limits: ToolLimits = {}): Promise<Circuit> {
  const digest = circuitDigest(shape);
  const folder = join(cache, toHex(digest));
  if (!existsSync(folder)) {
    const text = circuitText(shape);
    await makeWhole(folder, (work) => runTool({ op: 'compile', folder: work, text }, limits));
  }
  const [r1cs, wasm] = [join(folder, 'circuit.r1cs'), join(folder, 'circuit.wasm')];
  return { shape, digest, folder, r1cs, wasm, header: readR1csHeader(await readFile(r1cs)) };
}

/**
 * Makes the key, or takes it from the cache.
 *
 * @throws ConfigurationError BACKEND_UNAVAILABLE, GROTH16_PTAU, GROTH16_FILE_HASH, GROTH16_ZKEY, ZK_MEMORY_EXCEEDED
 */
export async function openKey(
  cache: string,
  circuit: Circuit,
  source: KeySource = {},
  limits: ToolLimits = {},
): Promise<ProvingKey> {
  if (source.zkey !== undefined) return importKey(circuit, source.zkey, source.ptau, limits);
  if (source.ptau !== undefined) await checkHash(source.ptau);
  const name = source.ptau === undefined ? 'development' : `development-${source.ptau.sha256.slice(0, 16)}`;
  const folder = join(circuit.folder, name);
  if (!existsSync(folder)) {
    const ptau = source.ptau?.path ?? (await developmentPtau(cache, domainPower(circuit.header), limits));
    await makeDevelopmentKey(circuit, folder, ptau, limits);
  }
  return { ceremony: 'development', zkey: join(folder, 'zkey'), bytes: await readFile(join(folder, 'key')) };
}

/** Both files of a key come from one run: they appear together. */
function makeDevelopmentKey({ r1cs }: Circuit, folder: string, ptau: string, limits: ToolLimits): Promise<void> {
  return makeWhole(folder, async (work) => {
    await mkdir(work);
    const request = { op: 'key', r1cs, ptau, zkey: join(work, 'zkey'), name: 'UNSAFE development' } as const;
    const { key } = await runTool(request, limits);
    await writeFile(join(work, 'key'), encodeKey(key!));
  });
}

async function developmentPtau(cache: string, power: number, limits: ToolLimits): Promise<string> {
  const target = join(cache, `UNSAFE-development-${power}.ptau`);
  const write = (path: string): Promise<unknown> => runTool({ op: 'development-ptau', path, power }, limits);
  if (!existsSync(target)) await makeWhole(target, write);
  return target;
}

/** Takes the key of a ceremony after checking it against the circuit and the powers of tau it says it came from. */
async function importKey(
  circuit: Circuit,
  zkey: PinnedFile,
  ptau: PinnedFile | undefined,
  limits: ToolLimits,
): Promise<ProvingKey> {
  if (ptau === undefined) {
    throw new ConfigurationError('GROTH16_ZKEY', {
      ...{ expected: 'the powers of tau that the key was made from', got: 'none', rule },
    });
  }
  await Promise.all([checkHash(zkey), checkHash(ptau)]);
  const files = { r1cs: circuit.r1cs, ptau: ptau.path, zkey: zkey.path };
  const { isValid } = await runTool({ op: 'check-key', ...files }, limits);
  if (isValid !== true) {
    const expected = `a key of circuit ${toHex(circuit.digest)}`;
    throw new ConfigurationError('GROTH16_ZKEY', { expected, got: 'another, or a broken contribution', rule });
  }
  const { key } = await runTool({ op: 'export-key', zkey: zkey.path }, limits);
  return { ceremony: 'external', zkey: zkey.path, bytes: encodeKey(key!) };
}

/** @throws ConfigurationError GROTH16_FILE_HASH */
async function checkHash({ path, sha256 }: PinnedFile): Promise<void> {
  const hash = createHash('sha256');
  const found = await pipeline(createReadStream(path), hash).then(
    () => hash.digest('hex'),
    () => 'no readable file',
  );
  if (found === sha256) return;
  throw new ConfigurationError('GROTH16_FILE_HASH', { expected: `${path} with SHA-256 ${sha256}`, got: found, rule });
}

const rule = 'libs/zk/src/groth16/SPEC.md §6';
