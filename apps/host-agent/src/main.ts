/** The untrusted companion of an enclave: `VERITRAIN_HOST_SETTINGS=FILE node dist/apps/host-agent/src/main.js`. */
import { runNode } from '#libs/node';
import { startAgent } from './agent.js';
import { loadSettings } from './settings.js';

runNode(
  {
    ...{ name: 'host-agent', help: 'The untrusted companion of an enclave.' },
    ...{ variable: 'VERITRAIN_HOST_SETTINGS', code: 'HOST_SETTINGS', rule: 'host agent settings' },
  },
  (path) => startAgent(loadSettings(path)),
);
