import { describe, expect, it } from 'vitest';
import { shownValue } from './shown-value.js';

const shown = (value: unknown, ...path: readonly string[]): string => shownValue(value, path, path);

describe('a value that was refused', () => {
  it.each([
    [{ a: 'b' }, ['a'], '"b"'],
    [{ a: ['x', 7] }, ['a', '1'], '7'],
    [{ a: ['x', 7] }, ['a'], 'a list of 2'],
    [{ a: {} }, ['a'], 'an object'],
    [{ a: null }, ['a'], 'null'],
    [{}, ['a', 'b'], 'none'],
    [{ a: 'x'.repeat(100) }, ['a'], `"${'x'.repeat(64)}…"`],
  ])('is shown short: %j at %j', (value, path, expected) => {
    expect(shown(value, ...path)).toBe(expected);
  });

  it.each(['apiKey', 'secret', 'salt', 'datakey', 'token', 'opening'])('is not shown below %s', (name) => {
    expect(shown({ [name]: { body: 'hidden' } }, name, 'body')).toBe('another value');
  });

  it('shows of an address the host alone', () => {
    expect(shown({ url: 'https://hooks.example/T0/B1?token=hidden' }, 'url')).toBe('"https://hooks.example/…"');
  });
});
