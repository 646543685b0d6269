/** Text that strangers wrote, as people are shown it. */

/** Controls, format characters (bidirectional marks, joiners, tags), separators of lines and of paragraphs, and what is drawn as nothing. */
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/**
 * Nothing in it moves a cursor, begins a line, turns one around or stands there unseen: such characters are shown as their
 * code point, `⟨U+202E⟩`.
 */
export function visibleText(text: string): string {
  return text.replace(unseen, asCode);
}

/** A character as its code point, `⟨U+202E⟩`. */
export function asCode(sign: string): string {
  return `⟨U+${sign.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}⟩`;
}
