/** Build step: writes openapi.json and schema.graphql, the committed descriptions of the two interfaces. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeInterfaces } from './documents.js';

const folder = process.argv[2] ?? 'apps/control-plane';
const scratch = mkdtempSync(join(tmpdir(), 'veritrain-documents-'));
try {
  const { openapi, graphql } = await describeInterfaces(scratch);
  writeFileSync(join(folder, 'openapi.json'), openapi);
  writeFileSync(join(folder, 'schema.graphql'), graphql);
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
