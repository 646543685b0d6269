/**
 * Native UltraHonk on the Noir step. Its packages are fetched into the cache at run time and are no dependency; without a
 * network, npm or bash the peer is skipped. Powers of τ = 2 stand in for the ceremony's: they change no timing, and the
 * proofs are worth nothing.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { normalizeZ } from '@noble/curves/abstract/curve.js';
import { bn254 } from '@noble/curves/bn254.js';
import { ConfigurationError } from '#attestation/base';
import { peerCache } from './cache.js';
import { noirStep } from './noir-step.js';
import { nameOf, peerInputs, type PeerShape } from './shape.js';

const run = promisify(execFile);
const cache = peerCache('ultrahonk');
const packages = ['@aztec/bb.js@5.0.0', '@noir-lang/noir_wasm@1.0.0-beta.26', '@noir-lang/noir_js@1.0.0-beta.26'];
const target = ['-t', 'evm'];
/** Points beyond the circuit's domain that the prover reads. */
const spare = 1;

const compileScript = `
import { readFileSync, writeFileSync } from 'node:fs';
import { createFileManager, compile_program } from '@noir-lang/noir_wasm';
import { Noir } from '@noir-lang/noir_js';
const folder = process.argv[2];
const { program } = await compile_program(createFileManager(folder));
writeFileSync(folder + '/c.json', JSON.stringify(program));
const { witness } = await new Noir(program).execute(JSON.parse(readFileSync(folder + '/inputs.json', 'utf8')));
writeFileSync(folder + '/w.gz', witness);
`;

interface UltraHonkPeer {
  readonly gates: number;
  /** Proves once. @returns CPU seconds of the proof; the witness is made before */
  prove(): Promise<number>;
}

/** @throws ConfigurationError PEER_UNAVAILABLE */
export async function openUltraHonk(shape: PeerShape): Promise<UltraHonkPeer> {
  const folder = join(cache, nameOf(shape).replaceAll(' ', '-'));
  try {
    await install();
    if (!existsSync(join(folder, 'w.gz'))) await compile(folder, shape);
    const circuit = ['-b', join(folder, 'c.json')];
    const { stdout } = await run(prover(), ['gates', ...circuit], { maxBuffer: 1 << 26 });
    const gates = Number(/"circuit_size":\s*(\d+)/.exec(stdout)?.[1]);
    const env = { ...process.env, CRS_PATH: await powers(Math.ceil(Math.log2(gates))) };
    await mkdir(join(folder, 'vk'), { recursive: true });
    await run(prover(), ['write_vk', ...circuit, '-o', join(folder, 'vk'), ...target], { env });
    const files = ['-w', join(folder, 'w.gz'), '-k', join(folder, 'vk', 'vk'), '-o', folder];
    const timed = ['-c', 'TIMEFORMAT="cpu %U %S"; time "$0" "$@"', prover(), 'prove', ...circuit, ...files, ...target];
    return {
      gates,
      prove: async () => {
        const [, user, system] = /cpu ([\d.]+) ([\d.]+)/.exec((await run('bash', timed, { env })).stderr)!;
        return Number(user) + Number(system);
      },
    };
  } catch (error) {
    const got = (error as Error).message.replaceAll('\n', ' ').slice(0, 200);
    const expected = `${packages.join(', ')} from the package registry, and a prover that runs here`;
    throw new ConfigurationError('PEER_UNAVAILABLE', { expected, got, rule: 'bench, peers' });
  }
}

function prover(): string {
  const arch = process.arch === 'x64' ? 'amd64' : process.arch;
  const system = process.platform === 'darwin' ? 'macos' : process.platform;
  return join(cache, 'node_modules/@aztec/bb.js/build', `${arch}-${system}`, 'bb');
}

async function install(): Promise<void> {
  if (existsSync(prover())) return;
  await mkdir(cache, { recursive: true });
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-save', '--silent', '--prefix', cache];
  await run('npm', ['install', ...flags, ...packages], { timeout: 300_000 });
}

async function compile(folder: string, shape: PeerShape): Promise<void> {
  await mkdir(join(folder, 'src'), { recursive: true });
  await writeFile(
    join(folder, 'Nargo.toml'),
    '[package]\nname = "step"\ntype = "bin"\nauthors = [""]\n[dependencies]\n',
  );
  await writeFile(join(folder, 'src', 'main.nr'), noirStep(shape));
  await writeFile(join(folder, 'inputs.json'), JSON.stringify(noirInputs(shape)));
  await writeFile(join(cache, 'compile.mjs'), compileScript);
  await run(process.execPath, [join(cache, 'compile.mjs'), folder], { cwd: cache, maxBuffer: 1 << 26 });
}

function noirInputs(shape: PeerShape): Record<string, string[][]> {
  const { X, Y, W1, W2 } = peerInputs(shape);
  const { inputs, hidden, outputs } = shape;
  const element = (value: number): string => String(value < 0 ? bn254.fields.Fr.ORDER + BigInt(value) : value);
  const rows = (values: readonly number[], width: number): string[][] =>
    Array.from({ length: values.length / width }, (_, r) => values.slice(r * width, (r + 1) * width).map(element));
  return { X: rows(X, inputs), Y: rows(Y, outputs), W1: rows(W1, inputs), W2: rows(W2, hidden) };
}

/** Folder with 2^i·G for a domain of 2^power, in the prover's format. */
async function powers(power: number): Promise<string> {
  const folder = join(cache, `tau-2-power-${power}`);
  if (existsSync(join(folder, 'bn254_g1.dat'))) return folder;
  await mkdir(folder, { recursive: true });
  const { Point } = bn254.G1;
  const bytes = Buffer.alloc(64 * (2 ** power + spare));
  let next = Point.BASE;
  for (let from = 0; from < 2 ** power + spare; from += 4096) {
    const points: (typeof Point.BASE)[] = [];
    for (let i = from; i < Math.min(from + 4096, 2 ** power + spare); i++, next = next.double()) points.push(next);
    normalizeZ(Point, points).forEach((point, i) => {
      const { x, y } = point.toAffine();
      bytes.write(words(x, y), 64 * (from + i), 'hex');
    });
  }
  const { x, y } = bn254.G2.Point.BASE.toAffine();
  await writeFile(join(folder, 'bn254_g2.dat'), Buffer.from(words(x.c0, x.c1, y.c0, y.c1), 'hex'));
  await writeFile(join(folder, 'bn254_g1.tmp'), bytes);
  await rename(join(folder, 'bn254_g1.tmp'), join(folder, 'bn254_g1.dat'));
  return folder;
}

function words(...values: readonly bigint[]): string {
  return values.map((value) => value.toString(16).padStart(64, '0')).join('');
}
