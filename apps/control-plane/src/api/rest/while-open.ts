/** Streams of a client that left before they were followed: nobody subscribes to them, so nobody would end them. */
import type { Response } from 'express';

/** Aborted once the connection has ended, which it may have already. */
export function whileOpen(response: Response): AbortController {
  const abort = new AbortController();
  response.once('close', () => abort.abort());
  if (response.destroyed) abort.abort();
  return abort;
}
