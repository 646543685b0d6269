/** A set of contracts: made, planned, looked at and verified. */
import { formatEther, Wallet } from 'ethers';
import { ConfigurationError, to0x } from '#attestation/base';
import { loadProfile } from '#libs/client/api';
import { readBytes, readJson, readSecret, writeWhole } from '#libs/client/files';
import {
  parseGroth16Bundle,
  parseGroth16Statement,
  proofBundleBytesMax,
  proofStatementBytesMax,
  verifyGroth16Bundle,
} from '#libs/proof';
import {
  deploy,
  deploymentStatus,
  parseExpectation,
  placesOf,
  registerGroth16Key,
  roleNames,
  setupOf,
  simulatedIssuer,
  verifyDeployment,
  type DeployOptions,
  type Setup,
} from '#libs/settlement';
import { parseSimulatedVendor } from '#libs/simulated-vendor';
import { circuitShape } from '#libs/zk/verifier';
import { log, printResult, table, type OutputOptions } from '../output.js';
import type { TargetOptions } from '../commands/contracts-target.js';
import { targetOf, withChain } from './chain.js';

interface SetupCommand extends OutputOptions {
  readonly chainId: number;
  readonly chainKind?: Setup['kind'];
  readonly salt?: `0x${string}`;
  readonly governor?: string;
  readonly guardian?: string;
  readonly treasury?: string;
  readonly revoker?: string;
  readonly token: string[];
  readonly developmentKeys?: boolean;
  readonly simulatedVendor: string[];
  readonly proofFacts?: boolean;
  readonly auditorsPolicy?: string;
  readonly auditorsThreshold: number;
  readonly validationRegistry?: string;
  readonly out: string;
}

interface DeployCommand extends SetupCommand {
  readonly feePerGasMax?: bigint;
  readonly rpc: string;
  readonly key: string;
}

interface VerifyCommand extends TargetOptions {
  readonly expect?: string;
  readonly ownSetup?: boolean;
}

interface RegisterKeyCommand extends OutputOptions {
  readonly profile?: string;
  readonly proof: string;
  readonly statement: string;
}

const vendorBytesMax = 64 * 1024;

export async function deployAll(options: DeployCommand): Promise<void> {
  const secret = readSecret(options.key);
  await withChain(options.rpc, options.chainId, async (rpc) => {
    const deployer = new Wallet(to0x(secret), rpc);
    log('deploying; this sends about 20 transactions, and goes on where an earlier attempt broke off');
    const deployment = await deploy(deployer, { ...setupOptions(options), feePerGasMaxWei: options.feePerGasMax });
    writeWhole(options.out, `${JSON.stringify(deployment, undefined, 2)}\n`);
    printResult(options, deployment, () =>
      table([
        ['settlement', deployment.settlement],
        ['keys', deployment.keys],
        ['snp registry', deployment.snpRegistry],
        ['router', deployment.router],
        ['written', options.out],
        ['next', `veritrain contracts verify --rpc ${options.rpc} --deployment ${options.out} --expect EXPECTATION`],
      ]),
    );
  });
}

export function plan(options: SetupCommand): void {
  const missing = roleNames.find((name) => options[name] === undefined);
  if (missing !== undefined) {
    throw new ConfigurationError('CONTRACTS_ROLE', {
      expected: `--${missing} <address>: without a deploying account every role has to be named`,
      got: 'nothing',
      rule: 'contracts/SPEC.md §4',
    });
  }
  const setup = setupOf(options.chainId, options.governor!, setupOptions(options));
  const places = placesOf(setup);
  const addresses = Object.fromEntries(Object.entries(places).map(([name, { address }]) => [name, address]));
  writeWhole(options.out, `${JSON.stringify(setup, undefined, 2)}\n`);
  printResult(options, { setup, addresses }, () => table([...Object.entries(addresses), ['written', options.out]]));
}

function setupOptions(options: SetupCommand): DeployOptions {
  const {
    proofFacts,
    auditorsPolicy: snpPolicy,
    auditorsThreshold: threshold,
    validationRegistry,
    chainKind,
  } = options;
  const named = Object.fromEntries(
    [...roleNames, 'salt' as const].filter((name) => options[name] !== undefined).map((name) => [name, options[name]]),
  );
  return {
    ...named,
    ...(chainKind !== undefined && { kind: chainKind }),
    ...{ tokens: options.token, developmentKeys: options.developmentKeys === true },
    simulatedIssuers: options.simulatedVendor.map(readIssuer),
    extensions: {
      ...(proofFacts === true && { proofFacts }),
      ...(snpPolicy !== undefined && { quorumReexecution: { snpPolicy, threshold } }),
      ...(validationRegistry !== undefined && { validationRegistry }),
    },
  };
}

