/** Faults planted in the page and in the verifier that it carries: a suite that misses one of them proves nothing. */
import type { Alteration } from './altered.vite.config.js';

interface Plant extends Alteration {
  readonly name: string;
  /** The file of the corpus that shows it. */
  readonly shownBy: string;
}

const page = '/console/src/reviewer';

export const plants: readonly Plant[] = [
  {
    ...{ name: 'a link that is green for what is not known', shownBy: 'revocation-demanded' },
    ...{ file: `${page}/links.ts`, from: "missing: 'unknown'", to: "missing: 'holds'" },
  },
  {
    ...{ name: 'markup made of a text of the bundle', shownBy: 'html-in-text' },
    ...{ file: `${page}/payment.tsx`, from: '{plain(call)} <Digest' },
    to: '<span dangerouslySetInnerHTML={{ __html: call }} /> <Digest',
  },
  {
    ...{ name: 'characters that turn a line', shownBy: 'turned-text' },
    ...{ file: `${page}/text.ts`, from: 'const cut = text', to: 'if (text !== "") return text;\n  const cut = text' },
  },
  {
    ...{ name: 'no banner over simulated hardware', shownBy: 'good' },
    ...{ file: `${page}/page.tsx`, from: '{was.simulated && ', to: '{was.simulated && false && ' },
  },
  {
    ...{ name: 'a check that the page drops', shownBy: 'good' },
    ...{ file: `${page}/checks.tsx`, from: 'all: own, idle', to: 'all: own.slice(1), idle' },
  },
  {
    ...{ name: 'a heading that knows no refusal', shownBy: 'seal-altered' },
    ...{ file: '/review/src/heading.ts', from: "tier === 'contraindicated'", to: "tier === ('' as string)" },
  },
  {
    ...{ name: 'the reader’s policy is not judged by', shownBy: 'production-policy' },
    ...{ file: `${page}/judge.ts`, from: '...(policy && { policy: policy.policy }),', to: '' },
  },
  {
    ...{ name: 'material beside the bundle does not count', shownBy: 'revoked' },
    ...{ file: `${page}/judge.ts`, from: '{ at, material: files }', to: '{ at, material: [] }' },
  },
  {
    ...{ name: 'a log policy beside the bundle does not decide the heading', shownBy: 'log-without-quorum' },
    ...{ file: `${page}/judge.ts`, from: '{ material: policiesAmong(files) }', to: '{ material: [] }' },
  },
  {
    ...{ name: 'an export of a log beside the bundle does not count', shownBy: 'revoked-in-export' },
    ...{ file: `${page}/judge.ts`, from: 'logExport: logExport.content', to: '' },
  },
  {
    ...{ name: 'start weights beside the bundle are not compared', shownBy: 'start-of-others' },
    ...{ file: `${page}/judge.ts`, from: 'start: start.bytes', to: '' },
  },
  {
    ...{ name: 'signatures of every kind hold', shownBy: 'receipt-altered' },
    ...{ file: '/base/edwards.ts', from: 'return (key !== null', to: 'return true || (key !== null' },
  },
  {
    ...{ name: 'a seal of anybody holds', shownBy: 'seal-altered' },
    ...{
      file: '/verdict/bundle-run.ts',
      from: 'const signer = recoverAddress',
      to: "if (digest) return '';\n  const signer = recoverAddress",
    },
  },
  {
    ...{ name: 'a certificate that is revoked counts', shownBy: 'revoked' },
    ...{ file: '/verdict/material.ts', from: 'endorsements: { crls: [der] }', to: 'endorsements: { crls: [] }' },
  },
  {
    ...{ name: 'the page asks the network', shownBy: 'good' },
    ...{
      file: `${page}/main.tsx`,
      from: 'render(<Page />',
      to: "void fetch('https://example.org').catch(() => 0);\nrender(<Page />",
    },
  },
];
