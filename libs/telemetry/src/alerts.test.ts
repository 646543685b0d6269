/** The committed alert rules ask for metrics and labels that the processes have, and say what is wrong and what to do. */
import { readFileSync } from 'node:fs';
import { load } from 'js-yaml';
import { Counter, type Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { createBrokerMetrics } from './broker-metrics.js';
import { createMetrics } from './metrics.js';
import { watchNode } from './node-watch.js';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly action: string };
}

const { groups } = load(readFileSync(new URL('../dashboards/alerts.yml', import.meta.url), 'utf8')) as {
  readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[];
};
const rules = groups.flatMap((group) => group.rules);

/** Labels of every metric, by name; histograms have three names beside their own. */
function known(registries: readonly Registry[]): Map<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  for (const registry of registries) {
    for (const metric of registry.getMetricsAsArray()) {
      const { name, labelNames = [] } = metric as unknown as { name: string; labelNames?: readonly string[] };
      for (const end of ['', '_bucket', '_count', '_sum']) found.set(name + end, [...labelNames, 'le']);
    }
  }
  return found;
}

const metrics = known([
  createMetrics().registry,
  createBrokerMetrics().registry,
  watchNode([], 'test', 'silent').registry,
]);
const functions = new Set([
  'absent',
  'and',
  'by',
  'changes',
  'histogram_quantile',
  'increase',
  'max',
  'min',
  'or',
  'rate',
  'sum',
  'unless',
]);
/** Labels that Prometheus itself adds. */
const added = ['instance', 'job', 'le'];

/** What is wrong with one expression. */
function faultsOf(expr: string): string[] {
  const bare = expr.replace(/"[^"]*"/g, '""');
  const selectors = [...bare.matchAll(/([a-z_][a-z0-9_]*)\s*\{([^}]*)\}/g)];
  const grouped = [...bare.matchAll(/\bby\s*\(([^)]*)\)/g)].flatMap(([, names]) =>
    names!.split(',').map((one) => one.trim()),
  );
  const words = [...bare.replace(/\{[^}]*\}|\[[^\]]*\]|\bby\s*\([^)]*\)/g, ' ').matchAll(/[a-z_][a-z0-9_]*/g)].map(
    ([word]) => word,
  );
  const names = words.filter((word) => !functions.has(word));
  const labels = names.flatMap((name) => metrics.get(name) ?? []);
  const count = (text: string): number => bare.split(text).length;
  return [
    ...names.filter((name) => !metrics.has(name)).map((name) => `no metric ${name}`),
    ...selectors.flatMap(([, name, inner]) =>
      [...inner!.matchAll(/([a-z_]+)\s*(?:=~|!~|!=|=)/g)]
        .map(([, label]) => label!)
        .filter((label) => ![...(metrics.get(name!) ?? []), ...added].includes(label))
        .map((label) => `no label ${label} of ${name}`),
    ),
    ...grouped.filter((label) => ![...labels, ...added].includes(label)).map((label) => `no label ${label}`),
    ...(count('(') === count(')') && count('{') === count('}') && count('[') === count(']') ? [] : ['unbalanced']),
    ...(/\b(rate|increase|changes)\((?![^()]*\[[0-9]+[smh]\])/.test(bare) ? ['no range'] : []),
    ...(names.length === 0 ? ['no metric at all'] : []),
  ];
}

it('ask for metrics and labels that exist', () => {
  expect(rules.length).toBeGreaterThan(15);
  expect(rules.flatMap(({ alert, expr }) => faultsOf(expr).map((fault) => `${alert}: ${fault}`))).toEqual([]);
});

it('have a name of their own, a severity, a sentence and something to do', () => {
  expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
  for (const { alert, labels, annotations, for: after = '1m' } of rules) {
    expect(alert).toMatch(/^Veritrain[A-Z][A-Za-z]+$/);
    expect(['page', 'ticket']).toContain(labels.severity);
    expect(after).toMatch(/^[0-9]+[mh]$/);
    for (const text of [annotations.summary, annotations.action]) expect(text).toMatch(/^[A-Z].{10,160}\.$/);
  }
});

it('watch every counter of what goes wrong', () => {
  const all = rules.map(({ expr }) => expr).join('\n');
  const counters = createMetrics()
    .registry.getMetricsAsArray()
    .filter((metric) => metric instanceof Counter)
    .map((metric) => (metric as unknown as { name: string }).name)
    .filter((name) => name.startsWith('veritrain_'));
  expect(counters.length).toBeGreaterThan(5);
  expect(counters.filter((name) => !all.includes(name))).toEqual([]);
});

it.each([
  ['sum(veritrain_jobz)', 'no metric veritrain_jobz'],
  ['sum(veritrain_jobs{status="x"})', 'no label status of veritrain_jobs'],
  ['sum by (nobody) (veritrain_jobs)', 'no label nobody'],
  ['rate(veritrain_leases_expired_total) > 1', 'no range'],
  ['sum(veritrain_jobs', 'unbalanced'],
  ['1 > 0', 'no metric at all'],
])('catches %s', (expr, fault) => {
  expect(faultsOf(expr)).toContain(fault);
});
