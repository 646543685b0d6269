/** That what the sessions measured was published: image entries of a log, older than the first release. */
import { toHex } from '../base/bytes.js';
import type { AttestationResult } from '../appraisal/appraise.js';
import type { MachineInstance } from '../appraisal/instance.js';
import type { CheckBook } from '../check/checks.js';
import { isLoggedBefore, type EntryBody, type LoggedAt } from '../log/index.js';
import type { BundleCode } from './bundle-rules.js';

interface ImageEntry extends LoggedAt {
  readonly issuer: string;
  readonly body: EntryBody<'image'>;
}

/** @param isDemanded  whether the reader trusts a log, and so demands that images are in one */
export function checkImages(
  book: CheckBook<BundleCode>,
  results: readonly AttestationResult[],
  images: readonly ImageEntry[],
  releases: readonly LoggedAt[],
  isDemanded: boolean,
): void {
  if (results.length === 0 && images.length === 0) {
    book.drop('LOG_IMAGE');
    return;
  }
  const unlogged = isDemanded ? 'missing' : 'warned';
  const instances = results.map(({ instance }) => instance);
  const stray = images.find(({ body }) => !instances.some((one) => one !== undefined && isOf(body, one)));
  if (stray !== undefined) {
    book.settle('LOG_IMAGE', 'forged', `entry ${stray.index}: ${nameOf(stray)}`, 'images of sessions of this bundle');
    return;
  }
  const used = new Set<ImageEntry>();
  for (const [session, instance] of instances.entries()) {
    const found = images.filter(({ body }) => instance !== undefined && isOf(body, instance));
    const early = found.find((image) => releases.every((release) => isLoggedBefore(image, release)));
    if (early !== undefined) used.add(early);
    else if (found[0] === undefined) {
      book.settle('LOG_IMAGE', unlogged, `session ${session}: ${instance?.measurement ?? 'no authentic measurement'}`);
      return;
    } else {
      book.settle('LOG_IMAGE', 'refused', `entry ${found[0].index}, after the first release`);
      return;
    }
  }
  book.settle('LOG_IMAGE', 'met', [...used].map((image) => `${nameOf(image)} at ${image.index}`).join('; '));
}

const nameOf = ({ body: { name, version }, issuer }: ImageEntry): string => `${name} ${version} by ${issuer}`;

/** One launch of the image for this kind of evidence, and every register that it names. */
function isOf({ measurements }: EntryBody<'image'>, { kind, measurement, registers }: MachineInstance): boolean {
  const launches = measurements.filter((one) => one.kind === kind);
  const named = measurements.filter((one) => Object.hasOwn(registers, one.kind));
  return (
    launches.some(({ value }) => toHex(value) === measurement) &&
    named.every(({ kind: name, value }) => toHex(value) === registers[name])
  );
}
