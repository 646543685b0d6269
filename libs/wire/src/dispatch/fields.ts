/** Field shapes shared by every message: bytes as text, amounts as decimal text, all with a maximum. */
import { z } from 'zod';

const hex = (bytes: number): z.ZodString =>
  z.string().regex(new RegExp(`^0x[0-9a-f]{${2 * bytes}}$`), `0x and ${2 * bytes} lower-case hexadecimal digits`);

/** Lower-case 0x-hexadecimal of 32 bytes: digests, identifiers, public keys. */
export const Hex32 = hex(32);
/** Lower-case 0x-hexadecimal of 20 bytes: an account or contract. */
export const Address = hex(20);
/** Lower-case 0x-hexadecimal of r ‖ s ‖ v, 65 bytes. */
export const Signature = hex(65);
/** Unsigned 256-bit amount in wei, decimal. */
export const Wei = z.string().regex(/^(0|[1-9][0-9]{0,77})$/);
export const Uuid = z.uuid();
/** A stable failure code. */
export const Code = z.string().regex(/^[A-Z][A-Z0-9_]{2,63}$/);
/** Rises with every lease of a job, or claim of a segment; the database holds 31 bits. */
export const Fence = z
  .int()
  .min(1)
  .max(2 ** 31 - 1);
/** Step index or count. */
export const StepNumber = z
  .int()
  .min(0)
  .max(2 ** 40);

/** Standard base64 with padding of at most `bytesMax` bytes. */
export function base64(bytesMax: number): z.ZodString {
  return z
    .string()
    .max(Math.ceil(bytesMax / 3) * 4)
    .regex(/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/);
}

/**
 * Text that is shown to people: printable, bounded. Format characters (Unicode category Cf: bidirectional controls, joiners,
 * tags) are out, for they make a line read as another; so are separators of lines and paragraphs, and halves of surrogate pairs, which are no
 * text and which PostgreSQL keeps in no JSON.
 */
export function text(charactersMax: number): z.ZodString {
  return z
    .string()
    .max(charactersMax)
    .regex(/^[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]*$/u);
}

/** Of HTTP. The parser of URLs takes blanks and control characters at both ends, and a half of a surrogate pair anywhere: neither is kept. */
export function httpUrl(charactersMax: number): z.ZodURL {
  return z
    .url({ protocol: /^https?$/ })
    .max(charactersMax)
    .regex(/^[^\s\p{Cc}\p{Cf}\p{Cs}]*$/u);
}

/** Goes into lists, logs and paths of files: letters, digits and three marks, none of which comes first. */
export const TenantName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/);

const JsonScalar = z.union([z.string().max(4096), z.number(), z.boolean(), z.null()]);
const JsonLeaf = z.union([JsonScalar, z.array(JsonScalar).max(4096)]);

/** Escrow terms as JSON: flat but for `windows`. attestation's parseTermsJson decides what they mean. */
export const TermsJson = z
  .record(z.string().max(64), z.union([JsonLeaf, z.record(z.string().max(64), z.number())]))
  .refine((value) => Object.keys(value).length <= 64, 'at most 64 fields');
export type TermsJson = z.infer<typeof TermsJson>;
