import type { z } from "zod";
import { UpheldError } from "./errors.ts";

/** What a kind of a union declares about itself: its stable tag and its form, and whatever the shared code needs to know. */
export interface KindDefinition {
  readonly kind: string;
  readonly schema: z.ZodType;
}

/** The kinds of one union. Shared code asks a kind for a declared property; it never branches on the tag. */
export interface KindRegistry<Definition extends KindDefinition> {
  /** Adds a kind. Throws "kind_registered_twice". */
  define(definition: Definition): Definition;
  /** The definition behind a tag. Throws "kind_unknown". */
  get(kind: string): Definition;
  readonly kinds: () => readonly string[];
}

/** A registry that starts with these kinds. Throws "kind_registered_twice" where two claim one tag. */
export function defineKinds<Definition extends KindDefinition>(
  union: string,
  definitions: readonly Definition[],
): KindRegistry<Definition> {
  const byKind = new Map<string, Definition>();
  const registry: KindRegistry<Definition> = {
    define(definition) {
      if (byKind.has(definition.kind))
        throw new UpheldError(
          "kind_registered_twice",
          `${union} kind ${JSON.stringify(definition.kind)} is defined twice`,
        );
      byKind.set(definition.kind, definition);
      return definition;
    },
    get(kind) {
      const found = byKind.get(kind);
      if (found === undefined) {
        const known = [...byKind.keys()].join(", ");
        throw new UpheldError(
          "kind_unknown",
          `${JSON.stringify(kind)} is no ${union} kind (known: ${known})`,
        );
      }
      return found;
    },
    kinds: () => [...byKind.keys()],
  };
  for (const definition of definitions) registry.define(definition);
  return registry;
}
