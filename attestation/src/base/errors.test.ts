import { expect, it } from 'vitest';
import { CollateralError, ConfigurationError, Rejection, reportedError } from './errors.js';

const detail = { expected: 'this', got: 'that', rule: 'some rule §1' };

it.each([
  new ConfigurationError('SETTING', detail),
  new CollateralError('AWAY', { ...detail, action: 'try again' }),
  new Rejection('BAD', detail),
])('a failure that another process reports is the one that was thrown there: %s', (error) => {
  const read = reportedError(JSON.parse(JSON.stringify(error)) as object);
  expect(read).toBeInstanceOf(error.constructor);
  expect(read.toJSON()).toEqual(error.toJSON());
});

it('reads reports that lack members or carry others', () => {
  expect(reportedError({}).toJSON()).toEqual({ family: 'rejection', code: '', expected: '', got: '', rule: '' });
  const odd = reportedError({ code: 7, family: 'none', got: {}, action: '' });
  expect(odd.toJSON()).toEqual({ family: 'rejection', code: '', expected: '', got: '', rule: '' });
});
