CREATE TABLE "api_key" (
  "created_at" timestamp with time zone NOT NULL,
  "expires_at" timestamp with time zone,
  "id" text NOT NULL,
  "last_used_at" timestamp with time zone,
  "name" text NOT NULL,
  "provider" text,
  "revoked_at" timestamp with time zone,
  "role" text NOT NULL,
  "scopes" text[],
  "secret_hash" bytea NOT NULL,
  "tenant" text NOT NULL
);

CREATE TABLE "audit_head" (
  "before_id" bigint NOT NULL,
  "digest" text,
  "id" integer NOT NULL,
  "n" bigint NOT NULL
);

CREATE TABLE "audit_log" (
  "action" text NOT NULL,
  "actor" text NOT NULL,
  "at" timestamp with time zone NOT NULL,
  "code" text,
  "id" bigint NOT NULL DEFAULT nextval('audit_log_id_seq'::regclass),
  "n" bigint,
  "prev" text,
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

CREATE TABLE "console_session" (
  "created_at" timestamp with time zone NOT NULL,
  "digest" text NOT NULL,
  "key_id" text NOT NULL,
  "used_at" timestamp with time zone NOT NULL
);

CREATE TABLE "dataset" (
  "created_at" timestamp with time zone NOT NULL,
  "deleted_at" timestamp with time zone,
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

CREATE TABLE "dead_letter" (
  "actor" text,
  "at" timestamp with time zone NOT NULL,
  "bytes" integer NOT NULL,
  "code" text NOT NULL,
  "id" bigint NOT NULL DEFAULT nextval('dead_letter_id_seq'::regclass),
  "pattern" text NOT NULL,
  "payload" bytea NOT NULL,
  "reason" jsonb NOT NULL,
  "replay_code" text,
  "replayed_at" timestamp with time zone,
  "source" text NOT NULL
);

CREATE TABLE "delivery" (
  "created_at" timestamp with time zone NOT NULL,
  "delivery" jsonb NOT NULL,
  "fence" integer NOT NULL,
  "job_id" text NOT NULL,
  "lease_id" uuid NOT NULL,
  "result_blob" text NOT NULL
);

CREATE TABLE "endorsement_set" (
  "bytes" bytea NOT NULL,
  "digest" text NOT NULL
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
  "attested_until" timestamp with time zone,
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
  "not_before" timestamp with time zone,
  "parallel" integer NOT NULL DEFAULT 1,
  "policy" bytea NOT NULL,
  "price" numeric(78,0) NOT NULL DEFAULT 0,
  "priority" integer NOT NULL DEFAULT 5,
  "progress" jsonb,
  "provider" text NOT NULL,
  "rank" bigint NOT NULL DEFAULT 0,
  "reason" jsonb,
  "requirements" jsonb NOT NULL DEFAULT '{}'::jsonb,
  "seq" bigint NOT NULL DEFAULT nextval('job_seq_seq'::regclass),
  "setbacks" integer NOT NULL DEFAULT 0,
  "settlement_transaction" text,
  "spec" bytea NOT NULL,
  "start_blobs" text[],
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
  "result" bytea NOT NULL,
  "result_signature" text
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

CREATE TABLE "log_outbox" (
  "attempts" integer NOT NULL,
  "body" bytea,
  "bundle" text,
  "code" text,
  "created_at" timestamp with time zone NOT NULL,
  "data" jsonb NOT NULL,
  "ended_at" timestamp with time zone,
  "entry" bytea,
  "id" bigint NOT NULL DEFAULT nextval('log_outbox_id_seq'::regclass),
  "kind" text NOT NULL,
  "member" bytea,
  "next_at" timestamp with time zone NOT NULL,
  "proof" text,
  "salt" bytea,
  "subject" text NOT NULL
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
  "state" text NOT NULL DEFAULT 'ready'::text,
  "tenant" text NOT NULL
);

CREATE TABLE "node_preflight" (
  "id" bigint NOT NULL DEFAULT nextval('node_preflight_id_seq'::regclass),
  "node_id" uuid NOT NULL,
  "posted_at" timestamp with time zone NOT NULL,
  "posted_by" text NOT NULL,
  "report" jsonb NOT NULL
);

CREATE TABLE "outbox" (
  "created_at" timestamp with time zone NOT NULL,
  "id" bigint NOT NULL DEFAULT nextval('outbox_id_seq'::regclass),
  "payload" jsonb NOT NULL,
  "published_at" timestamp with time zone,
  "subject" text NOT NULL,
  "topic" text NOT NULL
);

CREATE TABLE "prover_key" (
  "created_at" timestamp with time zone NOT NULL,
  "digest" text NOT NULL,
  "job_id" text NOT NULL,
  "logged" jsonb NOT NULL
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

CREATE TABLE "renewal" (
  "appraisal_signature" text NOT NULL,
  "at" bigint NOT NULL,
  "checks" jsonb NOT NULL,
  "endorsements" text,
  "evidence" bytea NOT NULL,
  "granted_at" bigint,
  "job_id" text NOT NULL,
  "lease_id" uuid NOT NULL,
  "nonce" text NOT NULL,
  "not_after" bigint NOT NULL,
  "result" bytea NOT NULL,
  "result_signature" text,
  "tier" text NOT NULL
);

CREATE TABLE "segment_proof" (
  "blob" text,
  "claimed_at" timestamp with time zone,
  "document" text,
  "expires_at" timestamp with time zone NOT NULL,
  "fence" integer NOT NULL,
  "index" integer NOT NULL,
  "job_id" text NOT NULL,
  "node_id" uuid NOT NULL,
  "proved_at" timestamp with time zone
);

CREATE TABLE "tenant_limit" (
  "dataset_bytes_max" bigint,
  "jobs_under_way_max" integer,
  "jobs_waiting_max" integer,
  "tenant" text NOT NULL
);

CREATE TABLE "verdict" (
  "at" bigint NOT NULL,
  "checks" jsonb NOT NULL,
  "devices" jsonb NOT NULL DEFAULT '[]'::jsonb,
  "endorsements" text,
  "evidence" bytea NOT NULL,
  "job_id" text NOT NULL,
  "lease_id" uuid NOT NULL,
  "receipt_key" bytea,
  "tier" text NOT NULL
);

CREATE TABLE "webhook" (
  "created_at" timestamp with time zone NOT NULL,
  "disabled_at" timestamp with time zone,
  "id" text NOT NULL,
  "secret" bytea NOT NULL,
  "states" jsonb NOT NULL,
  "tenant" text NOT NULL,
  "url" text NOT NULL
);

CREATE TABLE "webhook_delivery" (
  "attempts" integer NOT NULL,
  "body" text NOT NULL,
  "created_at" timestamp with time zone NOT NULL,
  "ended_at" timestamp with time zone,
  "id" bigint NOT NULL DEFAULT nextval('webhook_delivery_id_seq'::regclass),
  "last_outcome" text,
  "next_at" timestamp with time zone NOT NULL,
  "webhook_id" text NOT NULL
);

CREATE TABLE "worker" (
  "at" bigint NOT NULL,
  "attested_until" timestamp with time zone,
  "devices" jsonb NOT NULL DEFAULT '[]'::jsonb,
  "endorsements" text,
  "evidence" bytea NOT NULL,
  "id" uuid NOT NULL,
  "job_id" text NOT NULL,
  "node_id" uuid NOT NULL,
  "receipt_key" bytea NOT NULL,
  "release" jsonb NOT NULL,
  "result" bytea NOT NULL,
  "result_signature" text
);

CREATE TABLE "worker_renewal" (
  "appraisal_signature" text NOT NULL,
  "at" bigint NOT NULL,
  "checks" jsonb NOT NULL,
  "endorsements" text,
  "evidence" bytea NOT NULL,
  "granted_at" bigint,
  "job_id" text NOT NULL,
  "nonce" text NOT NULL,
  "not_after" bigint NOT NULL,
  "result" bytea NOT NULL,
  "result_signature" text,
  "tier" text NOT NULL,
  "worker_id" uuid NOT NULL
);

CREATE TABLE "worker_segment" (
  "blob" text,
  "done_at" timestamp with time zone,
  "expires_at" timestamp with time zone NOT NULL,
  "fence" integer NOT NULL,
  "index" integer NOT NULL,
  "job_id" text NOT NULL,
  "node_id" uuid NOT NULL,
  "receipt" bytea,
  "statement" bytea,
  "worker_id" uuid
);

ALTER TABLE api_key ADD CONSTRAINT "PK_b1bd840641b8acbaad89c3d8d11" PRIMARY KEY (id);
ALTER TABLE audit_head ADD CONSTRAINT "PK_audit_head" PRIMARY KEY (id);
ALTER TABLE audit_log ADD CONSTRAINT "PK_07fefa57f7f5ab8fc3f52b3ed0b" PRIMARY KEY (id);
ALTER TABLE blob ADD CONSTRAINT "PK_329b29010957e79c1c3fca5de36" PRIMARY KEY (sha256, tenant);
ALTER TABLE chain_cursor ADD CONSTRAINT "PK_8408f73c8b9caffafb73fb60606" PRIMARY KEY (contract);
ALTER TABLE checkpoint ADD CONSTRAINT "FK_060526ab80bf21c8b9a98065d23" FOREIGN KEY (job_id) REFERENCES job(id);
ALTER TABLE checkpoint ADD CONSTRAINT "PK_bdbfd013aa9088c3f8ba28a525d" PRIMARY KEY (job_id, step);
ALTER TABLE console_session ADD CONSTRAINT "FK_7e1b6ea14c1168a1b65d0800257" FOREIGN KEY (key_id) REFERENCES api_key(id);
ALTER TABLE console_session ADD CONSTRAINT "PK_console_session" PRIMARY KEY (digest);
ALTER TABLE dataset ADD CONSTRAINT "PK_36c1c67adb3d1dd69ae57f18913" PRIMARY KEY (id);
ALTER TABLE dataset_shard ADD CONSTRAINT "FK_1b57fb8c567059eb28d30485dd8" FOREIGN KEY (dataset_id) REFERENCES dataset(id);
ALTER TABLE dataset_shard ADD CONSTRAINT "PK_e33b9ca37e853e37d836b665b87" PRIMARY KEY (dataset_id, index);
ALTER TABLE dead_letter ADD CONSTRAINT "PK_e51e9e534cd18984b2aad76403c" PRIMARY KEY (id);
ALTER TABLE delivery ADD CONSTRAINT "FK_783eb6cb417de97d8823a2a1a9e" FOREIGN KEY (job_id) REFERENCES job(id);
ALTER TABLE delivery ADD CONSTRAINT "PK_783eb6cb417de97d8823a2a1a9e" PRIMARY KEY (job_id);
ALTER TABLE endorsement_set ADD CONSTRAINT "PK_endorsement_set" PRIMARY KEY (digest);
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
ALTER TABLE log_outbox ADD CONSTRAINT "PK_log_outbox" PRIMARY KEY (id);
ALTER TABLE migrations ADD CONSTRAINT "PK_8c82d7f526340ab734260ea46be" PRIMARY KEY (id);
ALTER TABLE node ADD CONSTRAINT "PK_8c8caf5f29d25264abe9eaf94dd" PRIMARY KEY (id);
ALTER TABLE node_preflight ADD CONSTRAINT "FK_bc57648e1e627f6d628a6bcfaa8" FOREIGN KEY (node_id) REFERENCES node(id);
ALTER TABLE node_preflight ADD CONSTRAINT "PK_node_preflight" PRIMARY KEY (id);
ALTER TABLE outbox ADD CONSTRAINT "PK_340ab539f309f03bdaa14aa7649" PRIMARY KEY (id);
ALTER TABLE prover_key ADD CONSTRAINT "PK_prover_key" PRIMARY KEY (job_id, digest);
ALTER TABLE receipt ADD CONSTRAINT "FK_499451cd25be9e420e22716b080" FOREIGN KEY (job_id) REFERENCES job(id);
ALTER TABLE receipt ADD CONSTRAINT "PK_bfa132c2264df5b090eeb32648d" PRIMARY KEY (job_id, step_from);
ALTER TABLE renewal ADD CONSTRAINT "FK_8f3307357a7bf612d97a7c64582" FOREIGN KEY (lease_id) REFERENCES lease(id);
ALTER TABLE renewal ADD CONSTRAINT "PK_renewal" PRIMARY KEY (lease_id, nonce);
ALTER TABLE segment_proof ADD CONSTRAINT "FK_1a75e8f2dda743bf5d4e009fb97" FOREIGN KEY (node_id) REFERENCES node(id);
ALTER TABLE segment_proof ADD CONSTRAINT "FK_26123666ea535c87477638eb6f8" FOREIGN KEY (job_id) REFERENCES job(id);
ALTER TABLE segment_proof ADD CONSTRAINT "PK_6ea8d9a52fe014aee2a5504b3eb" PRIMARY KEY (job_id, index);
ALTER TABLE tenant_limit ADD CONSTRAINT "PK_tenant_limit" PRIMARY KEY (tenant);
ALTER TABLE verdict ADD CONSTRAINT "FK_6078abfa885492952fdf29e0d73" FOREIGN KEY (lease_id) REFERENCES lease(id);
ALTER TABLE verdict ADD CONSTRAINT "PK_6078abfa885492952fdf29e0d73" PRIMARY KEY (lease_id);
ALTER TABLE webhook ADD CONSTRAINT "PK_e6765510c2d078db49632b59020" PRIMARY KEY (id);
ALTER TABLE webhook_delivery ADD CONSTRAINT "PK_b1ae290239a778f12399db91354" PRIMARY KEY (id);
ALTER TABLE worker ADD CONSTRAINT "FK_695a55087e871914b7daa666d6e" FOREIGN KEY (job_id) REFERENCES job(id);
ALTER TABLE worker ADD CONSTRAINT "FK_dccbc19aaad76946fb81e15cf24" FOREIGN KEY (node_id) REFERENCES node(id);
ALTER TABLE worker ADD CONSTRAINT "PK_dc8175fa0e34ce7a39e4ec73b94" PRIMARY KEY (id);
ALTER TABLE worker_renewal ADD CONSTRAINT "FK_de498a41db4bddb6e74196c8e0d" FOREIGN KEY (worker_id) REFERENCES worker(id);
ALTER TABLE worker_renewal ADD CONSTRAINT "PK_worker_renewal" PRIMARY KEY (nonce, worker_id);
ALTER TABLE worker_segment ADD CONSTRAINT "FK_07215d76f431cc564005c1017f8" FOREIGN KEY (worker_id) REFERENCES worker(id);
ALTER TABLE worker_segment ADD CONSTRAINT "FK_3903112e848eb14d23f0c6a60c0" FOREIGN KEY (job_id) REFERENCES job(id);
ALTER TABLE worker_segment ADD CONSTRAINT "FK_d95ce28b06f21c8528d7ada4e1a" FOREIGN KEY (node_id) REFERENCES node(id);
ALTER TABLE worker_segment ADD CONSTRAINT "PK_e592b5c9aca45751feb274f4668" PRIMARY KEY (job_id, index);
CREATE INDEX "IDX_audit_n" ON public.audit_log USING btree (n);
CREATE INDEX "IDX_audit_unchained" ON public.audit_log USING btree (id) WHERE (n IS NULL);
CREATE INDEX "IDX_ba27cef5b8b2b1a756e06ebcc5" ON public.audit_log USING btree (at);
CREATE INDEX "IDX_console_session_created" ON public.console_session USING btree (created_at);
CREATE INDEX "IDX_console_session_key" ON public.console_session USING btree (key_id);
CREATE INDEX "IDX_be33ded9bdbf016b70afbbab65" ON public.escrow_event USING btree (escrow_id, block_number, log_index);
CREATE INDEX "IDX_81524f01413c42b4e3b9fc2cca" ON public.idempotency USING btree (created_at);
CREATE UNIQUE INDEX "IDX_10f59c35e846b4f803511cb497" ON public.job USING btree (seq);
CREATE INDEX "IDX_1a3294bbe9213eec93d40f83f0" ON public.job USING btree (state, seq);
CREATE UNIQUE INDEX "IDX_3d976051b25cc9a7016e17e307" ON public.job USING btree (escrow_id);
CREATE INDEX "IDX_a4087494c09a7c339eab77f85b" ON public.job USING btree (tenant, seq);
CREATE INDEX "IDX_job_attested" ON public.job USING btree (attested_until) WHERE ((state = 'keyed'::text) OR (state = 'running'::text));
CREATE INDEX "IDX_job_start" ON public.job USING btree (id) WHERE (start_blobs IS NOT NULL);
CREATE INDEX "IDX_job_waiting" ON public.job USING btree (priority, rank, seq) WHERE ((state = 'submitted'::text) AND funded);
CREATE INDEX "IDX_job_waiting_class" ON public.job USING btree (provider, assurance, requirements, priority, rank, seq) WHERE ((state = 'submitted'::text) AND funded);
CREATE INDEX "IDX_job_waiting_tenant" ON public.job USING btree (tenant, rank) WHERE (state = 'submitted'::text);
CREATE INDEX "IDX_56f7f91a0d2f4acce21c6d998f" ON public.job_event USING btree (job_id, id);
CREATE UNIQUE INDEX "IDX_3c180e47e14e0cc8d584493f07" ON public.lease USING btree (job_id, fence);
CREATE INDEX "IDX_4d5041261e854f16784f923abd" ON public.lease USING btree (expires_at) WHERE (state = 'active'::text);
CREATE UNIQUE INDEX "IDX_a9d9dd0dc75b33fbfe50f09e9a" ON public.lease USING btree (job_id) WHERE (state = 'active'::text);
CREATE INDEX "IDX_lease_node" ON public.lease USING btree (node_id, acquired_at);
CREATE INDEX "IDX_lease_node_active" ON public.lease USING btree (node_id) WHERE (state = 'active'::text);
CREATE INDEX "IDX_lease_refused" ON public.lease USING btree (node_id) WHERE (state = 'refused'::text);
CREATE INDEX "IDX_log_outbox_due" ON public.log_outbox USING btree (next_at) WHERE (ended_at IS NULL);
CREATE UNIQUE INDEX "IDX_log_outbox_policy" ON public.log_outbox USING btree (subject) WHERE (kind = 'policy'::text);
CREATE INDEX "IDX_log_outbox_subject" ON public.log_outbox USING btree (kind, subject);
CREATE UNIQUE INDEX "IDX_ffbea3f80fd26b7f0c29ecc4ae" ON public.node USING btree (tenant, name);
CREATE INDEX "IDX_node_preflight_node" ON public.node_preflight USING btree (node_id, id);
CREATE INDEX "IDX_1c12a831dfa353aa6a9f1bbe67" ON public.outbox USING btree (id) WHERE (published_at IS NULL);
CREATE INDEX "IDX_renewal_job" ON public.renewal USING btree (job_id);
CREATE INDEX "IDX_83f0f0ad6ed276e0a377d67aba" ON public.webhook USING btree (tenant);
CREATE INDEX "IDX_afd282f8fbaa58974094b98cd7" ON public.webhook_delivery USING btree (next_at) WHERE (ended_at IS NULL);
CREATE INDEX "IDX_ef25cc28dcf88ea3dd81f39af2" ON public.webhook_delivery USING btree (webhook_id);
CREATE INDEX "IDX_d047ceebe0de09be19bb3971d9" ON public.worker USING btree (job_id, node_id);
CREATE INDEX "IDX_worker_renewal_job" ON public.worker_renewal USING btree (job_id);
