CREATE TABLE "api_key" (
  "created_at" timestamp with time zone NOT NULL,
  "id" text NOT NULL,
  "name" text NOT NULL,
  "provider" text,
  "revoked_at" timestamp with time zone,
  "role" text NOT NULL,
  "secret_hash" bytea NOT NULL,
  "tenant" text NOT NULL
);

CREATE TABLE "audit_log" (
  "action" text NOT NULL,
  "actor" text NOT NULL,
  "at" timestamp with time zone NOT NULL,
  "code" text,
  "id" bigint NOT NULL DEFAULT nextval('audit_log_id_seq'::regclass),
  "subject" text NOT NULL,
  "tenant" text NOT NULL
);

CREATE TABLE "blob" (
  "bytes" integer NOT NULL,
  "created_at" timestamp with time zone NOT NULL,
  "sha256" text NOT NULL,
  "tenant" text NOT NULL
);

CREATE TABLE "chain_cursor" (
  "block_hash" text NOT NULL,
  "block_number" integer NOT NULL,
  "contract" text NOT NULL,
  "updated_at" timestamp with time zone NOT NULL
);

CREATE TABLE "checkpoint" (
  "blob" text NOT NULL,
  "created_at" timestamp with time zone NOT NULL,
  "fence" integer NOT NULL,
  "job_id" text NOT NULL,
  "step" bigint NOT NULL
);

CREATE TABLE "dataset" (
  "created_at" timestamp with time zone NOT NULL,
  "id" text NOT NULL,
  "manifest" jsonb NOT NULL,
  "records" bigint NOT NULL,
  "root" text NOT NULL,
  "shards" integer NOT NULL,
  "tenant" text NOT NULL
);

CREATE TABLE "dataset_shard" (
  "bytes" integer NOT NULL,
  "dataset_id" text NOT NULL,
  "index" integer NOT NULL,
  "sha256" text NOT NULL,
  "uploaded_at" timestamp with time zone
);

CREATE TABLE "delivery" (
  "created_at" timestamp with time zone NOT NULL,
  "delivery" jsonb NOT NULL,
  "fence" integer NOT NULL,
  "job_id" text NOT NULL,
  "lease_id" uuid NOT NULL,
  "result_blob" text NOT NULL
);

CREATE TABLE "escrow_event" (
  "block_hash" text NOT NULL,
  "block_number" integer NOT NULL,
  "data" jsonb NOT NULL,
  "escrow_id" text NOT NULL,
  "log_index" integer NOT NULL,
  "name" text NOT NULL,
  "transaction" text NOT NULL
);

CREATE TABLE "idempotency" (
  "answer" jsonb,
  "body_hash" bytea NOT NULL,
  "created_at" timestamp with time zone NOT NULL,
  "key" text NOT NULL,
  "request" text NOT NULL,
  "status" integer,
  "tenant" text NOT NULL
);

CREATE TABLE "job" (
  "accept_by_at" timestamp with time zone NOT NULL,
  "assurance" text NOT NULL,
  "attempt" integer NOT NULL DEFAULT 1,
  "broker_url" text NOT NULL,
  "code" text,
  "created_at" timestamp with time zone NOT NULL,
  "dataset_id" text NOT NULL,
  "deadline_at" timestamp with time zone NOT NULL,
  "escrow_id" text NOT NULL,
  "escrow_state" text NOT NULL DEFAULT 'none'::text,
  "fence" integer NOT NULL DEFAULT 0,
  "funded" boolean NOT NULL DEFAULT false,
  "id" text NOT NULL,
  "idempotency_key" text,
  "lease_id" uuid,
  "policy" bytea NOT NULL,
  "progress" jsonb,
  "provider" text NOT NULL,
  "reason" jsonb,
  "seq" bigint NOT NULL DEFAULT nextval('job_seq_seq'::regclass),
  "settlement_transaction" text,
  "spec" bytea NOT NULL,
  "state" text NOT NULL,
  "steps" bigint NOT NULL,
  "tenant" text NOT NULL,
  "terms" jsonb NOT NULL,
  "updated_at" timestamp with time zone NOT NULL
);

CREATE TABLE "job_event" (
  "at" timestamp with time zone NOT NULL,
  "data" jsonb NOT NULL,
  "id" bigint NOT NULL DEFAULT nextval('job_event_id_seq'::regclass),
  "job_id" text NOT NULL,
  "type" text NOT NULL
);

