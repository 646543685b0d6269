/** Who pays whom: what the terms say, which the seal and the escrow's name are over, and what the file merely reports. */
import type { BundleFacts } from '#libs/review';
import { Digest } from '../ui/copy.js';
import { ether, grouped, plain } from './text.js';
import { words } from './words.js';

export function Payment({ facts }: { readonly facts: BundleFacts }) {
  const { client, provider, price, token, chainId, contract, transactions } = facts;
  const nobody = /^0x0+$/.test(provider);
  return (
    <section aria-labelledby="payment">
      <h2 id="payment">Who pays whom</h2>
      <dl class="facts">
        <div>
          <dt>Client</dt>
          <dd>
            <Digest value={client} label="client" />
          </dd>
        </div>
        <div>
          <dt>Provider</dt>
          <dd>{nobody ? 'whoever the client awards it to' : <Digest value={provider} label="provider" />}</dd>
        </div>
        <div>
          <dt>Price</dt>
          <dd>
            {token === null ? priceInEther(price) : `${price} of the token`}
            {token !== null && <Digest value={token} label="token" />}
          </dd>
        </div>
        <div>
          <dt>Escrow</dt>
          <dd>
            chain {chainId}, <Digest value={contract} label="escrow contract" />
          </dd>
        </div>
      </dl>
      {transactions.length > 0 && (
        <>
          <h3>
            Transactions <span class="tag reported">reported</span>
          </h3>
          <p class="note">
            {words.reported}: whoever made the file named them; the chain shows whether they are there.
          </p>
          <ul class="plainlist">
            {inOrder(transactions).map(({ call, hash }) => (
              <li key={`${call} ${hash}`}>
                {plain(call)} <Digest value={hash} label={`transaction ${plain(call)}`} />
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

const callOrder: readonly string[] = ['open', 'accept', 'start', 'commit', 'finalize'];

/** As a job goes on; calls of other names last. */
function inOrder(transactions: BundleFacts['transactions']): BundleFacts['transactions'] {
  const rank = (call: string): number => {
    const at = callOrder.indexOf(call);
    return at === -1 ? callOrder.length : at;
  };
  return transactions.toSorted((a, b) => rank(a.call) - rank(b.call));
}

/** For a person, and exact beside it: an auditor compares the one with the chain. */
function priceInEther(wei: string): string {
  const said = ether(wei);
  return said.endsWith('ETH') ? `${said}, ${grouped(BigInt(wei))} wei` : said;
}
