/** Images, manifests and units name settings, paths and programs that exist. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { loadAll } from 'js-yaml';
import { expect, it } from 'vitest';
import { committedFiles, root, textOf } from './tree.js';

interface Resource {
  readonly kind: string;
  readonly spec: { readonly template?: { readonly spec: PodSpec }; readonly selector?: unknown };
}
interface PodSpec {
  readonly containers: readonly Container[];
  readonly volumes?: readonly { readonly name: string }[];
}
interface Container {
  readonly image: string;
  readonly args: readonly string[];
  readonly env?: readonly { readonly name: string }[];
  readonly volumeMounts?: readonly { readonly name: string }[];
}

const files = committedFiles();
const manifests = files.filter((path) => /^apps\/[^/]+\/deploy\/.*\.yaml$/.test(path));
const units = files.filter((path) => /\.service$/.test(path));
const workloads = manifests.flatMap((path) =>
  (loadAll(textOf(path)) as Resource[])
    .filter(({ spec }) => spec.template !== undefined)
    .map(({ spec }) => ({ path, spec, pod: spec.template!.spec })),
);
const containers = workloads.flatMap(({ path, pod }) => pod.containers.map((container) => ({ path, container })));
const settingsRead = new Set(
  files
    .filter((path) => /^(apps|libs)\/.*\.ts$/.test(path))
    .flatMap((path) => textOf(path).match(/\b(VERITRAIN_[A-Z_]+|DATABASE_URL|NATS_URL)\b/g) ?? []),
);
const programs = (text: string): string[] => text.match(/\bdist\/[\w/-]+\.js\b/g) ?? [];
const sourceOf = (program: string): string => program.replace(/^dist\//, '').replace(/\.js$/, '.ts');

it('manifests set what the code reads', () => {
  const names = containers.flatMap(({ path, container }) => (container.env ?? []).map(({ name }) => ({ path, name })));
  expect(names.length).toBeGreaterThan(5);
  expect(names.filter(({ name }) => !settingsRead.has(name))).toEqual([]);
});

it('programs that are started have a source', () => {
  const named = [...manifests, ...units, 'Dockerfile'].flatMap((path) =>
    programs(textOf(path)).map((name) => ({ path, name })),
  );
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter(({ name }) => !existsSync(join(root, sourceOf(name))))).toEqual([]);
});

it('images are targets of the Dockerfile', () => {
  const targets = [...textOf('Dockerfile').matchAll(/^FROM \S+ AS (\w+)$/gm)].map(([, name]) => `veritrain/${name}`);
  expect(containers.filter(({ container }) => !targets.includes(container.image))).toEqual([]);
});

it('every mount has its volume', () => {
  const missing = workloads.flatMap(({ path, spec, pod }) => {
    const claims = (spec as { volumeClaimTemplates?: { metadata: { name: string } }[] }).volumeClaimTemplates ?? [];
    const names = [...(pod.volumes ?? []).map(({ name }) => name), ...claims.map(({ metadata }) => metadata.name)];
    return pod.containers
      .flatMap(({ volumeMounts = [] }) => volumeMounts)
      .filter(({ name }) => !names.includes(name))
      .map(({ name }) => `${path}: ${name}`);
  });
  expect(missing).toEqual([]);
});

it('the image of the enclave has the packages that it imports', () => {
  const copied = [...textOf('Dockerfile').matchAll(/\/node_modules\/(\S+) \.\/node_modules/g)].map(([, name]) => name!);
  const own = ['enclave', 'attestation', 'libs/step'];
  const imported = new Set(
    files
      .filter((path) => own.some((folder) => path.startsWith(`${folder}/src/`)) && /(?<!\.test)\.ts$/.test(path))
      .flatMap((path) => [...textOf(path).matchAll(/\bfrom '([^'.#]+)'|\bimport\('([^'.#]+)'\)/g)])
      .map(([, named, loaded]) => (named ?? loaded)!)
      .filter((name) => !name.startsWith('node:'))
      .map((name) =>
        name
          .split('/')
          .slice(0, name.startsWith('@') ? 2 : 1)
          .join('/'),
      ),
  );
  expect(imported.size).toBeGreaterThan(4);
  expect([...imported].filter((name) => !copied.some((path) => name === path || name.startsWith(`${path}/`)))).toEqual(
    [],
  );
});

it('what is copied of the build is made of the source', () => {
  const copied = [...textOf('Dockerfile').matchAll(/\/dist\/(\S+)/g)].map(([, path]) => path!.replace(/\.js$/, '.ts'));
  expect(copied.length).toBeGreaterThan(2);
  expect(copied.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});
