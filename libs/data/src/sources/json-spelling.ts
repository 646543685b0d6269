/** What a line of JSON says that its parser does not tell: names as often as they stand there, numbers before they are rounded. */

const [quote, backslash] = [0x22, 0x5c];
const number = /-?\d[\d.eE+-]*/g;

/** @param line of an object @returns its own members' names, not those of nested ones */
export function namesSpelled(line: string): readonly string[] {
  const names: string[] = [];
  let depth = 0;
  for (let at = 0; at < line.length;) {
    const unit = line.charCodeAt(at);
    if (unit === quote) {
      const end = textEnd(line, at);
      if (depth === 1 && isName(line, end)) names.push(nameOf(line.slice(at, end)));
      at = end;
      continue;
    }
    // Brackets and braces differ in one bit.
    if ((unit | 0x20) === 0x7b) depth += 1;
    else if ((unit | 0x20) === 0x7d) depth -= 1;
    at += 1;
  }
  return names;
}

/** @param line of JSON */
export function numbersSpelled(line: string): readonly string[] {
  const found: string[] = [];
  for (let at = 0; at < line.length;) {
    const next = line.indexOf('"', at);
    const end = next < 0 ? line.length : next;
    for (const [text] of line.slice(at, end).matchAll(number)) found.push(text);
    at = next < 0 ? end : textEnd(line, next);
  }
  return found;
}

/** Behind the text that begins at a quote: a quote ends it that has an even number of backslashes before it. */
function textEnd(line: string, at: number): number {
  for (let end = line.indexOf('"', at + 1); ; end = line.indexOf('"', end + 1)) {
    let before = end;
    while (line.charCodeAt(before - 1) === backslash) before -= 1;
    if ((end - before) % 2 === 0) return end + 1;
  }
}

/** @param text with its quotes: where nothing is escaped in it, it stands there as it is */
function nameOf(text: string): string {
  return text.includes('\\') ? (JSON.parse(text) as string) : text.slice(1, -1);
}

function isName(line: string, end: number): boolean {
  let at = end;
  while (/\s/.test(line.charAt(at))) at += 1;
  return line.charAt(at) === ':';
}
