/** The committed Grafana dashboard shows the metrics that the process has, all of them and no others. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { createMetrics } from './metrics.js';

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly type: string;
  readonly targets?: readonly { readonly expr: string }[];
}

const { panels } = JSON.parse(readFileSync(new URL('../dashboards/control-plane.json', import.meta.url), 'utf8')) as {
  panels: readonly Panel[];
};
const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
const base = (name: string): string => name.replace(/_(bucket|count|sum)$/, '');

it('asks for metrics that exist', async () => {
  const names = (await createMetrics().registry.getMetricsAsJSON()).map(({ name }) => name);
  const asked = expressions.flatMap((expr) => expr.match(/\b(?:veritrain|process|nodejs)_[a-z0-9_]+/g) ?? []).map(base);
  expect(asked.length).toBeGreaterThan(15);
  expect(asked.filter((name) => !names.includes(name))).toEqual([]);
});

it('shows every metric of ours', async () => {
  const ours = (await createMetrics().registry.getMetricsAsJSON())
    .map(({ name }) => name)
    .filter((name) => name.startsWith('veritrain_'));
  const shown = expressions.join('\n');
  expect(ours.filter((name) => !shown.includes(name))).toEqual([]);
});

it('gives every panel an id and a query of its own', () => {
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  expect(panels.filter(({ type, targets = [] }) => type !== 'row' && targets.length === 0)).toEqual([]);
});
