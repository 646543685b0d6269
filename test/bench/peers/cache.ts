/** Where circuits, keys and packages of the peers are kept between runs: the user's cache, so that every checkout shares them. */
import { homedir } from 'node:os';
import { join } from 'node:path';

export function peerCache(name: string): string {
  const base = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  return join(base, 'veritrain', 'peers', name);
}
