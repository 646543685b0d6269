/**
 * GraphQL over WebSocket, held as GraphQL over HTTP is: a message is no larger than a body, one address sends so many a
 * minute, and nothing is parsed as GraphQL before its key was looked at.
 */
import { Inject, Injectable } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import { GraphQLError } from 'graphql';
import type { ServerOptions } from 'graphql-ws';
import type { IncomingMessage } from 'node:http';
import { smallBodyBytesMax } from '../../core/overload/limits.js';
import { GraphqlGate } from './graphql-gate.js';

/** RFC 6455: a message that breaks a policy of the server. */
const tooMany = 1008;

interface Messages {
  prependListener(event: 'message' | 'error', heard: () => void): unknown;
  removeAllListeners(event: 'message' | 'error'): unknown;
  close(code: number, reason: string): void;
}

/** The server that the driver keeps to itself; `ws` reads its options at every upgrade. */
interface Sockets {
  readonly options: { maxPayload: number };
  on(event: 'connection', opened: (socket: Messages, request: IncomingMessage) => void): unknown;
}

type OnSubscribe = NonNullable<ServerOptions['onSubscribe']>;

@Injectable()
export class GuardedDriver extends ApolloDriver {
  @Inject(ModuleRef) private readonly parts!: ModuleRef;

  override async start(options: ApolloDriverConfig): Promise<void> {
    const gate = this.parts.get(GraphqlGate, { strict: false });
    await super.start({ ...options, subscriptions: guarded(options.subscriptions, gate) });
    const { wss } = (this as unknown as { readonly _subscriptionService: { readonly wss: Sockets } })
      ._subscriptionService;
    wss.options.maxPayload = smallBodyBytesMax;
    wss.on('connection', (socket, request) => {
      // ws closes with the reason; graphql-ws would print every one.
      socket.removeAllListeners('error');
      socket.prependListener('error', () => gate.heardWrong());
      socket.prependListener('message', () => {
        if (gate.hears(request)) return;
        // What still comes before the other side has closed is not read.
        socket.removeAllListeners('message');
        socket.close(tooMany, 'RATE_LIMITED');
      });
    });
  }
}

function guarded(given: ApolloDriverConfig['subscriptions'], gate: GraphqlGate): ApolloDriverConfig['subscriptions'] {
  const own = given?.['graphql-ws'];
  if (typeof own !== 'object') throw new Error('subscriptions over graphql-ws have options');
  const bounded = own.onSubscribe as OnSubscribe | undefined;
  const onSubscribe: OnSubscribe = async (...operation) => {
    const [{ connectionParams, extra }] = operation;
    const problem = await gate.refusalOf(connectionParams, (extra as { readonly request: IncomingMessage }).request);
    if (problem === null) return bounded?.(...operation);
    return [new GraphQLError(problem.detail, { extensions: { ...problem } })];
  };
  return { 'graphql-ws': { ...own, onSubscribe } };
}
