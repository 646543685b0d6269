/** Re-attestation of workers of data-parallel jobs: until when each session counts, and every renewal that prolonged it. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class WorkerRenewals1763805000000 implements MigrationInterface {
  readonly name = 'WorkerRenewals1763805000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE "worker" ADD "attested_until" TIMESTAMP WITH TIME ZONE`);
    await runner.query(
      `CREATE TABLE "worker_renewal" (
         "worker_id" uuid NOT NULL,
         "nonce" text NOT NULL,
         "job_id" text NOT NULL,
         "tier" text NOT NULL,
         "evidence" bytea NOT NULL,
         "checks" jsonb NOT NULL,
         "at" bigint NOT NULL,
         "not_after" bigint NOT NULL,
         "appraisal_signature" text NOT NULL,
         "result" bytea NOT NULL,
         CONSTRAINT "PK_worker_renewal" PRIMARY KEY ("nonce", "worker_id")
       )`,
    );
    await runner.query(
      `ALTER TABLE "worker_renewal" ADD CONSTRAINT "FK_de498a41db4bddb6e74196c8e0d" FOREIGN KEY ("worker_id") REFERENCES "worker"("id") ON DELETE NO ACTION ON UPDATE NO ACTION`,
    );
    await runner.query(`CREATE INDEX "IDX_worker_renewal_job" ON "worker_renewal" ("job_id")`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP TABLE "worker_renewal"`);
    await runner.query(`ALTER TABLE "worker" DROP COLUMN "attested_until"`);
  }
}
