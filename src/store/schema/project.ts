/** Projects, and the tokens that stand for them. */
export const PROJECT_SCHEMA = `
CREATE TABLE projects (
  name text PRIMARY KEY,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE tokens (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  project text NOT NULL REFERENCES projects,
  hash bytea NOT NULL UNIQUE,
  scopes text NOT NULL,
  label text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz,
  revoked_at timestamptz
);
`;
