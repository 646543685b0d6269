/** Servers that end although their clients do not. */
import type { Server } from 'node:http';

const graceMs = 2000;

/**
 * Once it is closed, a server cuts after a grace what its clients leave open: Node ends connections that are idle, and one
 * that has said nothing yet is none of them.
 */
export function closeWithinGrace(server: Server, within = graceMs): void {
  const close = server.close.bind(server);
  server.close = (done) => {
    setTimeout(() => server.closeAllConnections(), within).unref();
    return close(done);
  };
}
