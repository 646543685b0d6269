/** When a node counts as gone. */
import type { Config } from '../config/config.js';
import type { Clock } from './clock.js';

const heartbeatsMissed = 3;

/** Nodes not heard of since then are taken as gone. */
export function onlineSince(clock: Clock, { heartbeatSeconds }: Pick<Config, 'heartbeatSeconds'>): Date {
  return new Date(clock.now().getTime() - 1000 * heartbeatsMissed * heartbeatSeconds);
}
