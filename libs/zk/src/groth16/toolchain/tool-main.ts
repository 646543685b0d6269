/**
 * The GPL-licensed tools, circom2 and snarkjs, in a process of their own that ends: snarkjs keeps worker threads alive and
 * writes its files in place. One ToolRequest on stdin, one ToolAnswer or {"error": {"code", …}} on stdout. An argument is
 * the number of bytes that it and what it starts may hold.
 */
import { json } from 'node:stream/consumers';
import { Worker } from 'node:worker_threads';
import { CodedError } from '#attestation/base';
import { compile } from './compile.js';
import { writeDevelopmentPtau } from './development-ptau.js';
import type { ToolAnswer, ToolRequest } from './protocol.js';
import { checkKey, exportKey, makeKey, proveWitness, witnessesOf } from './snarkjs.js';

type Result = Omit<ToolAnswer, 'cpuSeconds' | 'peakBytes'>;

function run(request: ToolRequest): Promise<Result> {
  switch (request.op) {
    case 'compile':
      return compile(request);
    case 'development-ptau':
      return writeDevelopmentPtau(request.path, request.power);
    case 'key':
      return makeKey(request);
    case 'check-key':
      return checkKey(request);
    case 'export-key':
      return exportKey(request.zkey);
    case 'witness':
      return witnessesOf(request);
    case 'prove':
      return proveWitness(request);
  }
}

function print(answer: object): Promise<void> {
  return new Promise((resolve) => process.stdout.write(JSON.stringify(answer), () => resolve()));
}

function guardMemory(memoryBytesMax: number): void {
  const fromSource = import.meta.url.endsWith('.ts');
  const url = new URL(`./memory-guard-main.${fromSource ? 'ts' : 'js'}`, import.meta.url);
  const execArgv = fromSource ? ['--conditions=source', '--import', '@oxc-node/core/register'] : [];
  new Worker(url, { workerData: memoryBytesMax, execArgv }).unref();
}

// snarkjs prints why it refuses a key; standard output holds the answer alone.
console.log = console.error;
// The caller has ended, so no process reads the answer.
process.once('disconnect', () => process.exit(1));

const [memoryBytesMax] = process.argv.slice(2);
if (memoryBytesMax !== undefined) guardMemory(Number(memoryBytesMax));
const began = process.cpuUsage();
try {
  const result = await run((await json(process.stdin)) as ToolRequest);
  const { user, system } = process.cpuUsage(began);
  const [cpuSeconds, peakBytes] = [(user + system) / 1e6, process.resourceUsage().maxRSS * 1024];
  await print({ ...result, cpuSeconds, peakBytes });
  process.exit(0);
} catch (error) {
  if (!(error instanceof CodedError)) throw error;
  await print({ error: error.toJSON() });
  process.exit(1);
}
