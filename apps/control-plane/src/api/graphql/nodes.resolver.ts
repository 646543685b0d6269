/** The same nodes over GraphQL. */
import { UseFilters } from '@nestjs/common';
import { Args, Field, Float, ID, Int, Mutation, ObjectType, Query, Resolver } from '@nestjs/graphql';
import { Uuid } from '#libs/wire';
import { Allow, Caller, type Principal } from '../../core/auth/principal.js';
import { decodeCursor } from '../../core/paging.js';
import { refusal } from '../../core/problem/codes.js';
import { Nodes } from '../../nodes/nodes.service.js';
import { ProblemFilter } from '../problem.filter.js';

@ObjectType('NodeCapabilities')
class NodeCapabilitiesType {
  @Field(() => String) tee: string;
  @Field(() => Int) cores: number;
  @Field(() => Int) memoryMiB: number;
  @Field(() => Float, { nullable: true }) samplesPerSecond?: number | undefined;
  @Field(() => String, { nullable: true }) tcb?: string | undefined;
  @Field(() => String, { nullable: true }) priceMin?: string | undefined;
  @Field(() => [String], { nullable: true }) groth16Keys?: string[] | undefined;
  @Field(() => String) version: string;
}

@ObjectType('Node')
class NodeType {
  @Field(() => ID) id: string;
  @Field(() => String) name: string;
  @Field(() => String) provider: string;
  @Field(() => NodeCapabilitiesType) capabilities: NodeCapabilitiesType;
  /** `ready`, `cordoned` or `draining`. */
  @Field(() => String) state: string;
  @Field(() => Boolean) online: boolean;
  @Field(() => String) lastSeenAt: string;
  @Field(() => String) createdAt: string;
}

@ObjectType('NodePage')
class NodePageType {
  @Field(() => [NodeType]) items: NodeType[];
  @Field(() => String, { nullable: true }) nextCursor: string | null;
}

@Resolver(() => NodeType)
@UseFilters(ProblemFilter)
export class NodesResolver {
  constructor(private readonly nodes: Nodes) {}

  @Query(() => NodeType)
  @Allow('client', 'operator', 'reviewer', 'admin')
  node(@Caller() caller: Principal, @Args('id', { type: () => ID }) id: string): Promise<NodeType> {
    return this.nodes.find(caller, nodeId(id));
  }

  @Query(() => NodePageType)
  @Allow('client', 'operator', 'reviewer', 'admin')
  nodePage(
    @Caller() caller: Principal,
    @Args('limit', { type: () => Int, defaultValue: 50 }) limit: number,
    @Args('cursor', { type: () => String, nullable: true }) cursor: string | null,
  ): Promise<NodePageType> {
    const after = cursor === null || cursor === undefined ? undefined : decodeCursor(cursor, Uuid);
    return this.nodes.list(caller, Math.min(Math.max(limit, 1), 200), after);
  }

  /** Gives it jobs again. */
  @Mutation(() => NodeType)
  @Allow('operator', 'admin')
  uncordonNode(@Caller() caller: Principal, @Args('id', { type: () => ID }) id: string): Promise<NodeType> {
    return this.nodes.schedule(caller, nodeId(id), 'ready');
  }

  /** Gives it no new jobs; what it has goes on. */
  @Mutation(() => NodeType)
  @Allow('operator', 'admin')
  cordonNode(@Caller() caller: Principal, @Args('id', { type: () => ID }) id: string): Promise<NodeType> {
    return this.nodes.schedule(caller, nodeId(id), 'cordoned');
  }

  /** Takes its jobs back, each at its next checkpoint. */
  @Mutation(() => NodeType)
  @Allow('operator', 'admin')
  drainNode(@Caller() caller: Principal, @Args('id', { type: () => ID }) id: string): Promise<NodeType> {
    return this.nodes.schedule(caller, nodeId(id), 'draining');
  }
}

function nodeId(id: string): string {
  if (Uuid.safeParse(id).success) return id;
  throw refusal('REQUEST_MALFORMED', { expected: 'a UUID', got: id.slice(0, 80), rule: 'schema.graphql' });
}
