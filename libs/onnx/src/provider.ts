/** The device of a process that computes: chosen once, before its first session. */
import { ConfigurationError } from '#attestation/base';
import type { InferenceSession } from './runtime.js';

const providers = ['cpu', 'cuda'] as const;
type Provider = (typeof providers)[number];

let chosen: Provider = 'cpu';

export function chosenProvider(): Provider {
  return chosen;
}

/** @throws ConfigurationError ENGINE_PROVIDER: another name */
export function chooseProvider(name: string): void {
  const found = providers.find((each) => each === name);
  if (found === undefined) throw providerRefused(`--provider ${providers.join(' or ')}`, name, 'name one of these');
  chosen = found;
}

/** For a session's options: no operator may fall back to the processor, so that all of a graph is where the self-test was. */
export function providerOptions(): Pick<InferenceSession.SessionOptions, 'executionProviders' | 'extra'> {
  if (chosen === 'cpu') return { executionProviders: ['cpu'] };
  return { executionProviders: [chosen], extra: { session: { disable_cpu_ep_fallback: '1' } } };
}

export function providerRefused(expected: string, got: string, action: string): ConfigurationError {
  return new ConfigurationError('ENGINE_PROVIDER', { expected, got, rule: 'enclave/SPEC.md, start', action });
}
