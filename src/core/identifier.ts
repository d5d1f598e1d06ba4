import { z } from "zod";

export type Identifier = {
  readonly name: string;
  readonly version: string;
  readonly parameters: Readonly<Record<string, string | number | boolean>>;
  readonly children: readonly Identifier[];
};

/**
 * What produced a piece of evidence or a score: name, version (raised with any change of meaning), limits and options,
 * and what it is made of. Never a secret, never a path of the host.
 */
export const Identifier: z.ZodType<Identifier> = z
  .object({
    name: z.string().min(1),
    version: z.string().min(1),
    parameters: z
      .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
      .readonly()
      .default({}),
    children: z.lazy(() => z.array(Identifier).readonly()).default([]),
  })
  .readonly();
