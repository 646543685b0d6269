/** Operator keys name the account that their nodes are paid to. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class KeyProvider1763730000000 implements MigrationInterface {
  readonly name = 'KeyProvider1763730000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE "api_key" ADD "provider" text`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE "api_key" DROP COLUMN "provider"`);
  }
}
