/** The same data sets over GraphQL, without their manifests. */
import { UseFilters } from '@nestjs/common';
import { Args, Float, ID, Int, Mutation, Query, Resolver } from '@nestjs/graphql';
import { Hex32 } from '#libs/wire';
import { Allow, Caller, type Principal } from '../../core/auth/principal.js';
import { decodeCursor } from '../../core/paging.js';
import { DatasetPage, Datasets, DatasetSummary } from '../../data/datasets.service.js';
import { DatasetRemoval } from '../../jobs/dataset-removal.js';
import { ProblemFilter } from '../problem.filter.js';
import { hexId } from './jobs.resolver.js';
import { objectType } from './object-type.js';

const DatasetType = objectType('Dataset', DatasetSummary, { id: ID, bytes: Float });
const DatasetPageType = objectType('DatasetPage', DatasetPage);

@Resolver(() => DatasetType)
@UseFilters(ProblemFilter)
export class DatasetsResolver {
  constructor(
    private readonly datasets: Datasets,
    private readonly removal: DatasetRemoval,
  ) {}

  /** Data sets of the tenant. */
  @Query(() => DatasetPageType)
  @Allow('client', 'admin')
  datasetPage(
    @Caller() caller: Principal,
    @Args('limit', { type: () => Int, defaultValue: 50 }) limit: number,
    @Args('cursor', { type: () => String, nullable: true }) cursor: string | null,
  ): Promise<DatasetPage> {
    const after = cursor === null || cursor === undefined ? undefined : decodeCursor(cursor, Hex32);
    return this.datasets.list(caller, Math.min(Math.max(limit, 1), 200), after);
  }

  /** Takes its shards away for good, unless a job that has not ended needs them. */
  @Mutation(() => ID)
  @Allow('client', 'admin')
  async removeDataset(@Caller() caller: Principal, @Args('id', { type: () => ID }) id: string): Promise<string> {
    await this.removal.remove(caller, hexId(id));
    return id;
  }
}
