/** A worker thread that runs one world. */
import { parentPort, workerData } from 'node:worker_threads';
import { simulate, type SimulationOptions } from './simulate.js';

parentPort!.postMessage(await simulate(workerData as SimulationOptions));
