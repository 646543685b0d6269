/** The escrow of a job over GraphQL. */
import { UseFilters } from '@nestjs/common';
import { Field, Float, ID, Int, ObjectType, Parent, ResolveField, Resolver } from '@nestjs/graphql';
import { Allow, Caller, type Principal } from '../../core/auth/principal.js';
import { Escrows } from '../../settlement/escrows.js';
import { ProblemFilter } from '../problem.filter.js';
import { JobType } from './jobs.resolver.js';

@ObjectType('EscrowDuty')
class EscrowDutyType {
  @Field(() => Int) segment: number;
  @Field(() => String, { nullable: true }) challenger: string | null;
  /** Unix seconds of the chain. */
  @Field(() => Float, { nullable: true }) deadline: number | null;
  @Field(() => String) bondWei: string;
  @Field(() => Boolean) proved: boolean;
}

@ObjectType('EscrowPayment')
class EscrowPaymentType {
  @Field(() => String) kind: string;
  @Field(() => String) to: string;
  @Field(() => String) amountWei: string;
  @Field(() => String) transaction: string;
  @Field(() => Int) blockNumber: number;
}

@ObjectType('EscrowSetDue')
class EscrowSetDueType {
  @Field(() => Boolean) all: boolean;
  @Field(() => Float) deadline: number;
}

@ObjectType('EscrowSample')
class EscrowSampleType {
  @Field(() => String) seed: string;
  @Field(() => Boolean) fromBlock: boolean;
  @Field(() => Float) deadline: number;
}

@ObjectType('Escrow')
class EscrowType {
  @Field(() => ID) escrowId: string;
  @Field(() => String) state: string;
  @Field(() => String) fundedWei: string;
  @Field(() => String) paidWei: string;
  @Field(() => String) client: string;
  @Field(() => String) provider: string;
  @Field(() => Int) segments: number;
  @Field(() => Int) upTo: number;
  @Field(() => Int) proved: number;
  @Field(() => String, { nullable: true }) root: string | null;
  @Field(() => String, { nullable: true }) sealedBy: string | null;
  @Field(() => Boolean) escalated: boolean;
  @Field(() => EscrowSetDueType, { nullable: true }) setDue: EscrowSetDueType | null;
  @Field(() => EscrowSampleType, { nullable: true }) sample: EscrowSampleType | null;
  @Field(() => [EscrowDutyType]) duties: EscrowDutyType[];
  @Field(() => [EscrowPaymentType]) payments: EscrowPaymentType[];
  @Field(() => String, { nullable: true }) transaction: string | null;
}

@Resolver(() => JobType)
@UseFilters(ProblemFilter)
export class EscrowResolver {
  constructor(private readonly escrows: Escrows) {}

  @ResolveField(() => EscrowType)
  @Allow('client', 'reviewer', 'admin')
  escrow(@Caller() caller: Principal, @Parent() job: JobType): Promise<EscrowType> {
    return this.escrows.find(caller, job.id);
  }
}
