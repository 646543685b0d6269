/** Looks for bytes that must be on no disk but their owner's: data keys, plaintext, other parties' secrets. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';

export interface Secret {
  readonly name: string;
  readonly bytes: Uint8Array;
  /** Folders and files below the root that may hold it. */
  readonly at: readonly string[];
}

interface Needle {
  readonly secret: Secret;
  readonly form: string;
  readonly bytes: Buffer;
}

const fileBytesMax = 512 * 2 ** 20;

/** @returns where a secret was found, as itself, in hexadecimal or in base64 */
export function findSecrets(root: string, secrets: readonly Secret[]): string[] {
  const needles = secrets.flatMap(formsOf);
  const found: string[] = [];
  for (const path of filesBelow(root)) {
    const name = relative(root, path);
    const content = read(path);
    if (content === null) continue;
    for (const { secret, form, bytes } of needles) {
      if (secret.at.some((place) => name === place || name.startsWith(`${place}/`))) continue;
      if (content.includes(bytes)) found.push(`${secret.name}, ${form}, in ${name}`);
    }
  }
  return found;
}

function formsOf(secret: Secret): Needle[] {
  const bytes = Buffer.from(secret.bytes);
  const needle = (form: string, text: string): Needle => ({ secret, form, bytes: Buffer.from(text, 'latin1') });
  // In base64 the same bytes look different after one or two others; the characters at the borders also hold others.
  const shifted = [0, 1, 2].map((by) => {
    const text = Buffer.concat([Buffer.alloc(by), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    return text.slice(by === 0 ? 0 : by + 1, -1);
  });
  return [
    { secret, form: 'as it is', bytes },
    needle('hexadecimal', bytes.toString('hex')),
    ...shifted.map((text, by) => needle(`base64 after ${by} bytes`, text)),
  ];
}

function* filesBelow(folder: string): Generator<string> {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* filesBelow(path);
    else if (entry.isFile()) yield path;
  }
}

/** null: gone meanwhile, or larger than anything that is written here. */
function read(path: string): Buffer | null {
  try {
    return statSync(path).size > fileBytesMax ? null : readFileSync(path);
  } catch {
    return null;
  }
}
