/** Ciphertexts by their SHA-256, in a folder or in an object store. */
import { Module } from '@nestjs/common';
import { TimingModule } from '../timing/timing.module.js';
import { BlobStore } from './blob-store.js';
import { BlobCollector } from './collector.js';

@Module({
  imports: [TimingModule],
  providers: [BlobCollector, BlobStore],
  exports: [BlobCollector, BlobStore],
})
export class ObjectsModule {}
