/** Bodies of requests: documented fields, within their sizes, and nothing else. */
import { z } from 'zod';
import { fromHex, Rejection } from '#attestation/base';

const base64 = (bytesMax: number) =>
  z
    .base64()
    .max(Math.ceil(bytesMax / 3) * 4)
    .transform((text) => new Uint8Array(Buffer.from(text, 'base64')));

export const hexText = (size: number) => z.string().regex(new RegExp(`^0x[0-9a-f]{${2 * size}}$`));

export const hexBytes = (size: number) => hexText(size).transform(fromHex);

/** A job spec and abi.encode(Terms), as they travel. */
export const jobFields = { spec: base64(64 * 1024), terms: base64(4096) };

/** The same with session evidence. */
export const EvidenceBody = z.strictObject({ ...jobFields, evidence: base64(1024 * 1024) });

/** @throws Rejection REQUEST_MALFORMED */
export function shaped<S extends z.ZodType>(schema: S, body: unknown): z.infer<S> {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  const issue = result.error.issues[0]!;
  throw new Rejection('REQUEST_MALFORMED', {
    expected: issue.message,
    got: issue.path.join('.') || 'the body',
    rule: 'key broker API',
    action: 'send the documented fields and nothing else',
  });
}
