/** Posts a job. Ordered again it is another one, so where no answer tells whether it was taken the client is told where to look. */
import { CodedError, CollateralError, ConfigurationError, Rejection } from '#attestation/base';
import type { ControlPlaneApi } from '../api/api.js';

const unsure: ReadonlySet<string> = new Set(['REQUEST_TIMEOUT', 'CONTROL_PLANE_UNREACHABLE']);

/** @param jobId 0x-hexadecimal; @throws CodedError of the control plane */
export async function postJob(api: ControlPlaneApi, jobId: string, order: unknown): Promise<void> {
  await api.post('jobs', order).catch((error: unknown) => {
    if (!(error instanceof CodedError) || !unsure.has(error.code)) throw error;
    const action = `look whether veritrain job list shows ${jobId}; if not, run the command again: what was uploaded is not sent twice. If so, cancel it first, for run again this makes another job`;
    throw withAction(error, action);
  });
}

function withAction({ family, code, detail }: CodedError, action: string): CodedError {
  const kinds = { collateral: CollateralError, configuration: ConfigurationError, rejection: Rejection };
  return new kinds[family](code, { ...detail, action });
}
