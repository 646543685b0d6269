import { describe, expect, it } from 'vitest';
import { chooseNode, type NodeWish } from './choose-node.js';

const account = (digit: string): string => `0x${digit.repeat(40)}`;
const node = (digit: string, name: string, tee = 'snp', online = true) => ({
  name,
  provider: account(digit),
  online,
  capabilities: { tee },
});
/** In the order of their ids: the first was made to sort first. */
const nodes = [node('e', 'official\u202e node\n'), node('a', 'own'), node('b', 'friend'), node('c', 'prover', 'none')];
const api = {
  get: async <T>(path: string): Promise<T> => {
    const at = Number(/cursor=(\d+)/.exec(path)?.[1] ?? 0);
    return { items: nodes.slice(at, at + 2), nextCursor: at + 2 < nodes.length ? String(at + 2) : null } as T;
  },
};
const wish = (more: Partial<NodeWish> = {}): NodeWish => ({ assurance: 'tee', trusted: [], plan: null, ...more });

describe('the node of a job', () => {
  it('W-M3 is never the first that registered itself', async () => {
    await expect(chooseNode(wish(), api)).rejects.toMatchObject({ code: 'NODE_UNTRUSTED' });
  });

  it('W-M3 refusing lists who is there, by account, names without hidden characters', async () => {
    const error: unknown = await chooseNode(wish(), api).catch((thrown: unknown) => thrown);
    const { got, action } = (error as { detail: { got: string; action: string } }).detail;
    for (const digit of ['e', 'a', 'b']) expect(got).toContain(account(digit));
    expect(got).not.toContain(account('c'));
    expect(got).toContain('calls itself "official  node "');
    expect(got).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(action).toMatch(/--provider.*--any-provider/);
  });

  it('W-M3 is the first of the client’s own list that can, whatever the order of the nodes', async () => {
    const trusted = [account('d'), account('b').toUpperCase().replace('0X', '0x'), account('a')];
    expect(await chooseNode(wish({ trusted }), api)).toEqual({ provider: account('b'), hasTee: true });
    const proved = wish({ assurance: 'zk', trusted: [account('a'), account('c')] });
    expect(await chooseNode(proved, api)).toEqual({ provider: account('c'), hasTee: false });
    await expect(chooseNode(wish({ trusted: [account('c')] }), api)).rejects.toMatchObject({ code: 'NODE_UNTRUSTED' });
  });

  it('W-M3 is anybody’s where the client says so, and one of the list before', async () => {
    const anyProvider = true;
    expect(await chooseNode(wish({ anyProvider }), api)).toMatchObject({ provider: account('e') });
    expect(await chooseNode(wish({ anyProvider, trusted: [account('a')] }), api)).toMatchObject({
      provider: account('a'),
    });
  });

  it('is none where none can', async () => {
    const plan = `0x${'00'.repeat(32)}`;
    await expect(chooseNode(wish({ assurance: 'zk', plan }), api)).rejects.toMatchObject({ code: 'NODE_NONE' });
  });

  it('W-L10 of an account that no node has is refused, unless the client says that it may be absent', async () => {
    const provider = account('f');
    const refused = chooseNode(wish({ provider }), api);
    await expect(refused).rejects.toMatchObject({ code: 'NODE_UNKNOWN' });
    await expect(refused).rejects.toThrow(account('e'));
    const absent = chooseNode(wish({ provider, absentProvider: true }), api);
    expect(await absent).toEqual({ provider, hasTee: true });
    expect(await chooseNode(wish({ provider: account('C') }), api)).toEqual({ provider: account('C'), hasTee: false });
  });
});
