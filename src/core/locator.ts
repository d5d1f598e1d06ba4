import { z } from "zod";
import { UpheldError } from "./errors.ts";

/** The root that a locator without a name means. */
export const DEFAULT_ROOT = "workspace";

/** Two characters at least: a single letter before a colon is a drive. */
const ROOT_NAME = /^[A-Za-z][A-Za-z0-9_-]{1,63}$/;

/** The name of a root, as `--root NAME=DIR` gives it. */
export const RootName = z
  .string()
  .regex(ROOT_NAME, "expected 2 to 64 letters, digits, dashes or underscores");
export type RootName = z.infer<typeof RootName>;

/** A place on a surface: `workspace:/data/out.txt`, or a pattern over places. */
export interface Locator {
  readonly root: string;
  /** The path's components, none empty, none "." or "..". */
  readonly segments: readonly string[];
  /** The one spelling: NAME:/a/b. */
  readonly text: string;
}

/**
 * Reads a locator and brings it to its one spelling: a missing name is `workspace`, doubled slashes and "." collapse.
 * Throws "locator_invalid" on an empty path, "..", NUL, a backslash, a drive letter and a trailing slash.
 */
export function parseLocator(text: string): Locator {
  const { root, path } = splitRoot(text);
  const reason = refusalOf(root, path);
  if (reason !== undefined)
    throw new UpheldError("locator_invalid", `locator ${JSON.stringify(text)}: ${reason}`);
  const segments = path.split("/").filter((segment) => segment !== "" && segment !== ".");
  return { root, segments, text: locationUri(root, segments) };
}

/** The uri of a location from the parts of its path. */
export function locationUri(root: string, segments: readonly string[]): string {
  return `${root}:/${segments.join("/")}`;
}

/** The root's name in the uri of a location. */
export function rootOf(uri: string): string {
  return uri.slice(0, Math.max(0, uri.indexOf(":")));
}

/** The path's components in the uri of a location. */
export function segmentsOf(uri: string): readonly string[] {
  const path = uri.slice(uri.indexOf(":") + 2);
  return path === "" ? [] : path.split("/");
}

function splitRoot(text: string): { root: string; path: string } {
  const colon = text.indexOf(":");
  const slash = text.indexOf("/");
  if (colon > 0 && (slash === -1 || colon < slash))
    return { root: text.slice(0, colon), path: text.slice(colon + 1) };
  return { root: DEFAULT_ROOT, path: text };
}

function refusalOf(root: string, path: string): string | undefined {
  if (path.includes("\0")) return "a NUL is in no name";
  if (path.includes("\\")) return "a backslash separates nothing here; write /";
  if (root.length === 1) return "a drive letter is no root; name the directory with --root";
  if (!ROOT_NAME.test(root))
    return `${JSON.stringify(root)} is no name of a root (expected 2 to 64 letters, digits, dashes or underscores)`;
  const segments = path.split("/");
  if (segments.includes("..")) return '".." could leave the root';
  if (segments.every((segment) => segment === "" || segment === "."))
    return "it names the root itself; write /** for everything in it";
  const last = segments.at(-1);
  if (last === "" || last === ".")
    return "it ends in a slash; name the location itself, or write /** for everything beneath it";
  return undefined;
}

/** A locator in its one spelling. */
export const LocatorText = z.string().transform((text, context) => {
  try {
    return parseLocator(text).text;
  } catch (error) {
    context.addIssue({
      code: "custom",
      message: error instanceof Error ? error.message : "not a locator",
    });
    return z.NEVER;
  }
});
