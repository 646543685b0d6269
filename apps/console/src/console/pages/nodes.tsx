/** Machines that offer to run jobs: whether they are there, what they say of themselves, and what became of it. */
import { plain } from '../../reviewer/text.js';
import { State } from '../../ui/state.js';
import { tell } from '../api.js';
import { ago, ether } from '../figures.js';
import { useLoad } from '../load.js';
import { Pager, pageQuery } from '../pager.js';
import { Act, Command, Empty, Head, Scroll, Shown } from '../parts.js';
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
      <Shown of={nodes}>
        {({ items, nextCursor }) =>
          items.length === 0 ? (
            <None isOperator={me.role === 'operator'} />
          ) : (
            <section>
              <Scroll label="nodes">
                <table class="list">
                  <thead>
                    <tr>
                      <th scope="col">State</th>
                      <th scope="col">Node</th>
                      <th scope="col">Hardware, as it says</th>
                      <th scope="col">Firmware, as it says</th>
                      <th scope="col">Least price</th>
                      <th scope="col">Last seen</th>
                    </tr>
                  </thead>
                  <tbody>
                    {items.map((node) => (
                      <Row key={node.id} node={node} />
                    ))}
                  </tbody>
                </table>
              </Scroll>
              <Pager to="/nodes" query={query} next={nextCursor} />
            </section>
          )
        }
      </Shown>
    </>
  );
}

function Row({ node }: { readonly node: Node }) {
  const { id, name, capabilities, lastSeenAt } = node;
  const { tee, cores, memoryMiB, tcb, priceMin } = capabilities;
  return (
    <tr>
      <td>
        <NodeState node={node} />
      </td>
      <th scope="row">
        <Link to={`/nodes/${id}`}>{plain(name)}</Link>
      </th>
      <td>
        {plain(tee)}, {cores} cores, {Math.round(memoryMiB / 1024)} GiB
      </td>
      <td>{tcb === undefined ? 'not said' : plain(tcb)}</td>
      <td class="number">{priceMin === undefined ? '–' : ether(priceMin)}</td>
      <td>
        <time dateTime={lastSeenAt}>{ago(lastSeenAt)}</time>
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
  return (
    <Empty title="No nodes yet">
      {isOperator ? (
        <>
          <p>Look whether your machine is fit, then start its host agent with this key.</p>
          <Command label="look at your machine" text="npx veritrain node preflight" />
        </>
      ) : (
        <p>They appear here when an operator starts one. {words.noNodes}</p>
      )}
    </Empty>
  );
}
