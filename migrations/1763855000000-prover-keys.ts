/** What was logged of keys that went to nodes without a TEE. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class ProverKeys1763855000000 implements MigrationInterface {
  readonly name = 'ProverKeys1763855000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `CREATE TABLE "prover_key" (
         "job_id" text NOT NULL,
         "digest" text NOT NULL,
         "logged" jsonb NOT NULL,
         "created_at" timestamptz NOT NULL,
         CONSTRAINT "PK_prover_key" PRIMARY KEY ("job_id", "digest")
       )`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP TABLE "prover_key"`);
  }
}
