/** `veritrain contracts deploy|status|verify`: the contracts that hold the money, and whether they are these. */
import { InvalidArgumentError, type Command } from 'commander';
import { formatEther, Wallet, type JsonRpcProvider } from 'ethers';
import { ConfigurationError, toHex } from '#attestation';
import {
  connect,
  deploy,
  deploymentStatus,
  parseDeployment,
  registerGroth16Key,
  verifyDeployment,
  type Deployment,
  type ExtensionOptions,
} from '#libs/settlement';
import {
  parseGroth16Bundle,
  parseGroth16Statement,
  proofBundleBytesMax,
  proofStatementBytesMax,
  verifyGroth16Bundle,
} from '#libs/proof';
import { circuitShape } from '#libs/zk/verifier';
import { readBytes, readJson, writeWhole } from '../files.js';
import { log, printResult, table, type OutputOptions } from '../output.js';
import { loadProfile } from '../profile.js';
import { readSecret } from '../secrets.js';

interface DeployCommand extends OutputOptions {
  readonly rpc: string;
  readonly chainId: number;
  readonly key: string;
  readonly attestor: readonly string[];
  readonly threshold: number;
  readonly out: string;
  readonly governor?: string;
  readonly guardian?: string;
  readonly treasury?: string;
  readonly token: readonly string[];
  readonly developmentKeys?: boolean;
  readonly proofFacts?: boolean;
  readonly auditorsPolicy?: string;
  readonly auditorsTier: number;
  readonly auditorsThreshold: number;
  readonly validationRegistry?: string;
}

interface RegisterKeyCommand extends OutputOptions {
  readonly profile?: string;
  readonly proof: string;
  readonly statement: string;
}

interface ReadCommand extends OutputOptions {
  readonly profile?: string;
  readonly rpc?: string;
  readonly deployment?: string;
}

export function addContractsCommands(program: Command): void {
  const contracts = program.command('contracts').description('deploy the escrow and its verifiers, and check them');
  contracts
    .command('deploy')
    .description('put a whole set of contracts on a chain and write down where they are')
    .requiredOption('--rpc <url>', 'JSON-RPC endpoint')
    .requiredOption('--chain-id <n>', 'chain that the endpoint must be of', whole)
    .requiredOption('--key <file>', 'secp256k1 secret of the deploying account: 32 bytes as 0x-hexadecimal')
    .requiredOption('--attestor <address>', 'may sign appraisals; give it once for each', list, [])
    .requiredOption('--threshold <n>', 'signatures that register an enclave key', whole)
    .requiredOption('--out <file>', 'where the deployment file goes')
    .option('--governor <address>', 'adds verifiers, tokens and attestors; else the deploying account')
    .option('--guardian <address>', 'may refuse new jobs and retire verifiers; else the deploying account')
    .option('--treasury <address>', 'receives fees; else the deploying account')
    .option('--token <address>', 'an ERC-20 token beside the native coin; give it once for each', list, [])
    .option('--development-keys', 'let the Groth16 verifier take keys whose maker can forge proofs: for tests alone')
    .option('--proof-facts', 'also a contract that takes step proofs in pieces, for those that fit no transaction')
    .option(
      '--auditors-policy <digest>',
      'also a verifier of segments that enclaves under this policy trained again',
      digest,
    )
    .option('--auditors-tier <n>', 'least tier of those enclaves', whole, 1)
    .option('--auditors-threshold <n>', 'how many hosts must agree', whole, 2)
    .option(
      '--validation-registry <address>',
      'also an adapter that tells this ERC-8004 registry how jobs ended',
      address,
    )
    .option('--json', 'print one JSON document')
    .action(deployAll);
  contracts
    .command('register-key')
    .description('enter the Groth16 key of a proof, so that escrows may be settled by proofs under it')
    .requiredOption('--proof <file>', 'proofs as the prover wrote them: they carry the key')
    .requiredOption('--statement <file>', 'their statement')
    .option('--profile <file>', 'client profile; else VERITRAIN_PROFILE or the one of `veritrain up`')
    .option('--json', 'print one JSON document')
    .action(registerKey);
  const reading = (name: string, description: string): Command =>
    contracts
      .command(name)
      .description(description)
      .option('--profile <file>', 'client profile; else VERITRAIN_PROFILE or the one of `veritrain up`')
      .option('--rpc <url>', 'JSON-RPC endpoint instead of the profile’s')
      .option('--deployment <file>', 'deployment file instead of the profile’s')
      .option('--json', 'print one JSON document');
  reading('status', 'show who governs the contracts, which verifiers are live, and what they hold').action(status);
  reading('verify', 'compare the code on chain and its wiring with what this version would deploy').action(verify);
}

