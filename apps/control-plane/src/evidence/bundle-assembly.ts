/** Puts together what proves a job, from what is stored. */
import { Injectable } from '@nestjs/common';
import type { Job } from '#libs/persistence';
import { refusal } from '../problem/codes.js';

@Injectable()
export class BundleAssembly {
  async assemble(job: Job): Promise<Uint8Array> {
    throw refusal('JOB_BUNDLE_PENDING', {
      expected: 'a delivered job',
      got: job.state,
      rule: 'control-plane README, job states',
      action: 'Wait until the job is delivered.',
    });
  }
}
