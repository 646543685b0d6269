import { expect, it } from 'vitest';
import { Rejection } from '#attestation/base';
import type { ControlPlaneApi } from '../api/api.js';
import { openJobsOf } from './same-dataset.js';

it('finds jobs on the same data set that have not ended', async () => {
  const job = (id: string, datasetId: string, state: string) => ({ id, datasetId, state, escrowState: 'none' });
  const items = [job('a', '0x1', 'submitted'), job('b', '0x2', 'running'), job('c', '0x1', 'cancelled')];
  const paths: string[] = [];
  const api = { get: async (path: string) => (paths.push(path), { items }) } as unknown as ControlPlaneApi;
  expect((await openJobsOf('0x1', api)).jobs.map(({ id }) => id)).toEqual(['a']);
  expect(paths).toEqual(['jobs?limit=100']);
});

it('is no reason not to order where it fails, and says so', async () => {
  const refused = new Rejection('SCOPE_FORBIDDEN', { expected: 'scope read', got: 'write', rule: 'scopes' });
  const api = { get: () => Promise.reject(refused) } as unknown as ControlPlaneApi;
  const { jobs, advice } = await openJobsOf('0x1', api);
  expect([jobs, advice]).toEqual([[], [expect.stringContaining('SCOPE_FORBIDDEN')]]);
});
