import { ConfigurationError } from '#attestation/base';

export function invalid(code: string, expected: string, got: string): ConfigurationError {
  return new ConfigurationError(code, {
    expected,
    got,
    rule: 'control-plane README, configuration',
    action: 'Set the environment variable and start again.',
  });
}
