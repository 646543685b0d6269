/** Re-attestation of sessions at work: until when a job's attestation counts, and every renewal that prolonged it. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Renewals1763785000000 implements MigrationInterface {
  readonly name = 'Renewals1763785000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE "job" ADD "attested_until" TIMESTAMP WITH TIME ZONE`);
    await runner.query(
      `CREATE INDEX "IDX_job_attested" ON "job" ("attested_until") WHERE "state" = 'keyed' OR "state" = 'running'`,
    );
    await runner.query(
      `CREATE TABLE "renewal" (
         "lease_id" uuid NOT NULL,
         "nonce" text NOT NULL,
         "job_id" text NOT NULL,
         "tier" text NOT NULL,
         "evidence" bytea NOT NULL,
         "checks" jsonb NOT NULL,
         "at" bigint NOT NULL,
         "not_after" bigint NOT NULL,
         "appraisal_signature" text NOT NULL,
         "result" bytea NOT NULL,
         CONSTRAINT "PK_renewal" PRIMARY KEY ("lease_id", "nonce")
       )`,
    );
    await runner.query(
      `ALTER TABLE "renewal" ADD CONSTRAINT "FK_8f3307357a7bf612d97a7c64582" FOREIGN KEY ("lease_id") REFERENCES "lease"("id") ON DELETE NO ACTION ON UPDATE NO ACTION`,
    );
    await runner.query(`CREATE INDEX "IDX_renewal_job" ON "renewal" ("job_id")`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP TABLE "renewal"`);
    await runner.query(`DROP INDEX "IDX_job_attested"`);
    await runner.query(`ALTER TABLE "job" DROP COLUMN "attested_until"`);
  }
}
