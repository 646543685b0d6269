/**
 * Whether a deployment is what its reader expects. Every address is computed again from creation code, constructor
 * arguments and salt: what stands at such an address was made by that code, so its storage cannot have been planted. What
 * the roles have done since is read from the logs of Roles and router. contracts/SPEC.md §4.
 */
import { keccak256, type JsonRpcApiProvider, type Provider } from 'ethers';
import { ConfigurationError } from '#attestation/base';
import { chainSettings } from './chain-kinds.js';
import { chainIdOf } from './chain.js';
import { errorAbi, randaoAt, rolesAbi, routerAbi } from './contracts.js';
import { factory, factoryCode, hasCode } from './create2.js';
import { contractNames, extensionNames, roleNames } from './deployment.js';
import type { Deployment, Expectation, RoleName } from './deployment.js';
import { extensionSelectors } from './extensions.js';
import { chainFailure } from './failure.js';
import { nativeCoin, placesOf, selectorsOf, type Places } from './graph.js';
import { logsOf } from './logs.js';
import { checkRandao } from './randao.js';

interface DeploymentFinding {
  readonly what: string;
  readonly expected: string;
  readonly got: string;
}

/**
 * @param expectation what the reader expects; absent: what the deployment file says of itself
 * @returns everything that was compared; a finding whose `got` is not what was expected stands against the deployment
 * @throws CollateralError CHAIN_UNREACHABLE
 */
export async function verifyDeployment(
  deployment: Deployment,
  provider: JsonRpcApiProvider,
  expectation: Expectation = deployment.setup,
): Promise<DeploymentFinding[]> {
  try {
    const places = placesOf(expectation);
    const chainId = String(await chainIdOf(provider));
    return [
      { what: 'chain', expected: String(expectation.chainId), got: chainId },
      { what: 'chain, file', expected: String(deployment.chainId), got: chainId },
      { what: 'factory, code', expected: keccak256(factoryCode), got: keccak256(await provider.getCode(factory)) },
      ...(await contracts(deployment, places, provider)),
      ...(await governance(deployment, places, provider, expectation)),
      ...(await routing(deployment, places, provider, expectation)),
      ...(await sampling(places, provider, expectation)),
    ];
  } catch (error) {
    throw chainFailure(error, 'verify', errorAbi);
  }
}

async function contracts(deployment: Deployment, places: Places, provider: Provider): Promise<DeploymentFinding[]> {
  const findings: DeploymentFinding[] = [];
  const compare = async (name: string, expected: string, filed: string, fileHash: string): Promise<void> => {
    findings.push({ what: `${name}, address`, expected, got: filed });
    const code = await provider.getCode(expected);
    findings.push({ what: `${name}, code`, expected: 'made', got: code === '0x' ? 'none' : 'made' });
    findings.push({ what: `${name}, file`, expected: fileHash, got: keccak256(code) });
  };
  for (const name of contractNames) {
    await compare(name, places[name].address, deployment[name], deployment.codeHashes[name]);
  }
  for (const name of extensionNames) {
    const [place, filed] = [places[name], deployment.extensions?.[name]];
    if (place === undefined && filed === undefined) continue;
    await compare(name, place?.address ?? nativeCoin, filed?.address ?? nativeCoin, filed?.codeHash ?? '');
  }
  return findings;
}

interface Standing {
  readonly roles: Map<string, string>;
  readonly proposed: Map<string, string>;
  readonly tokens: Set<string>;
  paused: boolean;
}

/** What the events of Roles add up to, from its constructor's on. */
async function rolesByLogs(roles: string, fromBlock: number, provider: Provider): Promise<Standing> {
  const standing: Standing = { roles: new Map(), proposed: new Map(), tokens: new Set(), paused: false };
  for (const log of await logsOf(provider, { address: roles }, fromBlock, await provider.getBlockNumber())) {
    const event = rolesAbi.parseLog(log);
    const text = (name: string): string => String(event?.args[name]).toLowerCase();
    const role = (): string => roleNames[Number(text('role'))] ?? text('role');
    switch (event?.name ?? '') {
      case 'RoleProposed':
        if (text('to') === nativeCoin) standing.proposed.delete(role());
        else standing.proposed.set(role(), text('to'));
        break;
      case 'RoleTaken':
        standing.proposed.delete(role());
        standing.roles.set(role(), text('to'));
        break;
      case 'TokenAllowed':
        standing.tokens.add(text('token'));
        break;
      case 'TokenDisallowed':
        standing.tokens.delete(text('token'));
        break;
      case 'PauseSet':
        standing.paused = event!.args['paused'] === true;
    }
  }
  return standing;
}

