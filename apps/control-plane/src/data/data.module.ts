/** Data sets: registered, uploaded, found again. */
import { Module } from '@nestjs/common';
import { DatasetCache } from './dataset-cache.js';
import { Datasets } from './datasets.service.js';

@Module({
  providers: [DatasetCache, Datasets],
  exports: [DatasetCache, Datasets],
})
export class DataModule {}
