import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiBearerAuth, ApiResponse, ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { Uuid } from '#libs/messaging';
import { Allow, Caller, type Principal } from '../auth/principal.js';
import { decodeCursor, PageQuery } from '../paging.js';
import { NodePage, Nodes, NodeView } from './nodes.service.js';

@ApiTags('nodes')
@ApiBearerAuth()
@Controller('v1/nodes')
export class NodesController {
  constructor(private readonly nodes: Nodes) {}

  @Get()
  @Allow('client', 'operator', 'reviewer', 'admin')
  @ApiResponse({ status: 200, standardSchema: NodePage })
  list(@Caller() caller: Principal, @Query({ schema: PageQuery }) query: z.infer<typeof PageQuery>) {
    const after = query.cursor === undefined ? undefined : decodeCursor(query.cursor, Uuid);
    return this.nodes.list(caller, query.limit, after);
  }

  @Get(':id')
  @Allow('client', 'operator', 'reviewer', 'admin')
  @ApiResponse({ status: 200, standardSchema: NodeView })
  get(@Caller() caller: Principal, @Param('id', { schema: Uuid }) id: string): Promise<NodeView> {
    return this.nodes.find(caller, id);
  }
}
