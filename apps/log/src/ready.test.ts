/** Whether a log is ready: what a probe is told while its database is away, or once it publishes nothing any more. */
import type { Response } from 'express';
import { expect, it } from 'vitest';
import { Rejection } from '#attestation/base';
import type { LogService, LogStore } from '#libs/log';
import { ReadsController } from './reads.controller.js';

const stoppedBy = new Rejection('LOG_ROOT', { expected: 'the signed root', got: 'another', rule: 'test' });

async function answerOf(log: Pick<LogService, 'checkpoint' | 'stopped'>): Promise<[number, unknown]> {
  let told: [number, unknown] = [0, null];
  const response = { status: (status: number) => ({ json: (body: unknown) => (told = [status, body]) }) };
  const controller = new ReadsController(log as LogService, {} as LogStore);
  await controller.ready(response as unknown as Response);
  return told;
}

const answers = () => Promise.resolve('a checkpoint');
const away = () => Promise.reject(new Error('connect ECONNREFUSED'));

it.each([
  ['while its database answers', { checkpoint: answers, stopped: null }, 200, 'ok'],
  [
    'not while its database is away, which is no unforeseen failure',
    { checkpoint: away, stopped: null },
    503,
    'LOG_DATABASE',
  ],
  ['not once files and signed root do not agree', { checkpoint: answers, stopped: stoppedBy }, 503, 'LOG_ROOT'],
  ['not once it is stopped, also without its database', { checkpoint: away, stopped: stoppedBy }, 503, 'LOG_ROOT'],
])('is ready %s', async (_, log, status, code) => {
  expect(await answerOf(log)).toEqual([status, { status: code }]);
});
