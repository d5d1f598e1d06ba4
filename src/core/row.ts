import { z } from "zod";
import { Digest } from "./ids.ts";

/** Between the values of a row in its content: the unit separator, which no value of its own is likely to hold. */
export const COLUMN_SEPARATOR = "\u001F";

/**
 * A column of a row: its value as the server writes it, lossless, or null. A value that was cut tells its size and digest; one
 * from which secrets were removed says so.
 */
export const Column = z
  .object({
    name: z.string(),
    type: z.string(),
    value: z.string().nullable(),
    cut: z
      .object({ sizeBytes: z.int().min(0), sha256: Digest })
      .readonly()
      .optional(),
    redacted: z.boolean().optional(),
  })
  .readonly();
export type Column = z.infer<typeof Column>;

/** A row at one moment. `key` names the columns by which it is told apart; none where the table has no key. */
export const Row = z
  .object({
    columns: z.array(Column).readonly(),
    key: z.array(z.string()).readonly(),
    /** True where other columns were not kept. */
    partial: z.boolean().optional(),
  })
  .readonly();
export type Row = z.infer<typeof Row>;

/** A value as a condition states it. */
export const Cell = z.union([z.string(), z.number(), z.boolean(), z.null()]);
export type Cell = z.infer<typeof Cell>;

const NUMERIC =
  /^(smallint|integer|bigint|int[248]?|numeric|decimal|real|double precision|float[48]?|oid)(\([^)]*\))?$/i;
const BOOLEAN = /^bool(ean)?$/i;
const TIME = /^(timestamp|timestamptz|time|timetz|date)\b(?!.*\[\])/i;

/** Whether a column holds a value: numbers by value, true and false by meaning, all else by the server's exact text. */
export function holdsCell(column: Pick<Column, "type" | "value">, wanted: Cell): boolean {
  const { type, value } = column;
  if (value === null || wanted === null) return value === wanted;
  const text = String(wanted);
  if (value === text) return true;
  if (NUMERIC.test(type)) return sameNumber(value, text);
  if (BOOLEAN.test(type)) return truthOf(value) !== undefined && truthOf(value) === truthOf(text);
  return TIME.test(type) && spellingOfTime(value) === spellingOfTime(text);
}

function sameNumber(left: string, right: string): boolean {
  const one = numberForm(left);
  return one !== undefined && one === numberForm(right);
}

/** Sign, digits without zeros at either end, and exponent: one form for every spelling of a number. */
function numberForm(text: string): string | undefined {
  return specialForm(text) ?? decimalForm(text);
}

function specialForm(text: string): string | undefined {
  const [, sign, name] = /^([+-]?)(nan|inf)(?:inity)?$/i.exec(text.trim()) ?? [];
  if (name === undefined) return undefined;
  return name.toLowerCase() === "nan" ? "nan" : `${minus(sign)}inf`;
}

function decimalForm(text: string): string | undefined {
  const found = /^([+-]?)(\d*)(?:\.(\d*))?(?:e([+-]?\d{1,9}))?$/i.exec(text.trim());
  if (found === null) return undefined;
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = found;
  if (whole === "" && fraction === "") return undefined;
  const digits = `${whole}${fraction}`.replace(/^0+/, "");
  const short = digits.replace(/0+$/, "");
  if (short === "") return "0";
  const scale = Number(exponent) - fraction.length + (digits.length - short.length);
  return `${minus(sign)}${short}e${scale}`;
}

function minus(sign: string | undefined): string {
  return sign === "-" ? "-" : "";
}

function truthOf(text: string): boolean | undefined {
  if (text === "t" || text === "true") return true;
  return text === "f" || text === "false" ? false : undefined;
}

/** "2026-03-01T10:00:00.500Z" and "2026-03-01 10:00:00.5+00" are one time. */
function spellingOfTime(text: string): string {
  return text
    .replace(/^(\d{4,6}-\d{2}-\d{2})T/, "$1 ")
    .replace(/Z$/, "+00")
    .replace(/([+-]\d{2}):?00$/, "$1")
    .replace(/(\.\d*?)0+(?=[+-]|$)/, "$1")
    .replace(/\.(?=[+-]|$)/, "");
}
