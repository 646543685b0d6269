import { Controller, Get, Param } from '@nestjs/common';
import { ApiBearerAuth, ApiResponse, ApiTags } from '@nestjs/swagger';
import { Hex32 } from '#libs/wire';
import { Allow, Caller, type Principal } from '../../core/auth/principal.js';
import { EscrowView } from '../../settlement/escrow.view.js';
import { Escrows } from '../../settlement/escrows.js';

@ApiTags('escrows')
@ApiBearerAuth()
@Controller('v1/jobs')
export class EscrowController {
  constructor(private readonly escrows: Escrows) {}

  /** The escrow of a job: state, duties and payments, from the chain's confirmed events. */
  @Get(':id/escrow')
  @Allow('client', 'reviewer', 'admin')
  @ApiResponse({ status: 200, standardSchema: EscrowView })
  get(@Caller() caller: Principal, @Param('id', { schema: Hex32 }) id: string): Promise<EscrowView> {
    return this.escrows.find(caller, id);
  }
}
