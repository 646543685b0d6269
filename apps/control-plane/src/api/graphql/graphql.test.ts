import { getIntrospectionQuery, parse } from 'graphql';
import { expect, it } from 'vitest';
import { complexityErrors, Measures } from './graphql.js';

/** `{ ...f0 }` where every fragment spreads the next one twice. */
function doubling(fragments: number): string {
  const one = (n: number) => `fragment f${n} on Query { ...f${n + 1} ...f${n + 1} }`;
  const all = Array.from({ length: fragments }, (_, n) => one(n)).join(' ');
  return `{ ...f0 } ${all} fragment f${fragments} on Query { __typename }`;
}

it('measures a fragment once however often it is spread', () => {
  const document = parse(doubling(30));
  const [operation] = document.definitions;
  if (operation?.kind !== 'OperationDefinition') throw new Error('no operation');
  const measures = new Measures(document);
  expect(measures.of(operation.selectionSet)).toEqual({ depth: 1, fields: 201, cost: 5001, lists: 0 });
  expect(measures.visited).toBe(1 + 2 * 30 + 1);
  expect(complexityErrors(document)).toHaveLength(1);
});

it('counts fields wherever their fragment is spread', () => {
  expect(complexityErrors(parse(doubling(7)))).toEqual([]);
  expect(complexityErrors(parse(doubling(8)))).toHaveLength(1);
  const deep = `{ a { ...f } } fragment f on T { b { c { d { e { f { g { h } } } } } } }`;
  expect(complexityErrors(parse(deep))).toEqual([]);
  expect(complexityErrors(parse(deep.replace('{ h }', '{ h { i } }')))).toHaveLength(1);
});

it('ends on fragments that spread themselves, and on ones that are not there', () => {
  expect(complexityErrors(parse('{ ...a } fragment a on T { x ...b } fragment b on T { ...a ...none }'))).toEqual([]);
});

it('counts a list without pages as long as it may be', () => {
  const asked = (name: string, times: number) =>
    `{ ${Array.from({ length: times }, (_, n) => `a${n}: ${name}(id: "x") { body }`).join(' ')} }`;
  for (const name of ['webhookDeliveries', 'jobAppraisals', 'nodeAppraisals']) {
    expect(complexityErrors(parse(asked(name, 90))), name).toEqual([]);
    expect(complexityErrors(parse(asked(name, 99))), name).toHaveLength(1);
  }
});

it('counts the values of an answer: a page as often as it may have items', () => {
  const page = (limit: string, fields: number) =>
    `{ jobPage${limit} { items { ${Array.from({ length: fields }, (_, n) => `f${n}`).join(' ')} } } }`;
  expect(complexityErrors(parse(page('(limit: 200)', 20)))).toEqual([]);
  expect(complexityErrors(parse(page('(limit: 200)', 30)))).toHaveLength(1);
  expect(complexityErrors(parse(page('(limit: 10)', 100)))).toEqual([]);
  expect(complexityErrors(parse(page('', 110)))).toHaveLength(1);
  expect(complexityErrors(parse(`query ($n: Int) ${page('(limit: $n)', 30)}`))).toHaveLength(1);
  const twice = '{ a: jobPage(limit: 200) { items { ...f } } b: jobPage(limit: 200) { items { ...f } } }';
  const fragment = (fields: number) =>
    ` fragment f on Job { ${Array.from({ length: fields }, (_, n) => `f${n}`).join(' ')} }`;
  expect(complexityErrors(parse(twice + fragment(10)))).toEqual([]);
  expect(complexityErrors(parse(twice + fragment(15)))).toHaveLength(1);
});

it('W-M5 takes the introspection that tools send, and none that nests further', () => {
  const all = { descriptions: true, specifiedByUrl: true, directiveIsRepeatable: true, schemaDescription: true };
  expect(complexityErrors(parse(getIntrospectionQuery()))).toEqual([]);
  expect(complexityErrors(parse(getIntrospectionQuery({ ...all, inputValueDeprecation: true })))).toEqual([]);
  const chain = (member: string, times: number) =>
    `{ __schema { types { ${`${member} { type { `.repeat(times)} name ${'} } '.repeat(times)} } } }`;
  for (const member of ['fields', 'inputFields', 'args']) {
    expect(complexityErrors(parse(chain(member, 2))), member).toEqual([]);
    expect(complexityErrors(parse(chain(member, 3))), member).toHaveLength(1);
  }
  const often = (times: number) => {
    const document = parse(getIntrospectionQuery());
    const [operation, ...fragments] = document.definitions;
    if (operation?.kind !== 'OperationDefinition') throw new Error('no operation');
    const selections = Array.from({ length: times }, () => operation.selectionSet.selections).flat();
    const selectionSet = { ...operation.selectionSet, selections };
    return { ...document, definitions: [{ ...operation, selectionSet }, ...fragments] };
  };
  expect(complexityErrors(often(2))).toEqual([]);
  expect(complexityErrors(often(3))).toHaveLength(1);
  const wrapped = `{ __type(name: "Job") { ${'ofType { '.repeat(21)} name ${'} '.repeat(21)} } }`;
  expect(complexityErrors(parse(wrapped))).toHaveLength(1);
  const hidden = `{ __schema { ...f } } fragment f on __Schema { types { ...g } }
    fragment g on __Type { fields { type { fields { type { fields { name } } } } } }`;
  expect(complexityErrors(parse(hidden))).toHaveLength(1);
});
