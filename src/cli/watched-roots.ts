import type { WatchedRoot } from "../run/record.ts";
import type { LocalFileSurfaceSource } from "../sources/local-files/source.ts";
import { sourceOf, type GivenLimits, type NamedRoot, type WishedAttribution } from "./roots.ts";

/** The sources of all roots of a run, ended together. */
export class WatchedRoots implements AsyncDisposable {
  readonly roots: readonly (WatchedRoot & { readonly source: LocalFileSurfaceSource })[];

  constructor(
    roots: readonly NamedRoot[],
    limits: GivenLimits,
    wishes: ReadonlyMap<string, WishedAttribution>,
  ) {
    this.roots = roots.map((root) => {
      const wish = wishes.get(root.name) ?? "auto";
      return {
        name: root.name,
        surface: "file",
        source: sourceOf(root, limits, wish),
        takesBaseline: wish !== "window",
      };
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { source } of this.roots) await source[Symbol.asyncDispose]();
  }
}