CREATE TABLE "key_release" (
  "created_at" timestamp with time zone NOT NULL,
  "job_id" text NOT NULL,
  "lease_id" uuid NOT NULL,
  "release" jsonb NOT NULL,
  "result" bytea NOT NULL
);

CREATE TABLE "lease" (
  "acquired_at" timestamp with time zone NOT NULL,
  "attempt" integer NOT NULL,
  "end_code" text,
  "ended_at" timestamp with time zone,
  "expires_at" timestamp with time zone NOT NULL,
  "fence" integer NOT NULL,
  "id" uuid NOT NULL,
  "job_id" text NOT NULL,
  "node_id" uuid NOT NULL,
  "state" text NOT NULL,
  "tenant" text NOT NULL
);

CREATE TABLE "migrations" (
  "id" integer NOT NULL DEFAULT nextval('migrations_id_seq'::regclass),
  "name" character varying NOT NULL,
  "timestamp" bigint NOT NULL
);

CREATE TABLE "node" (
  "capabilities" jsonb NOT NULL,
  "created_at" timestamp with time zone NOT NULL,
  "id" uuid NOT NULL,
  "last_seen_at" timestamp with time zone NOT NULL,
  "name" text NOT NULL,
  "provider" text NOT NULL,
  "tenant" text NOT NULL
);

CREATE TABLE "outbox" (
  "created_at" timestamp with time zone NOT NULL,
  "id" bigint NOT NULL DEFAULT nextval('outbox_id_seq'::regclass),
  "payload" jsonb NOT NULL,
  "published_at" timestamp with time zone,
  "subject" text NOT NULL,
  "topic" text NOT NULL
);

CREATE TABLE "receipt" (
  "created_at" timestamp with time zone NOT NULL,
  "fence" integer NOT NULL,
  "job_id" text NOT NULL,
  "lease_id" uuid NOT NULL,
  "receipt" bytea NOT NULL,
  "statement" bytea NOT NULL,
  "step_from" bigint NOT NULL,
  "step_to" bigint NOT NULL
);

CREATE TABLE "verdict" (
  "at" bigint NOT NULL,
  "checks" jsonb NOT NULL,
  "evidence" bytea NOT NULL,
  "job_id" text NOT NULL,
  "lease_id" uuid NOT NULL,
  "receipt_key" bytea,
  "tier" text NOT NULL
);

