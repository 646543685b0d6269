/** Engines in processes of their own, with nothing beside them: what a machine gives to several at once. */
import { once } from 'node:events';
import { nodeCommand, startProcess } from '#libs/process';
import type { Manifest } from '#libs/step';
import { mnistFiles } from '../../../apps/cli/src/demo/mnist.js';

const command = nodeCommand('../../../enclave/src/engine/engine-main', import.meta.url);

/** Samples a second of `count` engines at once, one thread each, together. */
export async function enginesAtOnce(manifest: Manifest, steps: number, count: number): Promise<number> {
  const speeds = await Promise.all(Array.from({ length: count }, () => engine(manifest, steps)));
  return speeds.reduce((sum, speed) => sum + speed, 0);
}

async function engine(manifest: Manifest, steps: number): Promise<number> {
  const { child } = startProcess(command, { stdio: ['pipe', 'pipe', 'ignore'] });
  const { trainImages: images, trainLabels: labels } = mnistFiles;
  child.stdin!.end(JSON.stringify({ manifest, images, labels, digestAt: [steps], threads: 1 }));
  let printed = '';
  child.stdout!.on('data', (chunk) => (printed += String(chunk)));
  const [status] = (await once(child, 'close')) as [number];
  if (status !== 0) throw new Error(`an engine ended with ${status}: ${printed}`);
  return (JSON.parse(printed) as { samplesPerSecond: number }).samplesPerSecond;
}
