/** Manifests against the schemas of Kubernetes, from the package kubernetes-models. */
import { loadAll } from 'js-yaml';
import { expect, it } from 'vitest';
import { committedFiles, textOf } from './tree.js';

interface Resource {
  readonly apiVersion: string;
  readonly kind: string;
}
interface Model {
  validate(): void;
}

const paths = committedFiles().filter((path) => /^apps\/[^/]+\/deploy\/.*\.yaml$/.test(path));
const resources = paths.flatMap((path) =>
  (loadAll(textOf(path)) as Resource[]).map((resource) => ({ path, resource })),
);

/** What the schema of its kind says against it. */
async function faultOf(resource: Resource): Promise<string | null> {
  const module = `kubernetes-models/${resource.apiVersion}/${resource.kind}`;
  const models = (await import(/* @vite-ignore */ module)) as Record<string, new (data: Resource) => Model>;
  try {
    new models[resource.kind]!(structuredClone(resource)).validate();
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

it('are valid, every one', async () => {
  expect(resources.length).toBeGreaterThan(7);
  const faults = await Promise.all(
    resources.map(async ({ path, resource }) => ({ path, kind: resource.kind, fault: await faultOf(resource) })),
  );
  expect(faults.filter(({ fault }) => fault !== null)).toEqual([]);
});

it.each([
  ['Deployment', /"replicas":\d+/, '"replicas":"two"', 'replicas must be integer'],
  ['StatefulSet', /"containerPort":\d+/, '"containerPort":"http"', 'containerPort must be integer'],
  ['StatefulSet', '"selector"', '"selektor"', 'selector'],
  ['NetworkPolicy', '"policyTypes":["Ingress"]', '"policyTypes":"Ingress"', 'policyTypes must be array'],
])('would be refused: a %s with %s as %s', async (kind, from, to, said) => {
  const found = resources.map(({ resource }) => resource).find((each) => each.kind === kind)!;
  const text = JSON.stringify(found);
  const bent = text.replace(from, to);
  expect(bent).not.toBe(text);
  expect(await faultOf(JSON.parse(bent) as Resource)).toContain(said);
});