ALTER TABLE api_key ADD CONSTRAINT "PK_b1bd840641b8acbaad89c3d8d11" PRIMARY KEY (id);
ALTER TABLE audit_log ADD CONSTRAINT "PK_07fefa57f7f5ab8fc3f52b3ed0b" PRIMARY KEY (id);
ALTER TABLE blob ADD CONSTRAINT "PK_329b29010957e79c1c3fca5de36" PRIMARY KEY (sha256, tenant);
ALTER TABLE chain_cursor ADD CONSTRAINT "PK_8408f73c8b9caffafb73fb60606" PRIMARY KEY (contract);
ALTER TABLE checkpoint ADD CONSTRAINT "FK_060526ab80bf21c8b9a98065d23" FOREIGN KEY (job_id) REFERENCES job(id);
ALTER TABLE checkpoint ADD CONSTRAINT "PK_bdbfd013aa9088c3f8ba28a525d" PRIMARY KEY (job_id, step);
ALTER TABLE dataset ADD CONSTRAINT "PK_36c1c67adb3d1dd69ae57f18913" PRIMARY KEY (id);
ALTER TABLE dataset_shard ADD CONSTRAINT "FK_1b57fb8c567059eb28d30485dd8" FOREIGN KEY (dataset_id) REFERENCES dataset(id);
ALTER TABLE dataset_shard ADD CONSTRAINT "PK_e33b9ca37e853e37d836b665b87" PRIMARY KEY (dataset_id, index);
ALTER TABLE delivery ADD CONSTRAINT "FK_783eb6cb417de97d8823a2a1a9e" FOREIGN KEY (job_id) REFERENCES job(id);
ALTER TABLE delivery ADD CONSTRAINT "PK_783eb6cb417de97d8823a2a1a9e" PRIMARY KEY (job_id);
ALTER TABLE escrow_event ADD CONSTRAINT "PK_42623d50dd68169528d92c0b908" PRIMARY KEY (block_hash, log_index);
ALTER TABLE idempotency ADD CONSTRAINT "PK_722609548ad43f26c973adc5f73" PRIMARY KEY (tenant, key);
ALTER TABLE job ADD CONSTRAINT "FK_18c4674afefda82e9b1e7353e72" FOREIGN KEY (dataset_id) REFERENCES dataset(id);
ALTER TABLE job ADD CONSTRAINT "PK_98ab1c14ff8d1cf80d18703b92f" PRIMARY KEY (id);
ALTER TABLE job_event ADD CONSTRAINT "PK_d4439f70bd53ce8a8a2a9a783c7" PRIMARY KEY (id);
ALTER TABLE key_release ADD CONSTRAINT "FK_81da955a7b623969413f1c0879e" FOREIGN KEY (lease_id) REFERENCES lease(id);
ALTER TABLE key_release ADD CONSTRAINT "PK_81da955a7b623969413f1c0879e" PRIMARY KEY (lease_id);
ALTER TABLE lease ADD CONSTRAINT "FK_549b6f492e06c5844d3247c1540" FOREIGN KEY (job_id) REFERENCES job(id);
ALTER TABLE lease ADD CONSTRAINT "FK_fb18370f78514bdc0eddabe3f27" FOREIGN KEY (node_id) REFERENCES node(id);
ALTER TABLE lease ADD CONSTRAINT "PK_954811694773f24986695203663" PRIMARY KEY (id);
ALTER TABLE migrations ADD CONSTRAINT "PK_8c82d7f526340ab734260ea46be" PRIMARY KEY (id);
ALTER TABLE node ADD CONSTRAINT "PK_8c8caf5f29d25264abe9eaf94dd" PRIMARY KEY (id);
ALTER TABLE outbox ADD CONSTRAINT "PK_340ab539f309f03bdaa14aa7649" PRIMARY KEY (id);
ALTER TABLE receipt ADD CONSTRAINT "FK_499451cd25be9e420e22716b080" FOREIGN KEY (job_id) REFERENCES job(id);
ALTER TABLE receipt ADD CONSTRAINT "PK_bfa132c2264df5b090eeb32648d" PRIMARY KEY (job_id, step_from);
ALTER TABLE verdict ADD CONSTRAINT "FK_6078abfa885492952fdf29e0d73" FOREIGN KEY (lease_id) REFERENCES lease(id);
ALTER TABLE verdict ADD CONSTRAINT "PK_6078abfa885492952fdf29e0d73" PRIMARY KEY (lease_id);
CREATE INDEX "IDX_ba27cef5b8b2b1a756e06ebcc5" ON public.audit_log USING btree (at);
CREATE INDEX "IDX_be33ded9bdbf016b70afbbab65" ON public.escrow_event USING btree (escrow_id, block_number, log_index);
CREATE INDEX "IDX_81524f01413c42b4e3b9fc2cca" ON public.idempotency USING btree (created_at);
CREATE UNIQUE INDEX "IDX_10f59c35e846b4f803511cb497" ON public.job USING btree (seq);
CREATE INDEX "IDX_1a3294bbe9213eec93d40f83f0" ON public.job USING btree (state, seq);
CREATE UNIQUE INDEX "IDX_3d976051b25cc9a7016e17e307" ON public.job USING btree (escrow_id);
CREATE INDEX "IDX_a4087494c09a7c339eab77f85b" ON public.job USING btree (tenant, seq);
CREATE INDEX "IDX_56f7f91a0d2f4acce21c6d998f" ON public.job_event USING btree (job_id, id);
CREATE UNIQUE INDEX "IDX_3c180e47e14e0cc8d584493f07" ON public.lease USING btree (job_id, fence);
CREATE INDEX "IDX_4d5041261e854f16784f923abd" ON public.lease USING btree (expires_at) WHERE (state = 'active'::text);
CREATE UNIQUE INDEX "IDX_a9d9dd0dc75b33fbfe50f09e9a" ON public.lease USING btree (job_id) WHERE (state = 'active'::text);
CREATE UNIQUE INDEX "IDX_ffbea3f80fd26b7f0c29ecc4ae" ON public.node USING btree (tenant, name);
CREATE INDEX "IDX_1c12a831dfa353aa6a9f1bbe67" ON public.outbox USING btree (id) WHERE (published_at IS NULL);
