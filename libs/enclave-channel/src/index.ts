/** Door of libs/enclave-channel: the host's end of the enclave's channel. */
export { type EnclaveClient } from './client.js';
export { startEnclave, type RunningEnclave } from './process.js';
