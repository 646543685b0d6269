import { expect, it } from 'vitest';
import { runCommand } from '#test/run-command';

it('says what to ask for beside --vector', async () => {
  expect((await runCommand('train', '--vector', 'vector.json')).json).toMatchObject({
    error: { code: 'USAGE', action: expect.stringMatching(/^say --digest-at 0,1,100/) as unknown },
  });
});
