/** Settings of a process: one JSON file, with other files beside it. What is wrong is told with the file's path. */
import { readFileSync } from 'node:fs';
import { ConfigurationError, fromHex } from '#attestation/base';

/** As zod has it. */
interface Schema<T> {
  safeParse(value: unknown): { readonly success: true; readonly data: T } | { readonly success: false; error: Issues };
}

interface Issues {
  readonly issues: readonly { readonly message: string; readonly path: readonly PropertyKey[] }[];
}

interface SettingsFiles {
  parse<T>(schema: Schema<T>, path: string): T;
  /** 32 bytes from 0x-hexadecimal. */
  secret(path: string): Uint8Array;
  read(path: string): Buffer;
  invalid(path: string, expected: string, got: string): ConfigurationError;
}

/** @param code  of the ConfigurationError that every method throws @param rule  where the settings are described */
export function settingsFiles(code: string, rule: string): SettingsFiles {
  const invalid = (path: string, expected: string, got: string): ConfigurationError =>
    new ConfigurationError(code, { expected: `${path}: ${expected}`, got, rule });
  const read = (path: string): Buffer => {
    try {
      return readFileSync(path);
    } catch (error) {
      throw invalid(path, 'a readable file', (error as NodeJS.ErrnoException).code ?? 'an error');
    }
  };
  return {
    invalid,
    read,
    secret: (path) => {
      const text = read(path).toString('utf8').trim();
      if (/^0x[0-9a-f]{64}$/.test(text)) return fromHex(text);
      throw invalid(path, '32 bytes as 0x-hexadecimal', `${text.length} characters`);
    },
    parse: (schema, path) => {
      const result = schema.safeParse(documentIn(read(path), () => invalid(path, 'a JSON document', 'something else')));
      if (result.success) return result.data;
      const issue = result.error.issues[0]!;
      throw invalid(path, issue.message, issue.path.map(String).join('.') || 'the document');
    },
  };
}

function documentIn(bytes: Buffer, fault: () => Error): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    throw fault();
  }
}
