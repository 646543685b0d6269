/** Whether a training has the space that it ends in: what is found out when all is trained is found out too late. */
import { statfsSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname } from 'node:path';
import { ConfigurationError } from '#attestation/base';
import { sizeOf, stateShapes, type NetManifest } from '#libs/step';
import { modelBytes } from './folder.js';

interface Need {
  readonly folder: string;
  readonly bytes: number;
  readonly what: string;
  /** Where the folder is named. */
  readonly by: string;
}

/**
 * The model and a checkpoint, each of which is written whole beside the former one, and the engine's last state; together where they are
 * on one disk. Records are not counted: they are written before anything is trained.
 *
 * @param out folder of the model
 * @throws ConfigurationError FILE_UNWRITABLE
 */
export function needTrainingSpace(m: NetManifest, out: string, checkpoint?: string): void {
  const state = 8 * stateShapes(m).reduce((sum, { dims }) => sum + sizeOf(dims), 0);
  const needs: readonly Need[] = [
    { folder: out, bytes: modelBytes(m), what: 'the trained model', by: '--out' },
    { folder: tmpdir(), bytes: state, what: 'the state of the training', by: 'TMPDIR' },
    ...(checkpoint === undefined
      ? []
      : [{ folder: dirname(checkpoint), bytes: state, what: 'a checkpoint', by: '--checkpoint' }]),
  ];
  const disks = needs.map(({ folder }) => statSync(folder).dev);
  for (const disk of new Set(disks)) needSpace(needs.filter((_, index) => disks[index] === disk));
}

function needSpace(needs: readonly Need[]): void {
  const bytes = needs.reduce((sum, need) => sum + need.bytes, 0);
  const { bavail, bsize } = statfsSync(needs[0]!.folder);
  if (bavail * bsize >= bytes) return;
  const words = (of: (need: Need) => string): string => needs.map(of).join(' and ');
  throw new ConfigurationError('FILE_UNWRITABLE', {
    expected: `${bytes} bytes free at ${words(({ folder }) => folder)}, for ${words(({ what }) => what)}`,
    got: `${bavail * bsize}`,
    rule: words(({ by }) => by),
    action: 'free some space, or name a folder on another disk',
  });
}
