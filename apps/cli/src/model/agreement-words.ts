/** How far an exported file is from the exact integers, in words: outputs are numbers in the label's own unit, or scores. */
import type { Agreement } from '#libs/models';
import { figure } from './figure.js';

type Difference = Pick<Agreement, 'largestDifference' | 'largestOutput' | 'sameAnswers'>;

/** @param on what was compared, such as `49 rows` */
export function differenceWords({ largestDifference, largestOutput, sameAnswers }: Difference, on: string): string {
  const answers = sameAnswers && `, the same answer in ${sameAnswers.same} of ${sameAnswers.of}`;
  const [most, of] = [largestDifference, largestOutput].map((value) => figure(value, 3));
  return `${most} where outputs reach ${of}, on ${on}${answers ?? ''}`;
}
