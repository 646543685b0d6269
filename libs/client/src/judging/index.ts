/** Door of what judges by the client's own policies, from files alone. */
export { readPolicy, readTrustPolicy } from './policy.js';
export { verifyBundleFile } from './verify.js';
