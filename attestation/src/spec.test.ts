import { readFileSync, readdirSync } from 'node:fs';
import { expect, it } from 'vitest';

/** Families whose codes the specification lists one by one. */
const families = /^(?:BYTES|CBOR|COSE|CRL|COMPOSITE|DER|DOCUMENT|EVIDENCE|GPU|HCL|POLICY|SAMPLE|SIMULATED|SNP|X509)_/;
const source = new URL('.', import.meta.url);
const spec = readFileSync(new URL('../SPEC.md', source), 'utf8');

it('the specification names every code of these families', () => {
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' });
  const sources = files.filter(
    (name) => name.endsWith('.ts') && !name.endsWith('.test.ts') && !name.startsWith('samples/nvidia'),
  );
  const text = sources.map((name) => readFileSync(new URL(name, source), 'utf8')).join('\n');
  const codes = [...text.matchAll(/'([A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+)'|^ {2}([A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+):/gm)].map(
    (match) => match[1] ?? match[2]!,
  );
  const listed = [...new Set(codes)].filter((code) => families.test(code));
  expect(listed.length).toBeGreaterThan(100);
  expect(listed.filter((code) => !spec.includes(`\`${code}\``))).toEqual([]);
});
