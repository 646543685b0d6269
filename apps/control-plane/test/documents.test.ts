import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeInterfaces } from '../src/documents.js';

const committed = (name: string): string => readFileSync(new URL(`../${name}`, import.meta.url), 'utf8');
const scratch = mkdtempSync(join(tmpdir(), 'veritrain-documents-'));
let documents: { openapi: string; graphql: string };
beforeAll(async () => {
  documents = await describeInterfaces(scratch);
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

it('openapi.json is what the code serves', () => {
  expect(documents.openapi).toBe(committed('openapi.json'));
});

it('schema.graphql is what the code serves', () => {
  expect(documents.graphql).toBe(committed('schema.graphql'));
});

it('every reference in openapi.json has its target, and every path parameter its declaration', () => {
  const document = JSON.parse(documents.openapi) as {
    paths: Record<string, Record<string, { parameters?: object[] }>>;
  };
  const references = [...documents.openapi.matchAll(/"\$ref": "#\/components\/schemas\/([^"]+)"/g)].map((m) => m[1]!);
  const { components } = JSON.parse(documents.openapi) as { components: { schemas: Record<string, object> } };
  for (const name of references) expect(components.schemas).toHaveProperty(name);
  expect(references.length).toBeGreaterThan(3);
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const operation of Object.values(operations)) {
      const declared = (operation.parameters ?? []) as { in: string; name: string }[];
      const names = declared.filter((parameter) => parameter.in === 'path').map((parameter) => parameter.name);
      expect(names.sort(), path).toEqual([...path.matchAll(/\{(\w+)\}/g)].map((m) => m[1]!).sort());
    }
  }
});

it('GraphQL says of a thing whatever REST says of it', () => {
  const { components } = JSON.parse(documents.openapi) as {
    components: { schemas: Record<string, { properties: Record<string, unknown> }> };
  };
  const types = [...documents.graphql.matchAll(/^type (\w+) \{\n([^}]*)\}/gm)];
  const fields = new Map(types.map(([, name, body]) => [name!, [...body!.matchAll(/^ {2}(\w+)/gm)].map(([, m]) => m)]));
  for (const name of ['Job', 'JobPage', 'Progress', 'JobRequirements', 'Node', 'NodePage', 'Escrow', 'EscrowDuty']) {
    expect(fields.get(name), name).toEqual(expect.arrayContaining(Object.keys(components.schemas[name]!.properties)));
  }
});
