import { expect, it } from 'vitest';
import { showOrder } from './order-lines.js';

const id = `0x${'ab'.repeat(32)}`;
const jobs = [
  { id, state: 'submitted', escrowState: 'none' },
  { id, state: 'running', escrowState: 'started' },
];

function said(json: boolean): readonly string[] {
  const lines: string[] = [];
  const { onSameDataset, onPosted } = showOrder({ json }, (line) => void lines.push(line));
  onSameDataset(jobs);
  onPosted(id);
  return lines;
}

it('names jobs that an order may repeat, and the job itself once it is posted', () => {
  expect(said(false)).toEqual([
    expect.stringMatching(/no escrow of it is seen: .* veritrain job cancel 0xabab/),
    expect.stringMatching(/running with an escrow that is started: this is another job, which is paid for besides/),
    `posted  job ${id}; its escrow is opened next`,
  ]);
});

it('says the same as documents', () => {
  expect(said(true).map((line) => JSON.parse(line) as unknown)).toEqual([
    { sameDataset: jobs },
    { posted: { jobId: id } },
  ]);
});
