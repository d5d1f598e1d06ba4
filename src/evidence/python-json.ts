import type { JsonTree, NumeralReader } from "../core/strict-json.ts";

/** A number as Python writes it. */
export class PythonNumeral {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Reads a number as Python does: digits alone are a whole number of any size, all else a double. */
export const pythonNumeral: NumeralReader<PythonNumeral> = (literal) => {
  if (/^-?[0-9]+$/.test(literal))
    return { value: new PythonNumeral(literal === "-0" ? "0" : literal) };
  const value = Number(literal);
  return Number.isFinite(value)
    ? { value: new PythonNumeral(floatText(value)) }
    : { lost: "the number is too large for a double" };
};

/**
 * The text that Python's `json.dumps(sort_keys=True, separators=(",", ":"), ensure_ascii=False)` gives of a value: keys by
 * code points where RFC 8785 sorts by UTF-16 units, 1.0 where it has 1, 1e-07 where it has 1e-7.
 */
export function pythonJson(value: JsonTree<PythonNumeral>): string {
  if (value instanceof PythonNumeral) return value.text;
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "string") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((each) => pythonJson(each)).join(",")}]`;
  const members = Object.entries(value).toSorted(([left], [right]) => byCodePoint(left, right));
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${pythonJson(member)}`).join(",")}}`;
}

function byCodePoint(left: string, right: string): number {
  const [ones, others] = [Array.from(left), Array.from(right)];
  const at = ones.findIndex((character, index) => character !== others[index]);
  return at === -1 ? ones.length - others.length : pointAt(ones, at) - pointAt(others, at);
}

/** Behind the end, less than any character. */
function pointAt(characters: readonly string[], index: number): number {
  return characters[index]?.codePointAt(0) ?? -1;
}

/** Python's repr of a double: the same shortest digits, another form. */
function floatText(value: number): string {
  const sign = value < 0 || Object.is(value, -0) ? "-" : "";
  const [mantissa = "", exponent = ""] = Math.abs(value).toExponential().split("e");
  const digits = mantissa.replace(".", "");
  const point = Number(exponent) + 1;
  return sign + (point > -4 && point <= 16 ? fixedText(digits, point) : powerText(mantissa, point));
}

function fixedText(digits: string, point: number): string {
  if (point <= 0) return `0.${"0".repeat(-point)}${digits}`;
  return `${digits.slice(0, point).padEnd(point, "0")}.${digits.slice(point) || "0"}`;
}

function powerText(mantissa: string, point: number): string {
  const power = point - 1;
  return `${mantissa}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
}
