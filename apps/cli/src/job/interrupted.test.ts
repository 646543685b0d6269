import { afterEach, expect, it, vi } from 'vitest';
import { following } from './interrupted.js';

afterEach(() => vi.restoreAllMocks());

it('says on Ctrl-C that the job goes on, and ends as by the signal', async () => {
  const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const killed = vi.spyOn(process, 'kill').mockReturnValue(true);
  const before = process.listenerCount('SIGINT');
  await following('the same command shows it again', async () => process.emit('SIGINT', 'SIGINT'));
  expect(said).toHaveBeenCalledWith('ended by SIGINT: the job goes on; the same command shows it again\n');
  expect(killed.mock.calls).toEqual([[process.pid, 'SIGINT']]);
  expect(process.listenerCount('SIGINT')).toBe(before);
});

it('leaves signals alone when the waiting is over', async () => {
  const before = process.listenerCount('SIGTERM');
  expect(await following('', async () => 7)).toBe(7);
  await expect(following('', () => Promise.reject(new Error('away')))).rejects.toThrow('away');
  expect(process.listenerCount('SIGTERM')).toBe(before);
});
