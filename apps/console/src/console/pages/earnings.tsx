/** What an operator's account was paid, job by job, as the control plane reads the chain. */
import { Digest } from '../../ui/copy.js';
import { ether, plain } from '../../reviewer/text.js';
import { short } from '../figures.js';
import { List } from '../list.js';
import { useLoad } from '../load.js';
import { pageQuery } from '../pager.js';
import { Ago, Facts, Head } from '../parts.js';
import type { Earning, Me, Page } from '../types.js';
import { words } from '../words.js';

interface Props {
  readonly query: URLSearchParams;
  readonly me: Me;
}

export function Earnings({ query, me }: Props) {
  const earnings = useLoad<Page<Earning>>(`/v1/earnings?${pageQuery(query)}`, 10_000);
  return (
    <>
      <Head title="Earnings" />
      <p class="lead">{words.escrow}</p>
      <List
        of={earnings}
        label="earnings"
        columns={['Job', 'Escrow', 'Price', 'Earned', 'Transaction', 'Changed']}
        none="Nothing yet"
        whenNone={<p>A job stands here when it names your account, or one of your nodes has it.</p>}
        at={['/earnings', query]}
        sums={(items, isAll) => <Sums items={items} me={me} isAll={isAll} />}
        row={rowOf}
      />
    </>
  );
}

function Sums({ items, me, isAll }: { readonly items: readonly Earning[]; readonly me: Me; readonly isAll: boolean }) {
  const sum = (member: 'earnedWei' | 'priceWei', of: readonly Earning[]): string => {
    const amounts = of.map((one) => one[member]);
    const notOne = amounts.find((amount) => !/^[0-9]+$/.test(amount));
    return notOne ?? String(amounts.reduce((total, amount) => total + BigInt(amount), 0n));
  };
  const open = items.filter(({ escrowState }) => openStates.includes(escrowState));
  return (
    <section aria-labelledby="sums">
      <h2 id="sums">{isAll ? 'All jobs' : 'Jobs on this page'}</h2>
      <Facts
        rows={[
          ['Earned', ether(sum('earnedWei', items))],
          ['Held in escrows that are open', ether(sum('priceWei', open))],
          ...(me.provider === null
            ? []
            : [['Your account', <Digest value={me.provider} label="your account" />] as const]),
        ]}
      />
    </section>
  );
}

const openStates: readonly string[] = ['open', 'accepted', 'started', 'committed'];

function rowOf({ jobId, escrowState, priceWei, earnedWei, payments, updatedAt }: Earning) {
  return (
    <tr key={jobId}>
      <th scope="row">
        <code title={jobId}>{short(jobId)}</code>
      </th>
      <td>{escrowState === 'none' ? 'not opened yet' : plain(escrowState)}</td>
      <td class="number">{priceWei === '0' ? '–' : ether(priceWei)}</td>
      <td class="number">{earnedWei === '0' ? '–' : ether(earnedWei)}</td>
      <td>
        {payments.length === 0 ? (
          '–'
        ) : (
          <Digest value={payments.at(-1)!.transaction} label={`payment for ${short(jobId)}`} />
        )}
      </td>
      <td>
        <Ago at={updatedAt} />
      </td>
    </tr>
  );
}
