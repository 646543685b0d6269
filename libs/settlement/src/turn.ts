/** An account sends one transaction at a time: two that ask for a nonce together would get the same nonce. */
const tails = new Map<string, Promise<unknown>>();

/** Runs `work` after everything that was queued for `account` before it, whether that succeeded or not. */
export function inTurn<T>(account: string, work: () => Promise<T>): Promise<T> {
  const turn = (tails.get(account) ?? Promise.resolve()).then(work, work);
  const tail = turn.catch(() => undefined);
  tails.set(account, tail);
  void tail.then(() => {
    if (tails.get(account) === tail) tails.delete(account);
  });
  return turn;
}
