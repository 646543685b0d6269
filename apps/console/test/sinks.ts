/** Places of the page where a text of a file would become markup, planted one by one, and which files show them. */
import type { Alteration } from './altered.vite.config.js';

interface Sink extends Alteration {
  readonly name: string;
  /** The files whose changed text is shown there. */
  readonly shownBy: RegExp;
}

const page = '/console/src/reviewer';
const html = (text: string): string => `<span dangerouslySetInnerHTML={{ __html: ${text} }} />`;

export const sinks: readonly Sink[] = [
  {
    ...{ name: 'what a transaction is called', shownBy: /^good, .*transactions\[\]\.call$/ },
    ...{ file: `${page}/payment.tsx`, from: '{plain(call)} <Digest', to: `${html('call')} <Digest` },
  },
  {
    ...{ name: 'what was found where a check fails', shownBy: /^good, policy: \.id$/ },
    ...{ file: `${page}/verdict.tsx`, from: "{saidBy(check, check.got) || 'nothing'}", to: html('check.got') },
  },
  {
    ...{ name: 'why a file is no bundle', shownBy: /^good, : name of a member$/ },
    ...{ file: `${page}/verdict.tsx`, from: '{plain(fault[part])}', to: html('fault[part]') },
  },
  {
    ...{ name: 'what a field of the bytes says', shownBy: /^good, .*receipt: \[\]: \.3$/ },
    ...{ file: `${page}/bytes.tsx`, from: '{plain(field.value)}', to: html('field.value') },
  },
  {
    ...{ name: 'the name of a policy beside the bundle', shownBy: /beside, "example:mine"$/ },
    ...{
      file: `${page}/verdict.tsx`,
      from: '`${words.byYourPolicy}, ${plain(policy.policy.id)}`',
      to: html('policy.policy.id'),
    },
  },
  {
    ...{ name: 'the name of a file', shownBy: /^good, : name of a member$/ },
    ...{ file: `${page}/verdict.tsx`, from: '{plain(name)}', to: html('name') },
  },
];
