import { expect, it } from 'vitest';
import { createLogger, redact } from './index.js';

const secret = 'test-secret-0123456789';
const key = `vt_test_${secret}`;

function logged(write: (logger: ReturnType<typeof createLogger>) => void): string {
  const lines: string[] = [];
  write(createLogger('test', 'debug', { write: (line: string) => void lines.push(line) }));
  return lines.join('');
}

it('writes no secret, wherever it stands', () => {
  const out = logged((logger) => {
    logger.info(`called with ${key}`);
    logger.info('header', { headers: { authorization: `Bearer ${secret}`, cookie: secret } });
    logger.warn('nested', { payload: { data: [{ auth: key }, { note: `Bearer ${secret}` }] } });
    logger.error('failed', { error: new Error(`connect postgres://user:${secret}@host/db, key ${key}`) });
    logger.debug('bytes', { datakey: secret, raw: new TextEncoder().encode(secret) });
    logger.info('key', { [`privateKey`]: secret, apiKey: secret, secretHash: secret, token: secret, password: secret });
  });
  expect(out.split('\n').filter(Boolean)).toHaveLength(6);
  expect(out).not.toContain(secret);
  expect(out).toContain('vt_test_[redacted]');
});

it('keeps what is not secret', () => {
  const line = JSON.parse(logged((logger) => logger.info('done', { jobId: '0xab', step: 7 }))) as object;
  expect(line).toMatchObject({ msg: 'done', jobId: '0xab', step: 7, service: 'test' });
});

it('bounds what it writes', () => {
  const deep: Record<string, unknown> = {};
  deep['self'] = deep;
  expect(JSON.stringify(redact(deep)).length).toBeLessThan(200);
  expect((redact('x'.repeat(100_000)) as string).length).toBeLessThan(2100);
  expect(redact(Array(1000).fill(1))).toHaveLength(50);
});
