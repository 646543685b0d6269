import { CollateralError } from '#attestation/base';

/** A CollateralError of this library; `rule` is the service it concerns. */
export function failure(
  code: CollateralCode,
  expected: string,
  got: string,
  service: string,
  action: string,
): CollateralError {
  return new CollateralError(code, { expected, got, rule: service, action });
}

type CollateralCode =
  | 'COLLATERAL_OFFLINE'
  | 'COLLATERAL_UNREACHABLE'
  | 'COLLATERAL_TIMEOUT'
  | 'COLLATERAL_RATE_LIMITED'
  | 'COLLATERAL_STATUS'
  | 'COLLATERAL_NOT_FOUND'
  | 'COLLATERAL_TOO_LARGE'
  | 'COLLATERAL_FORMAT';
