/**
 * What verdicts rested on is kept, once for all that rested on the same; renewals are Leases; and a session's devices are
 * known while it is live. Rows of before have none of it.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const judged = ['verdict', 'worker', 'renewal', 'worker_renewal'];
const renewals = ['renewal', 'worker_renewal'];

export class Endorsements1763815000000 implements MigrationInterface {
  readonly name = 'Endorsements1763815000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `CREATE TABLE "endorsement_set" (
         "digest" text NOT NULL,
         "bytes" bytea NOT NULL,
         CONSTRAINT "PK_endorsement_set" PRIMARY KEY ("digest")
       )`,
    );
    for (const table of judged) await runner.query(`ALTER TABLE "${table}" ADD "endorsements" text`);
    for (const table of ['verdict', 'worker']) {
      await runner.query(`ALTER TABLE "${table}" ADD "devices" jsonb NOT NULL DEFAULT '[]'`);
    }
    for (const table of ['key_release', 'worker', ...renewals]) {
      await runner.query(`ALTER TABLE "${table}" ADD "result_signature" text`);
    }
    for (const table of renewals) await runner.query(`ALTER TABLE "${table}" ADD "granted_at" bigint`);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of renewals) await runner.query(`ALTER TABLE "${table}" DROP COLUMN "granted_at"`);
    for (const table of ['key_release', 'worker', ...renewals]) {
      await runner.query(`ALTER TABLE "${table}" DROP COLUMN "result_signature"`);
    }
    for (const table of ['verdict', 'worker']) await runner.query(`ALTER TABLE "${table}" DROP COLUMN "devices"`);
    for (const table of judged) await runner.query(`ALTER TABLE "${table}" DROP COLUMN "endorsements"`);
    await runner.query(`DROP TABLE "endorsement_set"`);
  }
}
