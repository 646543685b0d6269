/** Why a job waits or how it ended: whose word it is, what was found, what to do. */
import { plain } from '../../reviewer/text.js';
import type { Job } from '../types.js';

interface Failed {
  readonly code: string;
  readonly status: string;
  readonly got: string;
  readonly rule: string;
}

export function Refusal({ job }: { readonly job: Job }) {
  const { code, reason, saidBy, unplaced } = job;
  const waits = job.state === 'submitted' && typeof unplaced === 'string' ? unplaced : null;
  if (code === null) return waits === null ? null : <p class="since">It waits: {plain(waits)}.</p>;
  const text = (name: string): string => (typeof reason?.[name] === 'string' ? plain(reason[name]) : '');
  const checks = Array.isArray(reason?.['checks']) ? (reason['checks'] as readonly Partial<Failed>[]) : [];
  const isWaiting = code === 'ESCROW_MISSING';
  return (
    <div class={isWaiting ? 'since waits' : 'fault'}>
      <p>
        <strong>{plain(code)}</strong>{' '}
        {isWaiting && <>No escrow of this job is funded on the chain yet: the client’s account opens and funds it.</>}
        {saidBy === 'node' && <>The node says, and nobody looked into it: {text('detail') || 'nothing more'}.</>}
        {text('expected') !== '' && (
          <>
            Expected {text('expected')}; got {text('got') || 'nothing'}.
          </>
        )}
      </p>
      {text('action') !== '' && <p class="action">What to do: {text('action')}</p>}
      {checks.length > 0 && <FailedChecks checks={checks} />}
      {waits !== null && <p>It waits: {plain(waits)}.</p>}
    </div>
  );
}

function FailedChecks({ checks }: { readonly checks: readonly Partial<Failed>[] }) {
  return (
    <ul class="failed">
      {checks.map(({ code = '', rule = '', got = '' }, index) => (
        <li key={index}>
          <code>{plain(code)}</code> {plain(rule)} <span class="found">Found: {plain(got) || 'nothing'}</span>
        </li>
      ))}
    </ul>
  );
}