async function deployAll(options: DeployCommand): Promise<void> {
  if (options.attestor.length < options.threshold || options.threshold < 1) {
    throw new ConfigurationError('CONTRACTS_QUORUM', {
      expected: `at least as many --attestor as the threshold of ${options.threshold}, which is at least 1`,
      got: String(options.attestor.length),
      rule: 'settlement §10',
    });
  }
  const { attestor: attestors, token: tokens, threshold, governor, guardian, treasury } = options;
  const secret = readSecret(options.key);
  await withChain(options.rpc, options.chainId, async (rpc) => {
    const deployer = new Wallet(`0x${toHex(secret)}`, rpc);
    log('deploying; this sends about 20 transactions');
    const deployment = await deploy(deployer, {
      ...{ attestors, threshold, tokens, developmentKeys: options.developmentKeys === true },
      extensions: extensionsOf(options),
      ...(governor !== undefined && { governor }),
      ...(guardian !== undefined && { guardian }),
      ...(treasury !== undefined && { treasury }),
    });
    writeWhole(options.out, `${JSON.stringify(deployment, undefined, 2)}\n`);
    printResult(options, deployment, () =>
      table([
        ['settlement', deployment.settlement],
        ['registry', deployment.registry],
        ['router', deployment.router],
        ['written', options.out],
        ['next', `veritrain contracts verify --rpc ${options.rpc} --deployment ${options.out}`],
      ]),
    );
  });
}

function extensionsOf(options: DeployCommand): ExtensionOptions {
  const { proofFacts = false, auditorsPolicy: policy, auditorsTier: minTier, validationRegistry } = options;
  const threshold = options.auditorsThreshold;
  return {
    proofFacts,
    ...(policy !== undefined && { quorumReexecution: { policy, minTier, threshold } }),
    ...(validationRegistry !== undefined && { validationRegistry }),
  };
}

async function registerKey(options: RegisterKeyCommand): Promise<void> {
  const bundle = readBytes(options.proof, proofBundleBytesMax);
  const statement = parseGroth16Statement(readJson(options.statement, proofStatementBytesMax));
  verifyGroth16Bundle(bundle, statement, { takesDevelopmentKeys: true });
  const { chain } = loadProfile(options.profile);
  const { key } = parseGroth16Bundle(bundle);
  await withChain(chain.rpcUrl, chain.deployment.chainId, async (rpc) => {
    const signer = new Wallet(`0x${toHex(readSecret(chain.accountKey))}`, rpc);
    const shape = circuitShape(statement.manifest);
    const { plan, txHash } = await registerGroth16Key(signer, chain.deployment, shape, statement.ceremony, key);
    printResult(options, { plan, transaction: txHash }, () =>
      table([
        ['plan', plan],
        ['registered', txHash ?? 'before'],
      ]),
    );
  });
}

async function status(options: ReadCommand): Promise<void> {
  const { rpcUrl, deployment } = target(options);
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
        ['attestors', `${found.threshold} of ${found.attestors} register an enclave key`],
        ...Object.entries(deployment.extensions ?? {}).map(([name, { address: at }]) => [name, at] as const),
        ...found.verifiers.map(
          ({ selector, address, live }) => [`verifier ${selector}`, `${address}${live ? '' : ', not live'}`] as const,
        ),
      ]),
    );
  });
}

async function verify(options: ReadCommand): Promise<void> {
  const { rpcUrl, deployment } = target(options);
  await withChain(rpcUrl, deployment.chainId, async (rpc) => {
    const findings = await verifyDeployment(deployment, rpc);
    const against = findings.filter(({ expected, got }) => expected.toLowerCase() !== got.toLowerCase());
    if (against.length > 0) process.exitCode = 1;
    printResult(options, { verified: against.length === 0, checks: findings.length, against }, () =>
      against.length === 0
        ? `${findings.length} checks: code and wiring are those of this version`
        : table(against.map(({ what, expected, got }) => [what, `expected ${expected}, got ${got}`])),
    );
  });
}

function target(options: ReadCommand): { rpcUrl: string; deployment: Deployment } {
  if (options.rpc !== undefined && options.deployment !== undefined) {
    return { rpcUrl: options.rpc, deployment: parseDeployment(readJson(options.deployment)) };
  }
  const { chain } = loadProfile(options.profile);
  const deployment =
    options.deployment === undefined ? chain.deployment : parseDeployment(readJson(options.deployment));
  return { rpcUrl: options.rpc ?? chain.rpcUrl, deployment };
}

const pollingMs = 500;

async function withChain(url: string, chainId: number, work: (rpc: JsonRpcProvider) => Promise<void>): Promise<void> {
  const rpc = connect(url, chainId, pollingMs);
  try {
    await work(rpc);
  } finally {
    rpc.destroy();
  }
}

function list(value: string, all: readonly string[]): string[] {
  return [...all, address(value)];
}

function address(value: string): string {
  if (!/^0x[0-9a-fA-F]{40}$/.test(value)) throw new InvalidArgumentError('an address: 0x and 40 hexadecimal digits');
  return value;
}

function digest(value: string): string {
  if (!/^0x[0-9a-f]{64}$/.test(value)) throw new InvalidArgumentError('a digest: 0x and 64 hexadecimal digits');
  return value;
}

function whole(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) throw new InvalidArgumentError('a whole number of at least 1');
  return value;
}
