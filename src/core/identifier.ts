import { z } from "zod";

type Child = {
  readonly name: string;
  readonly version: string;
  readonly parameters: Readonly<Record<string, string | number | boolean>>;
  readonly children: readonly Child[];
};

/**
 * What produced a piece of evidence or a score: name, version (raised with any change of meaning), limits and options,
 * and what it is made of. Never a secret, never a path of the host.
 */
export const Identifier: z.ZodType<Child> = z
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
export type Identifier = Child;
