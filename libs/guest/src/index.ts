/** Door of libs/guest: images of guests from their locked inputs, and guests as QEMU machines. */
export { fetchRelease, packRelease } from './oci/release.js';
export { buildServices } from './oci/services.js';
export { buildGuest, fetchGuest, inputsCache, lockedInputs, updateExpected } from './image/build.js';
export { repository, type Flavour } from './image/lock.js';
export { type InputSources } from './image/inputs.js';
export { readImage, type BuiltGuest } from './image/read.js';
export { qemuCommand, type GuestMachine, type SnpPlatform } from './qemu-command.js';
export { qemuVersion, startGuest } from './qemu-process.js';
export { keepGuests, whenAborted } from './keep-guests.js';
export { checkGuestSettings, machineOf, readGuestSettings, type GuestSettings } from './host/guest-settings.js';
export { readHostFacts } from './host/host-facts.js';
export { checkHost, type HostCheck } from './host/preflight.js';
