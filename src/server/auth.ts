import { createHash, randomBytes } from "node:crypto";
import { z } from "zod";
import { UpheldError } from "../core/errors.ts";
import { onlyRow, textIn, type Database, type Statements } from "../store/database.ts";

/** What a token may do in its project: hand over, look, decide, or see to the project and its tokens. */
export const SCOPES = ["ingest", "read", "judge", "admin"] as const;
export type Scope = (typeof SCOPES)[number];

/** The name of a project: a part of addresses, so plain. */
export const ProjectName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,62}$/, "expected 1 to 63 lower-case letters, digits or dashes")
  .brand("ProjectName");
export type ProjectName = z.infer<typeof ProjectName>;

/** Who asks, as far as it matters: one project, and what may be done in it. */
export interface Access {
  readonly project: ProjectName;
  readonly scopes: ReadonlySet<Scope>;
}

/** The project of a collector that only this machine reaches and that has no tokens. */
export const LOCAL_PROJECT = ProjectName.parse("local");
export const LOCAL_ACCESS: Access = { project: LOCAL_PROJECT, scopes: new Set(SCOPES) };

const TOKEN = /^upk_[A-Za-z0-9_-]{43}$/;
const HASH_BYTES = 32;

/** What is asked of a new token. */
export interface TokenOrder {
  readonly project: ProjectName;
  readonly scopes: readonly Scope[];
  readonly label: string;
  /** Days from now; without them it stays until it is revoked. */
  readonly expiresInDays?: number | undefined;
}

/** A new token: told this once, its hash alone is kept. */
export interface NewToken {
  readonly id: string;
  readonly token: string;
}

/** Makes a token, and its project where it is new. */
export async function createToken(database: Database, order: TokenOrder): Promise<NewToken> {
  const token = `upk_${randomBytes(HASH_BYTES).toString("base64url")}`;
  return database.transaction(async (statements) => {
    await addProject(statements, order.project);
    const rows = await statements.query(
      `INSERT INTO tokens (project, hash, scopes, label, expires_at)
       VALUES ($1, $2, $3, $4, now() + $5::int * interval '1 day') RETURNING id::text AS id`,
      [
        order.project,
        hashOf(token),
        order.scopes.join(" "),
        order.label,
        order.expiresInDays ?? null,
      ],
    );
    return { id: textIn(onlyRow(rows), "id"), token };
  });
}

export async function addProject(statements: Statements, project: ProjectName): Promise<void> {
  await statements.query("INSERT INTO projects (name) VALUES ($1) ON CONFLICT DO NOTHING", [
    project,
  ]);
}

/** Ends a token of the project. False where it has none of that id that still holds. */
export async function revokeToken(
  statements: Statements,
  project: ProjectName,
  id: string,
): Promise<boolean> {
  const rows = await statements.query(
    `UPDATE tokens SET revoked_at = now()
      WHERE project = $1 AND id::text = $2 AND revoked_at IS NULL RETURNING id::text AS id`,
    [project, id],
  );
  return rows.length > 0;
}

/** A token as it is listed: everything but itself. */
export const ListedToken = z
  .object({
    id: z.string(),
    label: z.string(),
    scopes: z.array(z.enum(SCOPES)),
    createdAt: z.string(),
    expiresAt: z.string().nullable(),
    revokedAt: z.string().nullable(),
  })
  .readonly();
export type ListedToken = z.infer<typeof ListedToken>;

export async function listTokens(
  statements: Statements,
  project: ProjectName,
): Promise<readonly ListedToken[]> {
  const rows = await statements.query(
    `SELECT id::text AS id, label, scopes, ${time("created_at")}, ${time("expires_at")}, ${time("revoked_at")}
       FROM tokens WHERE project = $1 ORDER BY tokens.created_at, tokens.id`,
    [project],
  );
  return rows.map((row) =>
    ListedToken.parse({
      id: row["id"],
      label: row["label"],
      scopes: textIn(row, "scopes").split(" "),
      createdAt: row["created_at"],
      expiresAt: row["expires_at"],
      revokedAt: row["revoked_at"],
    }),
  );
}

/** A column of times as RFC 3339 text. */
export function time(column: string): string {
  return `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS ${column}`;
}

/** Whom a token of a request stands for; undefined where it stands for nobody. */
export async function accessOf(statements: Statements, token: string): Promise<Access | undefined> {
  if (!TOKEN.test(token)) return undefined;
  const rows = await statements.query(
    `SELECT project, scopes FROM tokens
      WHERE hash = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())`,
    [hashOf(token)],
  );
  const [row] = rows;
  if (row === undefined) return undefined;
  const project = ProjectName.parse(row["project"]);
  return { project, scopes: new Set(scopesOf(textIn(row, "scopes").split(" "))) };
}

/** Whether anyone has been given a token that still holds. */
export async function hasTokens(statements: Statements): Promise<boolean> {
  const rows = await statements.query(
    "SELECT 1 AS one FROM tokens WHERE revoked_at IS NULL LIMIT 1",
  );
  return rows.length > 0;
}

/** The scopes by their names. Throws "argument_invalid" on any other. */
export function scopesOf(names: readonly string[]): readonly Scope[] {
  return names.map((name) => {
    const scope = SCOPES.find((each) => each === name);
    if (scope !== undefined) return scope;
    throw new UpheldError(
      "argument_invalid",
      `scope ${JSON.stringify(name)}: expected one of ${SCOPES.join(", ")}`,
    );
  });
}

function hashOf(token: string): Uint8Array {
  return createHash("sha256").update(token).digest();
}
