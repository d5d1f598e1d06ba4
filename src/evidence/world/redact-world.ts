import type { WorldCell } from "../../core/world.ts";
import { redactValue } from "../redact-value.ts";
import type { Redactor } from "../redactor.ts";
import type { World, WorldRow, WorldTable } from "./world.ts";

type Mask = (text: string) => string;

/** A world without secrets: in values, names and the texts of gaps. Done before anything of it is cut for its size. */
export function redactWorld(
  world: World,
  { redactor, mask }: { readonly redactor: Redactor; readonly mask: Mask },
): World {
  const { tables, ...rest } = world;
  return {
    ...redactValue(rest, mask),
    tables: tables.map((table) => redactTable(table, redactor, mask)),
  };
}

function redactTable({ rows, ...rest }: WorldTable, redactor: Redactor, mask: Mask): WorldTable {
  return { ...redactValue(rest, mask), rows: rows.map((row) => redactRow(row, redactor)) };
}

function redactRow({ now, before, ...rest }: WorldRow, redactor: Redactor): WorldRow {
  return {
    ...rest,
    ...(now === undefined ? {} : { now: now.map((cell) => redactCell(cell, redactor)) }),
    ...(before === undefined ? {} : { before: before.map((cell) => redactCell(cell, redactor)) }),
  };
}

/** Of a value that was cut where it was read, the end may be the beginning of a secret. */
function redactCell(cell: WorldCell, { mask, maskHead }: Redactor): WorldCell {
  if (cell === null) return null;
  if (typeof cell === "string") return mask(cell);
  if (!("value" in cell)) return cell;
  return { ...cell, value: cell.sizeBytes === undefined ? mask(cell.value) : maskHead(cell.value) };
}
