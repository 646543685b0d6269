/** Judges what was opened as of two times, in slices that leave the page alive. */
import { faultOf, openReview, policiesAmong, type BundleVerdict, type Fault } from '#libs/review';
import type { MaterialFile, NamedFile, Opened } from './open.js';

export interface Judgement {
  readonly bundle: NamedFile;
  /** As of when the evidence was fresh; what was dropped since says nothing of then, policies aside. */
  readonly was: BundleVerdict;
  readonly today: BundleVerdict;
  /** Unix seconds of `today`. */
  readonly at: number;
}

type Progressed = (share: number) => void;

const sliceMs = 30;

type Review = ReturnType<typeof openReview>;

/** The judge of what was opened, at however many times; undefined where there is no bundle. */
export function reviewOf({ bundle, key, start }: Opened): Review | undefined {
  const beside = { ...(key && { groth16Key: key.key }), ...(start && { start: start.bytes }) };
  return bundle && openReview({ bundle: bundle.bytes, ...beside });
}

type Beside = Pick<Opened, 'logExport' | 'material' | 'policy'>;

/** What a judgement rests on beside the bundle: what came later says nothing of when the evidence was fresh. */
export function askedAt(at: number | null, { logExport, material, policy }: Beside): Parameters<Review>[0] {
  const files = material.map(bytesOf);
  return {
    ...(policy && { policy: policy.policy }),
    ...(at === null ? { material: policiesAmong(files) } : { at, material: files }),
    ...(at !== null && logExport && { logExport: logExport.content }),
  };
}

/** @throws Rejection where the file is no bundle */
export async function judge(
  review: Review,
  bundle: NamedFile,
  beside: Beside,
  at: number,
  onProgress: Progressed,
): Promise<Judgement> {
  let last = performance.now();
  let half = 0;
  const progress = async (done: number, of: number): Promise<void> => {
    if (performance.now() - last < sliceMs) return;
    onProgress((half + done / of) / 2);
    await new Promise((resolve) => setTimeout(resolve));
    last = performance.now();
  };
  const was = await review({ ...askedAt(null, beside), progress });
  half = 1;
  const today = await review({ ...askedAt(at, beside), progress });
  return { bundle, was, today, at };
}

const bytesOf = ({ file }: MaterialFile): Uint8Array => file.bytes;

export function shownFault(error: unknown): Fault {
  const got = error instanceof Error ? error.message : 'something else';
  const own = {
    code: 'PAGE_FAULT',
    expected: 'a judgement',
    got,
    action: 'tell whoever made this page, with the file',
  };
  return faultOf(error) ?? own;
}
