/** Where a request comes from, as the outermost handler found it. */

export interface Addressed {
  /** Set by the first handler of every HTTP request, and by the context of an operation over WebSocket. */
  clientAddress?: string;
}

export function addressOf(request: object): string {
  return (request as Addressed).clientAddress ?? '';
}
