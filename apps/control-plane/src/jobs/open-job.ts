/** What a job's row says, parsed once: spec, terms, program and division into segments. */
import { parseJobSpec, parseTermsJson, type JobSpec, type Terms } from '#attestation/records';
import type { Job } from '#libs/persistence';
import { divideSteps, parseJobManifestText, type Division, type JobManifest } from '#libs/step';

export type JobRow = Pick<Job, 'spec' | 'terms'>;

interface OpenJob {
  readonly spec: JobSpec;
  readonly terms: Terms;
  readonly manifest: JobManifest;
  readonly division: Division;
}

const opened = new WeakMap<JobRow, OpenJob>();

/** A row that is read again is another object, and parsed again where it is asked for. */
export function openJob(row: JobRow): OpenJob {
  const known = opened.get(row);
  if (known !== undefined) return known;
  const job = new LazyJob(row);
  opened.set(row, job);
  return job;
}

/** Many rows are asked for one part alone. */
class LazyJob implements OpenJob {
  private readonly parts = new Map<keyof OpenJob, unknown>();

  constructor(private readonly row: JobRow) {}

  get spec(): JobSpec {
    return this.once('spec', () => parseJobSpec(new Uint8Array(this.row.spec)));
  }

  get terms(): Terms {
    return this.once('terms', () => parseTermsJson(this.row.terms));
  }

  get manifest(): JobManifest {
    return this.once('manifest', () => parseJobManifestText(this.spec.manifest));
  }

  get division(): Division {
    return this.once('division', () => divideSteps(this.manifest, this.spec));
  }

  private once<K extends keyof OpenJob>(part: K, parse: () => OpenJob[K]): OpenJob[K] {
    if (!this.parts.has(part)) this.parts.set(part, parse());
    return this.parts.get(part) as OpenJob[K];
  }
}
