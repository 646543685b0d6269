import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { CollateralError } from '#attestation/base';
import type { LeaseGrant } from '#libs/wire';
import { collectAll } from './collector.js';
import { createHeldLeases, keepBeating } from './held-leases.js';
import { untilEnded } from './run-node.js';

const leaseId = '00000000-0000-4000-8000-000000000001';
const grant = { leaseId, fence: 7, job: { jobId: '0x01' } } as LeaseGrant;
const node = { nodeId: 'node-1', heartbeatSeconds: 0.01 };
const offer = { name: 'n', protocol: 4, provider: '0x', capabilities: {} } as never;
const away = new CollateralError('CONTROL_PLANE_UNREACHABLE', { expected: 'a', got: 'b', rule: 'test' });

function watched() {
  const seen: string[] = [];
  const say =
    (name: string) =>
    (...what: unknown[]): void =>
      void seen.push(`${name} ${what.map((one) => JSON.stringify(one)).join(' ')}`);
  const watch = { leases: say('leases'), depends: say('depends'), failure: say('failure'), event: say('event') };
  return { seen, watch: { ...watch, escrows: () => undefined } };
}

describe('a held lease', () => {
  it('is in heartbeats while its work goes on, and is cancelled when an answer names it', async () => {
    const { seen, watch } = watched();
    const held = createHeldLeases(watch);
    const stop = new AbortController();
    const beats: object[] = [];
    const send = async (_name: unknown, message: object): Promise<unknown> => {
      beats.push(message);
      return { cancel: beats.length > 1 ? [leaseId, leaseId.replace('1', '2')] : [], lost: [] };
    };
    const beating = keepBeating(node, offer, held, { controlPlane: { send }, watch }, stop.signal);
    await new Promise<void>((resolve) => {
      void held.hold(grant, resolve, () => sleep(1000));
      expect([held.size, held.ids(), held.hasJob('0x01'), held.hasJob('0x02')]).toEqual([1, [leaseId], true, false]);
    });
    const cancelled: string[] = [];
    void held.hold({ ...grant, leaseId: 'a' }, () => cancelled.push('a'), () => sleep(1)); // prettier-ignore
    held.cancelJob('0x02');
    expect(cancelled).toEqual([]);
    held.cancelJob('0x01');
    expect(cancelled).toEqual(['a']);
    stop.abort();
    await beating;
    expect(beats[0]).toMatchObject({ nodeId: 'node-1', leases: [{ leaseId, fence: 7 }] });
    expect(seen).toContain('depends "controlPlane" true');
  });

  it('is let go when its work fails', async () => {
    const { seen, watch } = watched();
    const held = createHeldLeases(watch);
    await expect(
      held.hold(
        grant,
        () => undefined,
        () => Promise.reject(new Error('no')),
      ),
    ).rejects.toThrow('no');
    expect(held.size).toBe(0);
    expect(seen).toEqual(['leases 1', 'leases 0']);
  });

  it('outlives heartbeats that nobody answers', async () => {
    const { seen, watch } = watched();
    const stop = new AbortController();
    let beats = 0;
    const send = (): Promise<unknown> => {
      if (++beats === 3) stop.abort();
      return Promise.reject(away);
    };
    await keepBeating(node, offer, createHeldLeases(watch), { controlPlane: { send }, watch }, stop.signal);
    expect(beats).toBe(3);
    expect(seen.filter((line) => line === 'depends "controlPlane" false')).toHaveLength(3);
  });
});

describe('the collection', () => {
  it('takes every escrow to its end, and lets none that fails keep another waiting', async () => {
    const { seen, watch } = watched();
    const left = new Map([
      ['a', ['commit', 'end']],
      ['b', []],
      ['c', ['end']],
    ]);
    const stop = new AbortController();
    const collect = async (jobId: string): Promise<string> => {
      const step = left.get(jobId)!.shift();
      if (step === undefined) throw away;
      if (step === 'end') left.delete(jobId);
      if (left.size === 1) stop.abort();
      return step;
    };
    await collectAll({ jobs: () => [...left.keys()], isInHand: () => false, collect, watch }, stop.signal);
    expect([...left.keys()]).toEqual(['b']);
    expect(seen.filter((line) => line.startsWith('event')).map((line) => line.slice(20))).toEqual([
      '{"job":"a","step":"commit"}',
      '{"job":"c","step":"end"}',
      '{"job":"a","step":"end"}',
    ]);
  });

  it('leaves a job to the lease that works on it', async () => {
    const { watch } = watched();
    const stop = new AbortController();
    const collected: string[] = [];
    const collect = async (jobId: string): Promise<string> => {
      collected.push(jobId);
      stop.abort();
      return 'wait';
    };
    await collectAll({ jobs: () => ['a', 'b'], isInHand: (id) => id === 'a', collect, watch }, stop.signal);
    expect(collected).toEqual(['b']);
  });
});

it('a loop that fails ends the others, and the node with them', async () => {
  const stopping = new AbortController();
  const other = new Promise<void>((resolve) => stopping.signal.addEventListener('abort', () => resolve()));
  let isClosed = false;
  const failed = Promise.reject(new Error('no folder'));
  await expect(untilEnded([failed, other], stopping, () => (isClosed = true))).rejects.toThrow('no folder');
  expect(isClosed).toBe(true);
});
