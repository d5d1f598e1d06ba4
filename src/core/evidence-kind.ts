import { z } from "zod";

/** The kinds of evidence that a claim can need. */
export const EvidenceKind = z.enum(["transcript", "tool-calls", "files", "rows"]);
export type EvidenceKind = z.infer<typeof EvidenceKind>;

/** Surfaces whose locations are rows of tables. What any other surface holds is files. */
const ROW_SURFACES: ReadonlySet<string> = new Set(["sql"]);

/** Which kind of evidence the locations of a surface are. */
export function evidenceKindOf(surface: string): EvidenceKind {
  return ROW_SURFACES.has(surface) ? "rows" : "files";
}
