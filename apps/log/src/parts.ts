/** Names under which Nest hands out what a log is made of. */
export const LOG = Symbol('log');
export const STORE = Symbol('store');
