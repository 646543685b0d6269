/** Door of what a client asks of a control plane alone, without chain, data and judge. */
export { createApi, type ControlPlaneApi, type ServerEvent } from './api.js';
export { claim, followJob, type EdgeFigures, type JobView } from './follow.js';
export { defaultSamples } from '../job/samples.js';
export { loadProfile, type Profile } from './profile.js';
