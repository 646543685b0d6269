/** The escrow of a job over GraphQL. */
import { UseFilters } from '@nestjs/common';
import { Float, ID, Parent, ResolveField, Resolver } from '@nestjs/graphql';
import { Allow, Caller, type Principal } from '../../core/auth/principal.js';
import type { JobView } from '../../jobs/job.view.js';
import { EscrowDuty, EscrowPayment, EscrowSample, EscrowSetDue, EscrowView } from '../../settlement/escrow.view.js';
import { Escrows } from '../../settlement/escrows.js';
import { ProblemFilter } from '../problem.filter.js';
import { JobType } from './jobs.resolver.js';
import { objectType } from './object-type.js';

objectType('EscrowDuty', EscrowDuty, { deadline: Float });
objectType('EscrowPayment', EscrowPayment);
objectType('EscrowSetDue', EscrowSetDue, { deadline: Float });
objectType('EscrowSample', EscrowSample, { deadline: Float });
const EscrowType = objectType('Escrow', EscrowView, { escrowId: ID });

@Resolver(() => JobType)
@UseFilters(ProblemFilter)
export class EscrowResolver {
  constructor(private readonly escrows: Escrows) {}

  @ResolveField(() => EscrowType)
  @Allow('client', 'reviewer', 'admin')
  escrow(@Caller() caller: Principal, @Parent() job: JobView): Promise<EscrowView> {
    return this.escrows.find(caller, job.id);
  }
}
