/** How often a job is held fast where nobody says so. */
import { isNet, type JobManifest } from '#libs/step';

const segments = 10;

/**
 * Steps of a segment, in whole superblocks: a tenth of the job; of a job that a rule may stop, what lies between two
 * evaluations; of several workers, what makes ten whole rounds, or the most that are fewer.
 */
export function usualSegment(m: JobManifest, parallel = 1): number {
  if (isNet(m) && m.stop !== null && m.evaluate !== null) return m.evaluate.every;
  for (let rounds = parallel > 1 ? segments : 0; rounds > 0; rounds--) {
    if (m.steps % (rounds * parallel * m.superblock) === 0) return m.steps / rounds / parallel;
  }
  return Math.max(1, Math.ceil(m.steps / segments / m.superblock)) * m.superblock;
}
