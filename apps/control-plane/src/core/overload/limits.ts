/** Bounds on what connections, streams, bodies and messages may take. */
import { datasetManifestBytesMax } from '#attestation/records';

/** From the first byte of a request to the end of its headers. */
export const headersMilliseconds = 10_000;
/** From the first byte of a request to the end of its body. */
export const requestMilliseconds = 120_000;
/** A connection whose peer takes none of what waits for it. */
export const stalledMilliseconds = 30_000;
/** HTTP connections at once, WebSockets among them. */
export const connectionsMax = 20_000;
/** Streams of events that one replica feeds. */
export const streamsMax = 20_000;
/** Statements that wait for a connection to the database, at which the least important requests are shed. */
export const statementsWaitingMax = 500;
/** Kept bytes of a message that could not be taken; a longer one is cut and cannot be replayed. */
export const deadLetterBytesMax = 64 * 1024;
/** The oldest go first. */
export const deadLettersMax = 10_000;
/** Of one sender; more are counted only. */
export const deadLettersPerMinuteMax = 60;
/** Of a JSON body, where the route does not say more. */
export const smallBodyBytesMax = 64 * 1024;
/** Of the JSON body of a new data set or job. */
export const largeBodyBytesMax = datasetManifestBytesMax;
/** Of JSON bodies that are being read, all together. */
export const bodyBytesHeldMax = 64 * 2 ** 20;
export const jsonDepthMax = 32;
/** Values of one JSON body; the largest manifest of a data set has half as many. */
export const jsonValuesMax = 500_000;
