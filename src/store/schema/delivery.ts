/**
 * What is delivered. Jobs, scenarios and attempts go by digests over their project and names ("job", "scenario", "attempt"): a
 * name can be longer than an index takes. Each decision about something that came is one function, so one round trip and one
 * transaction.
 *
 * A blob that was removed keeps its row: \`removals\` counts up, so that whoever put the bytes again can tell, under the lock of
 * its digest, whether they were put before or after the removal.
 */
export const DELIVERY_SCHEMA = `
CREATE TABLE blobs (
  digest text PRIMARY KEY,
  size_bytes bigint NOT NULL,
  stored_at timestamptz NOT NULL DEFAULT now(),
  removed_at timestamptz,
  removals int NOT NULL DEFAULT 0
);
CREATE TABLE jobs (
  job text PRIMARY KEY,
  project text NOT NULL REFERENCES projects,
  job_id text NOT NULL,
  used_bytes bigint NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE artifacts (
  job text NOT NULL REFERENCES jobs,
  digest text NOT NULL REFERENCES blobs,
  project text NOT NULL,
  kind text NOT NULL,
  size_bytes bigint NOT NULL,
  bundle text,
  PRIMARY KEY (job, digest)
);
CREATE INDEX artifacts_of_blob ON artifacts (digest, project);
CREATE TABLE artifact_uses (
  attempt text NOT NULL,
  digest text NOT NULL,
  job text NOT NULL,
  stored_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (attempt, digest),
  FOREIGN KEY (job, digest) REFERENCES artifacts
);
CREATE INDEX artifact_uses_of_artifact ON artifact_uses (job, digest);
CREATE TABLE runs (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project text NOT NULL,
  job text NOT NULL REFERENCES jobs,
  scenario text NOT NULL,
  attempt text NOT NULL,
  job_id text NOT NULL,
  scenario_key text NOT NULL,
  attempt_id text NOT NULL,
  attempt_number bigint NOT NULL,
  scenario_attempt bigint NOT NULL,
  is_latest boolean NOT NULL DEFAULT true,
  status text NOT NULL,
  digest text NOT NULL,
  evidence text,
  bundle text,
  to_review jsonb NOT NULL,
  receipt bytea NOT NULL,
  searched text NOT NULL,
  received_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX runs_of_scenario ON runs (scenario, attempt_number, scenario_attempt);
CREATE UNIQUE INDEX runs_that_count ON runs (scenario) WHERE is_latest;
CREATE INDEX runs_of_project ON runs (project, id);
CREATE INDEX runs_to_review ON runs (project, id) WHERE is_latest AND bundle IS NOT NULL AND to_review <> '[]';
CREATE INDEX runs_of_bundle ON runs (project, bundle) WHERE bundle IS NOT NULL;
CREATE INDEX runs_of_attempt ON runs (attempt);
CREATE INDEX runs_of_job ON runs (job);

CREATE FUNCTION lock_name(what text) RETURNS void LANGUAGE sql AS $$
  SELECT pg_advisory_xact_lock(hashtextextended(what, 0))
$$;

CREATE FUNCTION take_artifact(
  of_project text, of_job text, of_job_id text, of_scenario text, of_attempt text,
  of_attempt_number bigint, of_scenario_attempt bigint,
  of_digest text, of_kind text, of_size bigint, of_bundle text, most_used bigint,
  seen_removals int, was_put boolean
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  known_kind text;
  blob blobs%ROWTYPE;
  made int;
BEGIN
  PERFORM lock_name(of_job);
  PERFORM lock_name(of_digest);
  PERFORM 1 FROM runs WHERE scenario = of_scenario AND is_latest
    AND (of_attempt_number, of_scenario_attempt) < (attempt_number, scenario_attempt);
  IF FOUND THEN RETURN 'attempt_superseded'; END IF;
  SELECT kind INTO known_kind FROM artifacts WHERE job = of_job AND digest = of_digest;
  IF known_kind <> of_kind THEN RETURN 'artifact_conflict'; END IF;
  IF known_kind IS NULL THEN
    SELECT * INTO blob FROM blobs WHERE digest = of_digest;
    IF blob.digest IS NULL THEN
      IF NOT was_put THEN RETURN 'blob_removed'; END IF;
    ELSIF blob.removed_at IS NOT NULL AND NOT (was_put AND blob.removals = seen_removals) THEN
      RETURN 'blob_removed';
    END IF;
    INSERT INTO jobs (job, project, job_id) VALUES (of_job, of_project, of_job_id) ON CONFLICT DO NOTHING;
    UPDATE jobs SET used_bytes = used_bytes + of_size WHERE job = of_job AND used_bytes + of_size <= most_used;
    IF NOT FOUND THEN RETURN 'over_budget'; END IF;
    INSERT INTO blobs (digest, size_bytes) VALUES (of_digest, of_size)
      ON CONFLICT (digest) DO UPDATE SET removed_at = NULL, stored_at = now() WHERE blobs.removed_at IS NOT NULL;
    INSERT INTO artifacts (job, digest, project, kind, size_bytes, bundle)
      VALUES (of_job, of_digest, of_project, of_kind, of_size, of_bundle);
  END IF;
  INSERT INTO artifact_uses (attempt, digest, job) VALUES (of_attempt, of_digest, of_job) ON CONFLICT DO NOTHING;
  GET DIAGNOSTICS made = ROW_COUNT;
  RETURN CASE WHEN made = 1 THEN 'stored' ELSE 'duplicate' END;
END $$;

CREATE FUNCTION take_receipt(
  of_project text, of_job text, of_job_id text, of_scenario text, of_scenario_key text,
  of_attempt text, of_attempt_id text, of_attempt_number bigint, of_scenario_attempt bigint,
  of_status text, of_digest text, of_evidence text, of_to_review jsonb, of_receipt bytea, of_searched text
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  latest runs%ROWTYPE;
  of_bundle text;
BEGIN
  PERFORM lock_name(of_scenario);
  SELECT * INTO latest FROM runs WHERE scenario = of_scenario AND is_latest;
  IF latest.id IS NOT NULL THEN
    IF (of_attempt_number, of_scenario_attempt) < (latest.attempt_number, latest.scenario_attempt) THEN
      RETURN 'attempt_superseded';
    END IF;
    IF (of_attempt_number, of_scenario_attempt) = (latest.attempt_number, latest.scenario_attempt) THEN
      RETURN CASE WHEN latest.digest = of_digest THEN 'duplicate' ELSE 'receipt_conflict' END;
    END IF;
  END IF;
  IF of_evidence IS NOT NULL THEN
    SELECT artifacts.bundle INTO of_bundle FROM artifact_uses JOIN artifacts USING (job, digest)
      WHERE attempt = of_attempt AND digest = of_evidence AND kind = 'evidence';
    IF NOT FOUND THEN RETURN 'evidence_missing'; END IF;
  END IF;
  INSERT INTO jobs (job, project, job_id) VALUES (of_job, of_project, of_job_id) ON CONFLICT DO NOTHING;
  UPDATE runs SET is_latest = false WHERE id = latest.id;
  INSERT INTO runs (project, job, scenario, attempt, job_id, scenario_key, attempt_id, attempt_number,
      scenario_attempt, status, digest, evidence, bundle, to_review, receipt, searched)
    VALUES (of_project, of_job, of_scenario, of_attempt, of_job_id, of_scenario_key, of_attempt_id,
      of_attempt_number, of_scenario_attempt, of_status, of_digest, of_evidence, of_bundle, of_to_review,
      of_receipt, of_searched);
  RETURN 'stored';
END $$;
`;
