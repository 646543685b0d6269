/** Stands for the chain where none is configured: nothing is ever read, so no job is ever funded. */
import { ConfigurationError } from '#attestation/base';
import type { ChainReader } from '#libs/settlement';

export const noChain: ChainReader = {
  contract: 'none',
  head: () => Promise.reject(notConfigured()),
  block: () => Promise.reject(notConfigured()),
  events: () => Promise.reject(notConfigured()),
  close: () => undefined,
};

function notConfigured(): ConfigurationError {
  return new ConfigurationError('CONFIG_CHAIN', {
    expected: 'VERITRAIN_RPC_URL and VERITRAIN_CONTRACT',
    got: 'neither',
    rule: 'apps/control-plane/README.md, configuration',
  });
}
