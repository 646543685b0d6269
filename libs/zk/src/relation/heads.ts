/** What each head adds to what is committed and to the relation: losses, and accuracy where nothing is trained. */
import { committedLoss } from '../commit/layout/losses/index.js';
import type { CommittedLoss } from '../commit/layout/losses/loss.js';
import type { Head } from '../commit/layout/shape.js';
import { committedAccuracy, relatedAccuracy } from './accuracy-head.js';
import { relatedLosses } from './losses/index.js';
import type { RelatedLoss } from './losses/loss.js';

export const relatedHeads: Readonly<Record<Head, RelatedLoss>> = { ...relatedLosses, accuracy: relatedAccuracy };

export function committedHead(head: Head): Pick<CommittedLoss<unknown>, 'code' | 'logits' | 'rows'> {
  return head === 'accuracy' ? committedAccuracy : committedLoss(head);
}
