/** When a segment was claimed to be proved: nobody keeps it longer than the terms give to one proof. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class ClaimedAt1763865000000 implements MigrationInterface {
  readonly name = 'ClaimedAt1763865000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE "segment_proof" ADD "claimed_at" TIMESTAMP WITH TIME ZONE`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE "segment_proof" DROP COLUMN "claimed_at"`);
  }
}
