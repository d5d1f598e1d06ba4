/** Judgments over bundles that were delivered: appended, never changed. */
export const JUDGMENT_SCHEMA = `
CREATE TABLE judgments (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project text NOT NULL REFERENCES projects,
  id text NOT NULL,
  bundle text NOT NULL,
  claim text NOT NULL,
  claim_name text NOT NULL,
  judge text NOT NULL,
  judge_kind text NOT NULL,
  digest text NOT NULL,
  record bytea NOT NULL,
  received_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (project, id)
);
CREATE INDEX judgments_of_bundle ON judgments (project, bundle, number);
`;
