/** Takes secrets out of whatever is logged: by the name of the field, and by the look of the text. */

const secretNames =
  /^(auth|authorization|cookie|set-cookie|password|secret|secrethash|token|apikey|privatekey|datakey)$/i;
const apiKey = /vt_([A-Za-z0-9]{4,32})_[A-Za-z0-9_-]{16,128}/g;
const bearer = /\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]+/gi;
const userInfo = /\b([a-z][a-z0-9+.-]*:\/\/)[^\s/@]+@/gi;
const redacted = '[redacted]';
const depthMax = 6;
const itemsMax = 50;
const textMax = 2000;

export function redactText(text: string): string {
  const clean = text
    .slice(0, textMax)
    .replace(apiKey, `vt_$1_${redacted}`)
    .replace(bearer, `$1 ${redacted}`)
    .replace(userInfo, `$1${redacted}@`);
  return text.length > textMax ? `${clean}…` : clean;
}

/** A copy that is safe to write: bounded in depth, width and length; bytes shown by their number only. */
export function redact(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return redactText(value);
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return `${value.length} bytes`;
  if (depth >= depthMax) return '…';
  if (value instanceof Error) {
    const { name, message, stack } = value;
    return {
      name,
      message: redactText(message),
      stack: redactText(stack ?? ''),
      code: (value as { code?: unknown }).code,
    };
  }
  if (Array.isArray(value)) return value.slice(0, itemsMax).map((item) => redact(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, itemsMax)
      .map(([name, item]) => [name, secretNames.test(name) ? redacted : redact(item, depth + 1)]),
  );
}
