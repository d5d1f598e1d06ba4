import { parseGlob, type Glob } from "../core/glob.ts";

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
  const lists = Object.entries(NOISE).map(([name, patterns]) => ({
    // Object.entries forgets the names of its keys.
    name: name as NoiseName,
    globs: patterns.map((pattern): Glob => parseGlob(`${root}:/**/${pattern}`)),
  }));
  return (uri) => lists.find(({ globs }) => globs.some((glob) => glob.matches(uri)))?.name;
}
