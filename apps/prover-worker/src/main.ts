/** A node without a TEE: `VERITRAIN_PROVER_SETTINGS=FILE node dist/apps/prover-worker/src/main.js`. */
import { runNode } from '#libs/node';
import { startNode } from './node/node.js';
import { loadSettings } from './node/settings.js';

runNode(
  {
    ...{ name: 'prover-worker', help: 'A node without a TEE.' },
    ...{ variable: 'VERITRAIN_PROVER_SETTINGS', code: 'PROVER_SETTINGS', rule: 'prover worker, settings' },
  },
  (path) => startNode(loadSettings(path)),
);
