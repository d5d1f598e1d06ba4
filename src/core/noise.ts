import { expandBraces, parseGlob } from "./glob.ts";
import { segmentsOf } from "./locator.ts";
import { parseNamePattern } from "./name-pattern.ts";

/**
 * What `@noise` stands for: names under which programs keep their own books, by reason. Nothing is ignored unless `@noise`
 * stands in `allow`, and what was ignored is counted by these names. Git's hooks and configuration are not among them,
 * since they change what runs later.
 */
export const NOISE = {
  git: [
    ".git/{HEAD,ORIG_HEAD,FETCH_HEAD,MERGE_HEAD,COMMIT_EDITMSG,MERGE_MSG,index,packed-refs,gc.log,gc.pid}",
    ".git/*.lock",
    ".git/{objects,refs,logs}",
    ".git/{objects,refs,logs}/**",
  ],
  "python bytecode": ["__pycache__", "__pycache__/**", "*.{pyc,pyo}"],
  "caches of tools": [
    "{.cache,.pytest_cache,.mypy_cache,.ruff_cache,.eslintcache,.stylelintcache,.parcel-cache,.turbo,.nx}",
    "{.cache,.pytest_cache,.mypy_cache,.ruff_cache,.parcel-cache,.turbo,.nx}/**",
    "node_modules/{.cache,.vite}",
    "node_modules/{.cache,.vite}/**",
    "*.tsbuildinfo",
  ],
  "caches of package managers": [
    "{.npm,.pnpm-store}",
    "{.npm,.pnpm-store}/**",
    ".yarn/{cache,install-state.gz}",
    ".yarn/cache/**",
    ".cargo/registry",
    ".cargo/registry/**",
    "go/pkg/mod/cache",
    "go/pkg/mod/cache/**",
  ],
  "logs of runtimes": ["{npm,yarn,pnpm,lerna}-debug.log*", "yarn-error.log", "hs_err_pid*.log"],
  "swap files of editors": [".*.sw[a-p]", "*~", ".#*", "#*#"],
  "files of desktops": ["{.DS_Store,Thumbs.db,desktop.ini}"],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type NoiseName = keyof typeof NOISE;

/** The noise of one root: the name under which a location is ignored, or undefined. */
export function noiseOf(root: string): (uri: string) => NoiseName | undefined {
  const { byLastName, byFirstName } = index(root);
  return (uri) => {
    const names = segmentsOf(uri);
    const last = names.at(-1) ?? "";
    const found = byLastName.find((rule) => rule.matches(last));
    if (found !== undefined) return found.name;
    const rules = names.flatMap((name) => byFirstName.get(name) ?? []);
    return rules.find((rule) => rule.matches(uri))?.name;
  };
}

interface Rule {
  readonly name: NoiseName;
  readonly matches: (text: string) => boolean;
}

interface Index {
  /** By the pattern of a single name, wherever it stands. */
  readonly byLastName: readonly Rule[];
  /** By the name that a location must hold for the pattern to match: few locations hold any. */
  readonly byFirstName: ReadonlyMap<string, readonly Rule[]>;
}

function index(root: string): Index {
  const byLastName: Rule[] = [];
  const byFirstName = new Map<string, Rule[]>();
  for (const [name, pattern] of patterns()) {
    const [first = ""] = pattern.split("/");
    if (first === pattern) {
      byLastName.push({ name, matches: parseNamePattern(pattern) });
    } else {
      const glob = parseGlob(`${root}:/**/${pattern}`);
      byFirstName.set(first, [
        ...(byFirstName.get(first) ?? []),
        { name, matches: (uri) => glob.matches(uri) },
      ]);
    }
  }
  return { byLastName, byFirstName };
}

function patterns(): readonly (readonly [NoiseName, string])[] {
  return Object.entries(NOISE).flatMap(([name, lists]) =>
    // Object.entries forgets the names of its keys.
    lists.flatMap(expandBraces).map((pattern) => [name as NoiseName, pattern] as const),
  );
}
