/** GraphQL: what REST lists and steers, and the progress of jobs as a subscription. */
import { Module, type DynamicModule } from '@nestjs/common';
import { GraphQLModule } from '@nestjs/graphql';
import type { TrustProxy } from '../../core/config/trust-proxy.js';
import { DataModule } from '../../data/data.module.js';
import { EvidenceModule } from '../../evidence/evidence.module.js';
import { JobsModule } from '../../jobs/jobs.module.js';
import { NodesModule } from '../../nodes/nodes.module.js';
import { SettlementModule } from '../../settlement/settlement.module.js';
import { WebhooksModule } from '../../webhooks/webhooks.module.js';
import { AdminResolver } from './admin.resolver.js';
import { DatasetsResolver } from './datasets.resolver.js';
import { EscrowResolver } from './escrow.resolver.js';
import { GraphqlGate } from './graphql-gate.js';
import { graphqlOptions } from './graphql.js';
import { JobsResolver } from './jobs.resolver.js';
import { NodesResolver } from './nodes.resolver.js';
import { OperatorResolver } from './operator.resolver.js';
import { OwnResolver } from './own.resolver.js';
import { TenantsResolver } from './tenants.resolver.js';
import { WebhooksResolver } from './webhooks.resolver.js';
import { WorkResolver } from './work.resolver.js';

@Module({
  imports: [DataModule, EvidenceModule, JobsModule, NodesModule, SettlementModule, WebhooksModule],
  providers: [
    AdminResolver,
    DatasetsResolver,
    EscrowResolver,
    GraphqlGate,
    JobsResolver,
    NodesResolver,
    OperatorResolver,
    OwnResolver,
    TenantsResolver,
    WebhooksResolver,
    WorkResolver,
  ],
})
export class GraphqlModule {
  /** @param schemaFile  where to write the schema; true: nowhere */
  static of(schemaFile: string | true, trust: TrustProxy | null): DynamicModule {
    return { module: GraphqlModule, imports: [GraphQLModule.forRoot(graphqlOptions(schemaFile, trust))] };
  }
}
