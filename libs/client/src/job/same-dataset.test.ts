import { expect, it } from 'vitest';
import type { ControlPlaneApi } from '../api.js';
import { openJobsOf } from './same-dataset.js';

it('finds jobs on the same data set that have not ended', async () => {
  const job = (id: string, datasetId: string, state: string) => ({ id, datasetId, state, escrowState: 'none' });
  const items = [job('a', '0x1', 'submitted'), job('b', '0x2', 'running'), job('c', '0x1', 'cancelled')];
  const paths: string[] = [];
  const api = { get: async (path: string) => (paths.push(path), { items }) } as unknown as ControlPlaneApi;
  expect((await openJobsOf('0x1', api)).map(({ id }) => id)).toEqual(['a']);
  expect(paths).toEqual(['jobs?limit=100']);
});
