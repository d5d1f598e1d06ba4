import { DEFAULT_ROOT, RootName } from "../core/locator.ts";
import { SqlSurfaceSource } from "../sources/sql/source.ts";
import { usage, type Parsed } from "./options.ts";
import type { GivenLimits, NamedRoot, WishedAttribution } from "./roots.ts";

/** A database as it was named on the command line. Its address may hold a password. */
export interface NamedDatabase {
  readonly name: string;
  readonly url: string;
}

export const DB_OPTION = {
  value: "[NAME=]URL|env:VAR",
  multiple: true,
  help: "a database to look at (postgres://..., sqlite:FILE); env:VAR keeps its password off the command line",
};
export const DB_HOLD_OPTION = {
  value: "SECONDS",
  help: "how long a database's snapshot may be held (default 1800)",
};

/** The databases of `--db`. Throws "argument_invalid" on a bad or repeated name, or an empty variable. */
export function databasesOf(
  parsed: Parsed,
  roots: readonly NamedRoot[],
  environment: NodeJS.ProcessEnv,
): readonly NamedDatabase[] {
  const taken = new Set(roots.map(({ name }) => name));
  return parsed.many("db").map((text) => {
    const database = databaseOf(text, environment);
    if (taken.has(database.name))
      throw usage(`--db: the name ${database.name} is given twice; write --db NAME=URL`);
    taken.add(database.name);
    return database;
  });
}

function databaseOf(text: string, environment: NodeJS.ProcessEnv): NamedDatabase {
  const [, given, address = ""] = /^(?:([A-Za-z][\w-]*)=)?(.+)$/s.exec(text) ?? [];
  const variable = /^env:(.+)$/s.exec(address)?.[1];
  const url = variable === undefined ? address : environment[variable];
  // The address itself is never told: it may hold a password.
  if (url === undefined || url === "")
    throw usage(
      variable === undefined ? "--db: an address is missing" : `--db: ${variable} is not set`,
    );
  const name = given ?? nameIn(url);
  if (!RootName.safeParse(name).success)
    throw usage("--db: name it, as in --db shop=env:DATABASE_URL (2 to 64 letters and digits)");
  return { name, url };
}

/** The name of the database in its address. */
function nameIn(url: string): string {
  const [, last = ""] = /([\w-]+)(?:\.\w+)?(?:[?#].*)?$/s.exec(url) ?? [];
  return last === DEFAULT_ROOT ? "" : last;
}

/** The milliseconds of `--db-hold`. Throws "argument_invalid". */
export function holdOf(parsed: Parsed): number | undefined {
  const text = parsed.one("db-hold");
  if (text === undefined) return undefined;
  if (!/^\d{1,7}$/.test(text) || Number(text) === 0)
    throw usage(`--db-hold ${text}: expected whole seconds from 1`);
  return Number(text) * 1000;
}

/** The source of one database. */
export function databaseSourceOf(
  { name, url }: NamedDatabase,
  { limits, baselineLimits }: GivenLimits,
  how: {
    readonly wish: WishedAttribution;
    readonly holdMs?: number | undefined;
    readonly scratch?: string | undefined;
    readonly keepsMoment?: boolean | undefined;
  },
): SqlSurfaceSource {
  return new SqlSurfaceSource(
    { name, url },
    {
      limits: { ...limits, ...baselineLimits },
      attribution: how.wish === "window" ? "none" : how.wish,
      ...(how.holdMs === undefined ? {} : { holdMs: how.holdMs }),
      keepsMoment: how.keepsMoment ?? false,
      ...(how.scratch === undefined ? {} : { folder: how.scratch }),
    },
  );
}
