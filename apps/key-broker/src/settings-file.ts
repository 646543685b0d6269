/** Files of the owner's settings. What is wrong with one is told with its path. */
import { readFileSync } from 'node:fs';
import type { z } from 'zod';
import { ConfigurationError, fromHex } from '#attestation/base';

/** @throws ConfigurationError BROKER_CONFIG */
export function parseFile<S extends z.ZodType>(schema: S, path: string): z.infer<S> {
  let json: unknown;
  try {
    json = JSON.parse(read(path).toString('utf8'));
  } catch (error) {
    if (error instanceof ConfigurationError) throw error;
    throw invalid(path, 'a JSON document', 'something else');
  }
  const result = schema.safeParse(json);
  if (result.success) return result.data;
  const issue = result.error.issues[0]!;
  throw invalid(path, issue.message, issue.path.join('.') || 'the document');
}

/** @throws ConfigurationError BROKER_CONFIG */
export function secretOf(path: string): Uint8Array {
  const text = read(path).toString('utf8').trim();
  if (!/^0x[0-9a-f]{64}$/.test(text)) throw invalid(path, '32 bytes as 0x-hexadecimal', `${text.length} characters`);
  return fromHex(text);
}

/** @throws ConfigurationError BROKER_CONFIG */
export function read(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw invalid(path, 'a readable file', (error as NodeJS.ErrnoException).code ?? 'an error');
  }
}

export function invalid(path: string, expected: string, got: string): ConfigurationError {
  return new ConfigurationError('BROKER_CONFIG', {
    expected: `${path}: ${expected}`,
    got,
    rule: 'key broker settings',
  });
}
