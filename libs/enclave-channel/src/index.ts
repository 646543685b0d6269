/** Door of libs/enclave-channel: the host's end of the enclave's channel. */
export { type EnclaveClient } from './client.js';
export { connectEnclave, startEnclave } from './process.js';