export async function registerKey(options: RegisterKeyCommand): Promise<void> {
  const bundle = readBytes(options.proof, proofBundleBytesMax);
  const statement = parseGroth16Statement(readJson(options.statement, proofStatementBytesMax));
  verifyGroth16Bundle(bundle, statement, { takesDevelopmentKeys: true });
  const { chain } = loadProfile(options.profile);
  const { key } = parseGroth16Bundle(bundle);
  await withChain(chain.rpcUrl, chain.deployment.chainId, async (rpc) => {
    const signer = new Wallet(to0x(readSecret(chain.accountKey)), rpc);
    const shape = circuitShape(statement.manifest);
    const { deployment, feePerGasMaxWei } = chain;
    const entered = { shape, ceremony: statement.ceremony, key };
    const { plan, txHash } = await registerGroth16Key(signer, deployment, entered, { feePerGasMaxWei });
    printResult(options, { plan, transaction: txHash }, () =>
      table([
        ['plan', plan],
        ['registered', txHash ?? 'before'],
      ]),
    );
  });
}

export async function status(options: TargetOptions): Promise<void> {
  const { rpcUrl, deployment } = targetOf(options);
  await withChain(rpcUrl, deployment.chainId, async (rpc) => {
    const found = await deploymentStatus(deployment, rpc);
    printResult(options, { ...found, heldWei: String(found.heldWei) }, () =>
      table([
        ['chain', `${deployment.chainId}, block ${found.block}`],
        ['settlement', `${deployment.settlement}${found.paused ? ', refuses new jobs' : ''}`],
        ['holds', `${formatEther(found.heldWei)} of the native coin`],
        ['governor', found.governor],
        ['guardian', found.guardian],
        ['treasury', found.treasury],
        ['revoker', found.revoker],
        ...found.proposed.map(
          ({ role, to, from }) => [`${role} to be`, `${to}, from ${new Date(1000 * from).toISOString()}`] as const,
        ),
        ...Object.entries(deployment.extensions ?? {}).map(([name, { address: at }]) => [name, at] as const),
        ...found.verifiers.map(
          ({ selector, address, live }) => [`verifier ${selector}`, `${address}${live ? '' : ', not live'}`] as const,
        ),
      ]),
    );
  });
}

export async function verify(options: VerifyCommand): Promise<void> {
  const { rpcUrl, deployment } = targetOf(options);
  if (options.expect === undefined && options.ownSetup !== true) {
    throw new ConfigurationError('CONTRACTS_EXPECT', {
      expected: '--expect FILE with roles, tokens and salt that you expect, or --own-setup',
      got: 'neither',
      rule: 'contracts/SPEC.md §4',
      action: 'write the file with `veritrain contracts plan`, or have it from whoever runs the chain’s contracts',
    });
  }
  const expectation = options.expect === undefined ? deployment.setup : parseExpectation(readJson(options.expect));
  await withChain(rpcUrl, deployment.chainId, async (rpc) => {
    const findings = await verifyDeployment(deployment, rpc, expectation);
    const against = findings.filter(({ expected, got }) => expected.toLowerCase() !== got.toLowerCase());
    if (against.length > 0) process.exitCode = 1;
    const source = options.expect ?? 'own setup';
    const result = { verified: against.length === 0, expected: source, checks: findings.length, against };
    printResult(options, result, () =>
      against.length === 0
        ? `${findings.length} checks: this version’s contracts, made and governed as ${source} says`
        : table(against.map(({ what, expected, got }) => [what, `expected ${expected}, got ${got}`])),
    );
  });
}

/** @throws ConfigurationError FILE_UNREADABLE, FILE_TOO_LARGE, SIMULATED_VENDOR_FILE */
function readIssuer(file: string): Setup['simulatedIssuers'][number] {
  const { ask, product } = parseSimulatedVendor(Buffer.from(readBytes(file, vendorBytesMax)).toString('utf8'));
  return simulatedIssuer(ask, product);
}
