/** Every migration, oldest first. A released migration never changes. */
import type { MigrationInterface } from 'typeorm';
import { Initial1763722800000 } from './1763722800000-initial.js';
import { KeyProvider1763730000000 } from './1763730000000-key-provider.js';

export const migrations: (new () => MigrationInterface)[] = [Initial1763722800000, KeyProvider1763730000000];
