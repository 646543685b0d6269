/** One line for people about one event of a job. */
import type { ServerEvent } from '../api.js';

export function eventLine({ type, data }: ServerEvent): string {
  const event = data as Record<string, number | string | null>;
  switch (type) {
    case 'state':
      return `${event.from} → ${event.to}${event.code === null ? '' : ` (${event.code})`}`;
    case 'progress':
      return progressLine(event);
    case 'checkpoint':
      return `checkpoint at step ${event.step}`;
    default:
      return type;
  }
}

function progressLine({ step, of, loss, accuracy, samplesPerSecond }: Record<string, number | string | null>): string {
  const figures = [
    `step ${step} of ${of}`,
    `loss ${Number(loss).toFixed(4)}`,
    `accuracy ${(100 * Number(accuracy)).toFixed(1)} %`,
    `${Number(samplesPerSecond).toLocaleString('en')} samples/s`,
  ];
  return figures.join('  ');
}
