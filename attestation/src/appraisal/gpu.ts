/** What a policy accepts of an authentic GPU, over the checks that the GPU verifier has already made. */
import { openChecks } from '../check/checks.js';
import type { Check, CheckRule } from '../check/checks.js';
import type { NvidiaClaims } from '../nvidia/verify.js';

export interface GpuPolicy {
  readonly revocation: 'required' | 'if-supplied';
  /** What measured guest code says of the GPU's confidential-computing mode. */
  readonly mode: 'required' | 'if-stated';
  /** Accept, with a warning, a certificate that its issuer has suspended. */
  readonly allowHold: boolean;
  /** Tolerance past the end of a manifest signer's validity, seconds. */
  readonly manifestGraceSeconds: number;
  /** Device ids as in the leaf certificate. */
  readonly devicesAllowed?: readonly string[];
  readonly devicesDenied: readonly string[];
  readonly drivers?: readonly string[];
  readonly vbioses?: readonly string[];
  /** Exact number of GPUs in composite evidence. */
  readonly count?: number;
}

export const neutralGpuPolicy: GpuPolicy = {
  revocation: 'if-supplied',
  mode: 'if-stated',
  allowHold: false,
  manifestGraceSeconds: 0,
  devicesDenied: [],
};

const rule = (claim: CheckRule['claim'], text: string, action: string): CheckRule => ({
  claim,
  expected: '',
  rule: text,
  source: 'policy; attestation/SPEC.md §6.4',
  action,
});
const rules = {
  GPU_DENIED: rule('hardware', 'The GPU is not denied.', 'use another GPU'),
  GPU_NOT_ALLOWED: rule('hardware', 'The GPU is one of those allowed.', 'use a listed GPU, or list this one'),
  GPU_DRIVER: rule('executables', 'The driver version is listed.', 'install a listed driver'),
  GPU_VBIOS: rule('executables', 'The VBIOS version is listed.', 'install a listed VBIOS'),
} satisfies Record<string, CheckRule>;

/** @param checks  of the verifier, in which `not-checked` and absent OCSP answers stand until a policy judges them */
export function appraiseGpu(
  checks: readonly Check[],
  claims: NvidiaClaims | undefined,
  policy: GpuPolicy,
): readonly Check[] {
  const judged = checks.filter((check) => isDemanded(check, policy)).map((check) => soften(check, policy));
  return claims === undefined ? judged : [...judged, ...appraiseDevice(claims, policy)];
}

/** A check that never ran counts only where the policy asks for it; one that ran always counts. */
function isDemanded({ code, status }: Check, policy: GpuPolicy): boolean {
  const unknown = status === 'not-checked' || (status === 'missing' && code === 'NVIDIA_OCSP_MISSING');
  if (!unknown) return true;
  if (code === 'NVIDIA_NONCE') return false;
  if (code.startsWith('NVIDIA_CC_')) return policy.mode === 'required';
  if (code.startsWith('NVIDIA_OCSP_') || code.startsWith('NVIDIA_CERTIFICATE_'))
    return policy.revocation === 'required';
  return true;
}

function soften(check: Check, policy: GpuPolicy): Check {
  const held = check.code === 'NVIDIA_CERTIFICATE_ON_HOLD' && check.status === 'refused';
  return held && policy.allowHold ? { ...check, status: 'warned' } : check;
}

function appraiseDevice(claims: NvidiaClaims, policy: GpuPolicy): readonly Check[] {
  const book = openChecks(rules);
  const settle = (code: keyof typeof rules, list: readonly string[] | undefined, got: string, denied = false): void => {
    if (list === undefined || (denied && list.length === 0)) return book.drop(code);
    const expected = denied ? `none of ${list.length} denied` : `one of ${list.length} listed`;
    book.settle(code, list.includes(got) !== denied ? 'met' : 'refused', got, expected);
  };
  settle('GPU_DENIED', policy.devicesDenied, claims.deviceId, true);
  settle('GPU_NOT_ALLOWED', policy.devicesAllowed, claims.deviceId);
  settle('GPU_DRIVER', policy.drivers, claims.driverVersion);
  settle('GPU_VBIOS', policy.vbioses, claims.vbiosVersion);
  return book.checks();
}
