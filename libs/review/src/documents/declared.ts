/** What the evidence cannot know and the provider of a model says: every word of it is marked as declared. */
import { ConfigurationError, fromUtf8 } from '#attestation/base';
import { declaredCharactersMax } from '../limits.js';

const names = [
  'modelName',
  'modelVersion',
  'producer',
  'description',
  'modelLicense',
  'intendedPurpose',
  'limitations',
  'humanOversight',
  'datasetName',
  'datasetDescription',
  'datasetProvenance',
  'datasetSensitivity',
  'datasetLicense',
  'securityContact',
] as const;

export type DeclaredName = (typeof names)[number];
export type Declared = Readonly<Partial<Record<DeclaredName, string>>>;

/** @param file JSON object of texts @throws ConfigurationError REPORT_DECLARED */
export function readDeclared(file: Uint8Array): Declared {
  let value: unknown;
  try {
    value = JSON.parse(fromUtf8(file));
  } catch {
    throw refused('a JSON object', `${file.length} bytes of another`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw refused('a JSON object', typeof value);
  for (const [name, text] of Object.entries(value)) {
    if (!(names as readonly string[]).includes(name)) throw refused(`members among ${names.join(', ')}`, name);
    if (typeof text !== 'string' || text.length === 0 || text.length > declaredCharactersMax) {
      throw refused(`${name} as text of 1 to ${declaredCharactersMax} characters`, typeof text);
    }
  }
  return value as Declared;
}

function refused(expected: string, got: string): ConfigurationError {
  return new ConfigurationError('REPORT_DECLARED', {
    ...{ expected, got, rule: 'libs/review/DOCUMENTS.md' },
    action: 'correct the file that --declared names',
  });
}
