import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { dispatchTopic, Signals } from '../core/timing/signals.js';
import { WaitingNodes } from './waiting-nodes.js';

const here = new AbortController().signal;
setMaxListeners(0, here);

it('serves as many of a line as there are jobs, in the order of their coming', async () => {
  const signals = new Signals();
  const waitingNodes = new WaitingNodes(signals);
  const jobs = ['a', 'b', 'c'];
  const looks: number[] = [];
  const look = async (askers: readonly number[]) => {
    looks.push(askers.length);
    return askers.map(() => jobs.shift() ?? null);
  };
  const ask = (asker: number, milliseconds = 0) => waitingNodes.wait('kind', asker, milliseconds, here, look);
  expect(await Promise.all([1, 2, 3, 4, 5].map((asker) => ask(asker)))).toEqual(['a', 'b', 'c', null, null]);
  expect(looks).toEqual([5]);
  const waiting = [6, 7].map((asker) => ask(asker, 60_000));
  await ask(8);
  looks.length = 0;
  jobs.push('d', 'e');
  signals.hear(dispatchTopic);
  expect(await Promise.all(waiting)).toEqual(['d', 'e']);
  expect(looks).toEqual([2]);
});

it('looks again while everybody of a look got something', async () => {
  const waitingNodes = new WaitingNodes(new Signals());
  const sizes: number[] = [];
  const look = async (askers: readonly number[]) => (sizes.push(askers.length), askers);
  const asked = Array.from({ length: 150 }, (_, asker) => waitingNodes.wait('kind', asker, 60_000, here, look));
  expect(await Promise.all(asked)).toEqual(Array.from({ length: 150 }, (_, asker) => asker));
  expect(sizes).toEqual([64, 64, 22]);
});

it('lets few lines look at a time, and fails those alone whose look fails', async () => {
  const waitingNodes = new WaitingNodes(new Signals());
  let inside = 0;
  let most = 0;
  const look = async (askers: readonly number[]) => {
    most = Math.max(most, (inside += 1));
    await sleep(5);
    inside -= 1;
    if (askers[0] === 4) throw new Error('no');
    return askers;
  };
  const asked = Array.from({ length: 10 }, (_, n) => waitingNodes.wait(`kind ${n}`, n, 0, here, look));
  const settled = await Promise.allSettled(asked);
  expect(settled.filter(({ status }) => status === 'rejected')).toHaveLength(1);
  expect(settled[9]).toEqual({ status: 'fulfilled', value: 9 });
  expect(most).toBe(3);
});

it('lets go of who hung up and of whose time is over', async () => {
  const waitingNodes = new WaitingNodes(new Signals());
  const caller = new AbortController();
  let looks = 0;
  const look = async (askers: readonly number[]) => ((looks += 1), askers.map(() => null));
  const gone = waitingNodes.wait('kind', 1, 60_000, caller.signal, look);
  const late = waitingNodes.wait('kind', 2, 20, here, look);
  caller.abort();
  expect(await gone).toBeNull();
  expect(await late).toBeNull();
  expect(await waitingNodes.wait('kind', 3, 0, caller.signal, look)).toBeNull();
  expect(looks).toBe(1);
});
