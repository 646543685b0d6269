/**
 * Writes contracts/abi/*.json and the typed bindings of libs/settlement from forge's output. Run
 * `forge build contracts/src contracts/test/{WeakProofHead,WeakStepVerifier,PlantedSplitVerifiers}.sol` first.
 */
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { keccak256 } from 'ethers';
import { runTypeChain } from 'typechain';

export const contractNames = [
  'BlockRandao',
  'P384',
  'SnpRegistry',
  'SnpVerifier',
  'Delivery',
  'Duties',
  'EvaluatorAdapter',
  'Groth16StepVerifier',
  'Keys',
  'LogAnchors',
  'ProofFacts',
  'QuorumReexecution',
  'Roles',
  'Settlement',
  'TermsRules',
  'ValidationAdapter',
  'VerifierRouter',
  'ZkProofHead',
  'ZkSoftmaxRelation',
  'ZkSplitVerifier',
  'ZkSquaredErrorRelation',
  'ZkStepVerifier',
  'ZkUnitMatmuls',
  'ZkUnitSoftmaxRelation',
  'ZkUnitSquaredErrorRelation',
] as const;
const bound = [
  ...(['Delivery', 'Duties', 'Keys', 'Roles', 'Settlement'] as const),
  ...(['SnpRegistry', 'SnpVerifier', 'VerifierRouter'] as const),
];

const root = new URL('../', import.meta.url);
const planted = 'PlantedSplitVerifiers';
const fileOf: Readonly<Record<string, string>> = { BlindSplitVerifier: planted, LooseSplitVerifier: planted };
/**
 * Compiled by itself: beside the other relations the optimizer makes 183 bytes more of it than a chain accepts.
 * `forge build PATH --out contracts/out/alone --cache-path contracts/cache/alone`
 */
export const compiledAlone = 'ZkSoftmaxRelation';

const output = (name: string) =>
  fileURLToPath(new URL(`out/${name === compiledAlone ? 'alone/' : ''}${fileOf[name] ?? name}.sol/${name}.json`, root));

/** The text of one contract's artefact, one ABI entry per line: {abi, bytecode, deployedBytecodeDigest}. */
export function artefactOf(name: string): string {
  const built = JSON.parse(readFileSync(output(name), 'utf8'));
  const abi = built.abi.map((entry: unknown) => JSON.stringify(entry)).join(',\n');
  const digest = keccak256(built.deployedBytecode.object);
  return `{"abi":[\n${abi}\n],\n"bytecode":"${built.bytecode.object}",\n"deployedBytecodeDigest":"${digest}"}\n`;
}

export function artefactFile(name: string): URL {
  return new URL(`abi/${name}.json`, root);
}

/** Contracts that only tests deploy, kept so that those need no compiler. */
export const testContractNames = [
  'BlindSplitVerifier',
  'LooseSplitVerifier',
  'WeakProofHead',
  'WeakStepVerifier',
] as const;

export function testArtefactFile(name: string): URL {
  return new URL(`test/vectors/${name}.json`, root);
}

async function writeBindings(): Promise<void> {
  const outDir = mkdtempSync(join(tmpdir(), 'bindings-'));
  const files = bound.map(output);
  const flags = {
    alwaysGenerateOverloads: false,
    discriminateTypes: false,
    tsNocheck: false,
    environment: undefined,
    node16Modules: true,
  };
  await runTypeChain({ cwd: outDir, filesToProcess: files, allFiles: files, outDir, target: 'ethers-v6', flags });
  for (const name of [...bound, 'common']) {
    copyFileSync(join(outDir, `${name}.ts`), new URL(`../libs/settlement/src/types/${name}.ts`, root));
  }
  rmSync(outDir, { recursive: true });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const name of contractNames) writeFileSync(artefactFile(name), artefactOf(name));
  for (const name of testContractNames) writeFileSync(testArtefactFile(name), artefactOf(name));
  await writeBindings();
}
