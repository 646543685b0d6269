/** Whether a mutant of a JSON message still says what the genuine one says, where something binds it. */

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const hexOrUuid = /^(0x[0-9a-f]*|[0-9a-f-]{36})$/i;

/** @param paths members, or paths to them with dots between */
export function isBoundSame(paths: readonly string[], got: unknown, expected: unknown): boolean {
  return paths.every((path) => isSame(at(got, path), at(expected, path)));
}

function at(value: unknown, path: string): unknown {
  return path.split('.').reduce(member, value);
}

function member(value: unknown, name: string): unknown {
  return (value as Readonly<Record<string, unknown>> | null | undefined)?.[name];
}

/** UUIDs may be written in capitals, base64 with other bits behind its end. */
function meant(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  if (hexOrUuid.test(value)) return value.toLowerCase();
  return base64.test(value) ? Buffer.from(value, 'base64').toString('hex') : value;
}

/** Members that nobody asked for are not read, and of things that are signed one by one any may come, more than once. */
function isSame(got: unknown, expected: unknown): boolean {
  if (typeof expected !== 'object' || expected === null) return meant(got) === meant(expected);
  if (!Array.isArray(expected)) {
    return Object.entries(expected).every(([name, value]) => isSame(member(got, name), value));
  }
  if (!Array.isArray(got)) return false;
  if (expected.some((item) => typeof item === 'object')) {
    return got.every((item) => expected.some((one) => isSame(item, one)));
  }
  return got.length === expected.length && expected.every((item, index) => isSame(got[index], item));
}
