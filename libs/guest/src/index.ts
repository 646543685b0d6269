/** Door of libs/guest: guests as QEMU machines. */
export { qemuCommand, type GuestMachine, type SnpPlatform } from './qemu-command.js';
export { qemuVersion, startGuest } from './qemu-process.js';
