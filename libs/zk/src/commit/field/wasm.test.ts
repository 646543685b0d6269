import { afterEach, expect, it, vi } from 'vitest';
import { compiledHashMany } from '../keccak.js';
import { compiledArithmetic } from './arithmetic.js';
import { instantiate } from './wasm.js';

afterEach(() => {
  vi.unstubAllGlobals();
});

it('gives nothing for bytes that are no module, as where a feature is missing', () => {
  expect(instantiate('AAAA')).toBeUndefined();
});

it('leaves the references where there is no WebAssembly', () => {
  vi.stubGlobal('WebAssembly', undefined);
  expect(compiledArithmetic()).toBeUndefined();
  expect(compiledHashMany()).toBeUndefined();
});
