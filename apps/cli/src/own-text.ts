/**
 * Text of the user's own: names of columns, paths, what a model wrote. It is shown as it is, so that it can be copied, but for
 * what moves the cursor or turns a line around; joiners and marks belong to how languages are written. What a stranger may
 * have written is `visibleText` of libs/review.
 */
import { asCode } from '#libs/review/text';

const moving = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\u{E0000}-\u{E007F}]/gu;
const movingBeside = /(?!\r?\n|\t)[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\u{E0000}-\u{E007F}]/gu;

/** On one line. */
export function ownLine(text: string): string {
  return text.replace(moving, asCode);
}

/** With its line ends and tabs. */
export function ownText(text: string): string {
  return text.replace(movingBeside, asCode);
}