const listed = (addresses: Iterable<string>): string =>
  [...addresses]
    .map((one) => one.toLowerCase())
    .sort()
    .join(', ');

async function governance(
  { fromBlock }: Deployment,
  places: Places,
  provider: Provider,
  expectation: Expectation,
): Promise<DeploymentFinding[]> {
  const standing = await rolesByLogs(places.roles.address, fromBlock, provider);
  const { since } = expectation;
  const roles = roleNames.flatMap((name) => [
    { what: `roles, ${name}`, expected: expectedHolder(expectation, name), got: standing.roles.get(name) ?? 'nobody' },
    { what: `roles, ${name} to be`, expected: 'nobody', got: standing.proposed.get(name) ?? 'nobody' },
  ]);
  const governor = standing.roles.get('governor');
  const isContract = governor !== undefined && (await hasCode(provider, governor));
  return [
    ...roles,
    ...(expectation.governorMayBeAccount === true
      ? []
      : [{ what: 'governor, code', expected: 'a contract', got: isContract ? 'a contract' : 'an account' }]),
    {
      what: 'tokens',
      expected: listed([nativeCoin, ...(since?.tokens ?? expectation.tokens)]),
      got: listed(standing.tokens),
    },
    { what: 'paused', expected: String(since?.paused ?? false), got: String(standing.paused) },
  ];
}

function expectedHolder(expectation: Expectation, name: RoleName): string {
  const since = expectation.since as Partial<Record<RoleName, string>> | undefined;
  return (since?.[name] ?? expectation[name]).toLowerCase();
}

async function routing(
  { fromBlock }: Deployment,
  places: Places,
  provider: Provider,
  { since }: Expectation,
): Promise<DeploymentFinding[]> {
  const entered = new Map<string, string>();
  const retired = new Set<string>();
  const filter = { address: places.router.address };
  for (const log of await logsOf(provider, filter, fromBlock, await provider.getBlockNumber())) {
    const event = routerAbi.parseLog(log);
    const selector = String(event?.args['selector']);
    if (event?.name === 'SelectorAdded') entered.set(selector, String(event.args['verifier']).toLowerCase());
    if (event?.name === 'SelectorTombstoned') retired.add(selector);
  }
  const at = Object.fromEntries(extensionNames.map((name) => [name, places[name]?.address]));
  const addresses = Object.fromEntries(contractNames.map((name) => [name, places[name].address]));
  const expected = new Map<string, string>(
    Object.entries({
      ...selectorsOf(addresses as Parameters<typeof selectorsOf>[0]),
      ...(await extensionSelectors(at, provider)),
      ...(since?.selectors as Record<string, string> | undefined),
    }),
  );
  const all = [...new Set([...expected.keys(), ...entered.keys()])];
  return [
    ...all.map((selector) => ({
      what: `router, ${selector}`,
      expected: (expected.get(selector) ?? 'nothing').toLowerCase(),
      got: entered.get(selector) ?? 'nothing',
    })),
    { what: 'router, retired', expected: listed(since?.tombstoned ?? []), got: listed(retired) },
  ];
}

/** What `deploy` demands before it tests BlockRandao, which takes any header: also on a chain where every mix is the same. */
async function sampling(
  places: Places,
  provider: JsonRpcApiProvider,
  { kind }: Expectation,
): Promise<DeploymentFinding[]> {
  if (chainSettings[kind].sample === null || !(await hasCode(provider, places.randao.address))) return [];
  const got: unknown = await randaoAt(places.randao.address, provider).getFunction('isTested')();
  return [{ what: 'randao, tested', expected: 'true', got: String(got) }, await mixes(provider)];
}

async function mixes(provider: JsonRpcApiProvider): Promise<DeploymentFinding> {
  const [what, expected] = ['randao, mixes', 'different, none zero'];
  try {
    await checkRandao(provider);
    return { what, expected, got: expected };
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return { what, expected, got: error.detail.got };
  }
}
