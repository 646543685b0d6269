import { describe, expect, it } from 'vitest';
import { profileManifest, type ProfileParameters } from '#libs/step';
import { chooseBackend, type BackendWish } from './backend-choice.js';

const seed = `0x${'5a'.repeat(32)}`;
const manifest = (parameters: Partial<ProfileParameters> = {}) =>
  profileManifest('fx1s', { dims: [8, 4, 3], batch: 4, e: 6, steps: 20, seed, ...parameters });
const wish = (parameters: Partial<BackendWish>): BackendWish => ({
  ...{ backend: 'auto', profile: 'auto', onChain: false, ceremony: 'external' },
  ...parameters,
});

describe('the backend', () => {
  it.each<[string, Partial<ProfileParameters>, Partial<BackendWish>, string, RegExp]>([
    ['is sumcheck where only the prover pays', {}, {}, 'sumcheck', /^sumcheck: 0\.\d CPU s/],
    ['is groth16 where a contract checks a small model', {}, { onChain: true }, 'groth16', /gas to verify/],
    [
      'is sumcheck rather than a development key',
      {},
      { onChain: true, ceremony: 'development' },
      'sumcheck',
      /development/,
    ],
    ['is groth16 where sumcheck cannot', { e: 2 }, {}, 'groth16', /not sumcheck: STEP_PLAN/],
    [
      'is sumcheck where the circuit is too large',
      { dims: [784, 64, 10], batch: 64, e: 8 },
      { onChain: true },
      'sumcheck',
      /constraints/,
    ],
    ['is the one asked for', {}, { backend: 'groth16', ceremony: 'development' }, 'groth16', /by name/],
  ])('%s', (_name, parameters, wanted, backend, why) => {
    const choice = chooseBackend(manifest(parameters), wish(wanted));
    expect(choice.backend).toBe(backend);
    expect(choice.why.join('; ')).toMatch(why);
    expect(choice.estimates.map((estimate) => estimate.backend)).toEqual(['sumcheck', 'groth16']);
  });

  it('says why these parameters, where a contract takes sixteen steps at once', () => {
    const parameters = { dims: [784, 64, 10], batch: 64, e: 8, steps: 64, superblock: 16 };
    const { why, estimates } = chooseBackend(
      profileManifest('fx1', { ...parameters, seed }),
      wish({ onChain: true, backend: 'sumcheck' }),
    );
    expect(why).toEqual(['it was asked for by name', expect.stringMatching(/^chain26 about .* fits one transaction/)]);
    expect(estimates[0]).toMatchObject({ profile: { name: 'chain26' }, verifyGas: expect.any(Number) as number });
  });

  it.each<[string, Partial<ProfileParameters>, Partial<BackendWish>, string]>([
    ['no backend may be used', { e: 2 }, { ceremony: 'development' }, 'STEP_PLAN'],
    ['the one asked for cannot', { superblock: 32 }, { backend: 'groth16' }, 'GROTH16_SHAPE'],
  ])('is refused where %s', (_name, parameters, wanted, code) => {
    expect(() => chooseBackend(manifest(parameters), wish(wanted))).toThrow(code);
  });
});
