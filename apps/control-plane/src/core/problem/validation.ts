/** Checks bodies, queries, parameters and messages against their zod schema. */
import { StandardSchemaValidationPipe, type ArgumentMetadata } from '@nestjs/common';
import { refusal } from './codes.js';
import { shownValue } from './shown-value.js';

interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

class ValidationPipe extends StandardSchemaValidationPipe {
  /** @throws Rejection REQUEST_MALFORMED: says which part was wrong, and what came in its place */
  override async transform<T>(value: T, metadata: ArgumentMetadata): Promise<T> {
    const { schema } = metadata;
    if (!schema || !this.toValidate(metadata)) return value;
    this.stripProtoKeys(value);
    const result = await this.validate<T>(value, schema, this.validateOptions);
    if (result.issues) throw malformed(result.issues, value, metadata);
    return result.value;
  }
}

export const validationPipe = new ValidationPipe();

function malformed(issues: readonly Issue[], value: unknown, { data }: ArgumentMetadata): Error {
  const [first] = issues;
  const below = (first?.path ?? []).map((part) => String(typeof part === 'object' ? part.key : part));
  const path = [...(data === undefined ? [] : [data]), ...below];
  const message = first?.message ?? 'as documented';
  const [, wanted, received] = /^Invalid input: expected (.+), received (.+)$/.exec(message) ?? [];
  const isWithoutBody = path.length === 0 && received === 'undefined';
  const more = issues.length === 1 ? '' : `, and ${issues.length - 1} more faults`;
  const name = path.length === 0 ? 'the value' : path.join('.');
  return refusal('REQUEST_MALFORMED', {
    expected: isWithoutBody
      ? 'a JSON body, with content-type application/json'
      : `${name}: ${wanted ?? message}`.slice(0, 300),
    got: `${isWithoutBody ? 'none' : (received ?? shownValue(value, below, path))}${more}`,
    rule: 'openapi.json',
    action: 'Send what the schema of this operation describes.',
  });
}
