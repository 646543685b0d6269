/** The door of enclave/ for its host: the channel's frames and messages, nothing of what runs inside. */
export { encodeFrame, frameBytesMax, frameDecoder, type FrameDecoder } from './channel/frames.js';
export {
  parseFromEnclave,
  type EnclaveEvent,
  type ErrorReply,
  type EventOf,
  type EventType,
  type FromEnclave,
  type OkReply,
  type RequestOf,
  type RequestType,
} from './channel/messages.js';
