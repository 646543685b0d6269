import { ConfigurationError } from '#attestation/base';

export function invalid(code: string, expected: string, got: string): ConfigurationError {
  return new ConfigurationError(code, {
    expected,
    got,
    rule: 'apps/control-plane/README.md, configuration',
    action: 'Set the environment variable and start again.',
  });
}
