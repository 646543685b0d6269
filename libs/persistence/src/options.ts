/** TypeORM options that both engines share. The schema changes by migrations only. */
import type { DataSourceOptions } from 'typeorm';
import { entities } from './entities.js';
import { migrations } from '../../../migrations/index.js';
import { SnakeNaming } from './naming.js';

export const sharedOptions = {
  type: 'postgres',
  entities,
  migrations,
  migrationsTransactionMode: 'each',
  namingStrategy: new SnakeNaming(),
  installExtensions: false,
  uuidExtension: 'pgcrypto',
  synchronize: false,
  logging: false,
} as const satisfies Partial<DataSourceOptions>;
