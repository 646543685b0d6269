/**
 * Which node is to do a job. What nodes say of themselves is nobody's word but theirs, and their order can be chosen
 * by who registers them: so the client names the account, or has a list of those that it trusts.
 */
import { ConfigurationError } from '#attestation/base';
import { needsTee, type Assurance } from '#attestation/records';
import type { ControlPlaneApi } from '../api/api.js';

export interface NodeWish {
  /** Account, by --provider. */
  readonly provider?: string;
  /** Takes an account that no node of the control plane has. */
  readonly absentProvider?: boolean;
  /** Takes whoever is first of those that say that they can. */
  readonly anyProvider?: boolean;
  readonly assurance: Assurance;
  /** Accounts of the profile, the first choice first. */
  readonly trusted: readonly string[];
  /** Plan of its Groth16 proofs, 0x-hexadecimal. */
  readonly plan: string | null;
}

interface NodeChoice {
  readonly provider: string;
  readonly hasTee: boolean;
}

interface NodeView {
  readonly name: string;
  readonly provider: string;
  readonly online: boolean;
  readonly capabilities: { readonly tee: string; readonly groth16Keys?: readonly string[] };
}

interface NodePage {
  readonly items: readonly NodeView[];
  readonly nextCursor?: string | null;
}

const pagesMax = 100;
const shownMax = 10;
const rule = 'job submit';
const hasTee = ({ capabilities }: NodeView): boolean => capabilities.tee !== 'none';

/** @throws ConfigurationError NODE_UNKNOWN, NODE_UNTRUSTED, NODE_NONE */
export async function chooseNode(wish: NodeWish, api: Pick<ControlPlaneApi, 'get'>): Promise<NodeChoice> {
  const { provider, absentProvider = false, anyProvider = false, assurance, trusted, plan } = wish;
  const nodes = await allNodes(api);
  if (provider !== undefined) return namedNode(provider, absentProvider, assurance, nodes);
  const hasKey = ({ capabilities }: NodeView): boolean =>
    plan === null || (capabilities.groth16Keys ?? []).includes(plan);
  const ready = nodes.filter((node) => node.online && hasTee(node) === needsTee(assurance) && hasKey(node));
  const accounts = trusted.map((account) => account.toLowerCase());
  const found =
    accounts.flatMap((account) => ready.filter((node) => node.provider.toLowerCase() === account))[0] ??
    (anyProvider ? ready[0] : undefined);
  if (found !== undefined) return { provider: found.provider, hasTee: hasTee(found) };
  const wanted = `takes jobs with assurance ${assurance}${plan === null ? '' : ` under plan ${plan}`}`;
  if (ready.length > 0) {
    throw new ConfigurationError('NODE_UNTRUSTED', {
      expected: `a node that is online, ${wanted}, and is of an account that you trust`,
      got: `${accounts.length} such accounts in the profile, and of others: ${shown(ready)}`,
      rule,
      action: 'name an account with --provider or in `providers` of the profile; --any-provider takes the first',
    });
  }
  throw new ConfigurationError('NODE_NONE', {
    expected: `a node that is online and ${wanted}`,
    got: `${nodes.length} nodes, none of these`,
    rule,
    action: 'start a host agent, or name an account with --provider',
  });
}

function namedNode(
  provider: string,
  mayBeAbsent: boolean,
  assurance: Assurance,
  nodes: readonly NodeView[],
): NodeChoice {
  const named = nodes.filter((node) => node.provider.toLowerCase() === provider.toLowerCase());
  if (named.length > 0) return { provider, hasTee: named.some(hasTee) };
  if (mayBeAbsent) return { provider, hasTee: needsTee(assurance) };
  throw new ConfigurationError('NODE_UNKNOWN', {
    expected: 'an account that a node of the control plane has',
    got: `${provider}; nodes there: ${shown(nodes) || 'none'}`,
    rule,
    action:
      'check the address, or say --absent-provider: the money waits in escrow until such a node comes or it lapses',
  });
}

/** Names are what nodes say: without characters that a terminal does not show as they are. */
function shown(nodes: readonly NodeView[]): string {
  const lines = nodes.slice(0, shownMax).map(({ name, provider }) => {
    return `${provider.slice(0, 64)} (calls itself "${name.replace(/[\p{Cc}\p{Cf}]+/gu, ' ').slice(0, 64)}")`;
  });
  return [...lines, ...(nodes.length > shownMax ? [`and ${nodes.length - shownMax} more`] : [])].join(', ');
}

async function allNodes(api: Pick<ControlPlaneApi, 'get'>): Promise<readonly NodeView[]> {
  const nodes: NodeView[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < pagesMax; page++) {
    const query: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const { items, nextCursor = null }: NodePage = await api.get<NodePage>(`nodes?limit=100${query}`);
    nodes.push(...items);
    if (nextCursor === null) break;
    cursor = nextCursor;
  }
  return nodes;
}
