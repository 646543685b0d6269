/** Machines that offer to run jobs: whether they are there, what they say of themselves, and what became of it. */
import { ether, plain } from '../../reviewer/text.js';
import { State } from '../../ui/state.js';
import { tell } from '../api.js';
import { counted } from '../figures.js';
import { List } from '../list.js';
import { useLoad } from '../load.js';
import { pageQuery } from '../pager.js';
import { Act, Ago, Command, Head } from '../parts.js';
import { Link } from '../router.js';
import type { Me, Node, Page } from '../types.js';
import { words } from '../words.js';

const everyMs = 3000;

export function Nodes({ query, me }: { readonly query: URLSearchParams; readonly me: Me }) {
  const nodes = useLoad<Page<Node>>(`/v1/nodes?${pageQuery(query)}`, everyMs);
  return (
    <>
      <Head title="Nodes" />
      <p class="lead">
        {me.role === 'operator'
          ? 'Your machines. What they say of their hardware is only an offer: the policy of each job decides on evidence.'
          : 'Machines of all operators. What they say of themselves is an offer, not evidence.'}
      </p>
      <List
        of={nodes}
        label="nodes"
        columns={['State', 'Node', 'Hardware and firmware, as it says', 'Evidence', 'Jobs', 'Least price', 'Last seen']}
        none="No nodes yet"
        whenNone={<None isOperator={me.role === 'operator'} />}
        at={['/nodes', query]}
        row={(node) => <Row key={node.id} node={node} />}
      />
    </>
  );
}

function Row({ node }: { readonly node: Node }) {
  const { id, name, capabilities, lastSeenAt, leases, evidenceAt } = node;
  const { tee, cores, memoryMiB, tcb, priceMin } = capabilities;
  return (
    <tr>
      <td>
        <NodeState node={node} />
      </td>
      <th scope="row" class="named">
        <Link to={`/nodes/${id}`}>{plain(name)}</Link>
      </th>
      <td class="named">
        {plain(tee)}, {counted(cores, 'core')}, {Math.round(memoryMiB / 1024)} GiB,{' '}
        {tcb === undefined ? 'firmware not said' : plain(tcb)}
      </td>
      <td>{evidenceAt === null ? '–' : <Ago at={evidenceAt} />}</td>
      <td class="number">{leases ?? '–'}</td>
      <td class="number">{priceMin === undefined ? '–' : ether(priceMin)}</td>
      <td>
        <Ago at={lastSeenAt} />
      </td>
    </tr>
  );
}

export function NodeState({ node }: { readonly node: Node }) {
  if (!node.online) return <State kind="refused" mark="✕" word="offline" />;
  if (node.state === 'cordoned') return <State kind="warned" mark="!" word="cordoned" />;
  if (node.state === 'draining') return <State kind="warned" mark="!" word="draining" />;
  return <State kind="live" mark="●" word="ready" />;
}

export function Scheduling({ node, reload }: { readonly node: Node; readonly reload: () => void }) {
  const act = (command: string) => async (): Promise<void> => {
    await tell('POST', `/v1/nodes/${node.id}/${command}`);
    reload();
  };
  return (
    <>
      {node.state !== 'ready' && <Act label="Give it jobs again" act={act('ready')} />}
      {node.state === 'ready' && <Act label="Cordon" act={act('cordon')} />}
      {node.state !== 'draining' && (
        <Act
          label="Drain"
          question="Its jobs go to other nodes at their next checkpoint."
          yes="Drain the node"
          act={act('drain')}
        />
      )}
    </>
  );
}

function None({ isOperator }: { readonly isOperator: boolean }) {
  if (!isOperator) return <p>They appear here when an operator starts one. {words.noNodes}</p>;
  return (
    <>
      <p>Look whether your machine is fit, then start its host agent with this key.</p>
      <Command label="look at your machine" text="npx veritrain host preflight" />
    </>
  );
}
