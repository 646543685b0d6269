/** Validators of documents, by their published schemas. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { fixturePath } from './fixture.js';

const resolve = createRequire(import.meta.url).resolve;
const read = (path: string): object => JSON.parse(readFileSync(path, 'utf8')) as object;
const ofPackage = (name: string): object =>
  read(
    resolve(`@cyclonedx/cyclonedx-library/package.json`).replace(
      'package.json',
      `res/schema/${name}.SNAPSHOT.schema.json`,
    ),
  );
const writtenDown = (name: string): object => read(fixturePath(`schemas/${name}.json`));

/** What is wrong with a document; nothing where it is valid. */
type Faults = (document: unknown) => readonly string[];

export function billFaults(): Faults {
  const ajv = new Ajv({ strict: false, allErrors: true });
  addFormats.default(ajv);
  // RFC 3987 and RFC 6531 forms are wider than what documents use.
  for (const name of ['iri-reference', 'idn-email']) ajv.addFormat(name, true);
  for (const name of ['spdx', 'jsf-0.82'])
    ajv.addSchema(ofPackage(name), `http://cyclonedx.org/schema/${name}.SNAPSHOT.schema.json`);
  return faultsOf(ajv, ofPackage('bom-1.6'));
}

export function statementFaults(name: 'in-toto-statement' | 'verification-summary'): Faults {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  if (name !== 'in-toto-statement') ajv.addSchema(writtenDown('in-toto-statement'));
  return faultsOf(ajv, writtenDown(name));
}

/** Of the bundle, and of the statement inside it. */
export function modelSignatureFaults(part: 'bundle' | 'statement'): Faults {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  for (const name of ['bundle', 'envelope', 'statement', 'predicate']) {
    if (name !== part) ajv.addSchema(writtenDown(`oms-${name}`));
  }
  return faultsOf(ajv, writtenDown(`oms-${part}`));
}

function faultsOf(ajv: Ajv | Ajv2020, schema: object): Faults {
  const validate = ajv.compile(schema);
  return (document) => {
    if (validate(document)) return [];
    return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
  };
}
