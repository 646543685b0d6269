/** What host and enclave say to each other: the channel's frames and messages. */
export { encodeFrame, frameBytesMax, frameDecoder } from './frames.js';
export {
  countedEdgesMax,
  parseFromEnclave,
  parseRequest,
  type EnclaveEvent,
  type ErrorReply,
  type EventOf,
  type Request,
  type RequestOf,
  type RequestType,
} from './messages.js';
