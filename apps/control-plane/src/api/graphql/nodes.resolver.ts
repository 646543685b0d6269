/** The same nodes over GraphQL. */
import { UseFilters } from '@nestjs/common';
import { Args, ID, Int, Mutation, Query, Resolver } from '@nestjs/graphql';
import { NodeCapabilities, Uuid } from '#libs/wire';
import { Allow, Caller, type Principal } from '../../core/auth/principal.js';
import { decodeCursor, type Page } from '../../core/paging.js';
import { refusal } from '../../core/problem/codes.js';
import { NodePage, Nodes, NodeView } from '../../nodes/nodes.service.js';
import { ProblemFilter } from '../problem.filter.js';
import { objectType } from './object-type.js';

objectType('NodeCapabilities', NodeCapabilities);
const NodeType = objectType('Node', NodeView, { id: ID });
const NodePageType = objectType('NodePage', NodePage);

@Resolver(() => NodeType)
@UseFilters(ProblemFilter)
export class NodesResolver {
  constructor(private readonly nodes: Nodes) {}

  @Query(() => NodeType)
  @Allow('client', 'operator', 'reviewer', 'admin')
  node(@Caller() caller: Principal, @Args('id', { type: () => ID }) id: string): Promise<NodeView> {
    return this.nodes.find(caller, nodeId(id));
  }

  @Query(() => NodePageType)
  @Allow('client', 'operator', 'reviewer', 'admin')
  nodePage(
    @Caller() caller: Principal,
    @Args('limit', { type: () => Int, defaultValue: 50 }) limit: number,
    @Args('cursor', { type: () => String, nullable: true }) cursor: string | null,
  ): Promise<Page<NodeView>> {
    const after = cursor === null || cursor === undefined ? undefined : decodeCursor(cursor, Uuid);
    return this.nodes.list(caller, Math.min(Math.max(limit, 1), 200), after);
  }

  /** Gives it jobs again. */
  @Mutation(() => NodeType)
  @Allow('operator', 'admin')
  uncordonNode(@Caller() caller: Principal, @Args('id', { type: () => ID }) id: string): Promise<NodeView> {
    return this.nodes.schedule(caller, nodeId(id), 'ready');
  }

  /** Gives it no new jobs; what it has goes on. */
  @Mutation(() => NodeType)
  @Allow('operator', 'admin')
  cordonNode(@Caller() caller: Principal, @Args('id', { type: () => ID }) id: string): Promise<NodeView> {
    return this.nodes.schedule(caller, nodeId(id), 'cordoned');
  }

  /** Takes its jobs back, each at its next checkpoint. */
  @Mutation(() => NodeType)
  @Allow('operator', 'admin')
  drainNode(@Caller() caller: Principal, @Args('id', { type: () => ID }) id: string): Promise<NodeView> {
    return this.nodes.schedule(caller, nodeId(id), 'draining');
  }
}

export function nodeId(id: string): string {
  if (Uuid.safeParse(id).success) return id;
  throw refusal('REQUEST_MALFORMED', { expected: 'a UUID', got: id.slice(0, 80), rule: 'schema.graphql' });
}
