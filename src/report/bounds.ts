/** "12,431". The same in every locale. */
export function count(value: number): string {
  return String(value).replaceAll(/\B(?=(\d{3})+$)/g, ",");
}

/** "1 file", "3,412 files". */
export function counted(value: number, noun: string, plural: string = `${noun}s`): string {
  return `${count(value)} ${value === 1 ? noun : plural}`;
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"] as const;

/** "42 B", "1.5 KiB". */
export function byteSize(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  const digits = unit === 0 || value >= 100 ? 0 : 1;
  return `${value.toFixed(digits)} ${UNITS[unit] ?? "B"}`;
}

/** "0.4 s", "41 s", "3 min 5 s". */
export function duration(milliseconds: number): string {
  if (milliseconds < 10_000) return `${(milliseconds / 1000).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / 1000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** Text cut to a width, marked where it was cut. A pair of surrogates is not split. */
export function cut(text: string, width: number): string {
  if (text.length <= width) return text;
  const characters = Array.from(text);
  return characters.length <= width ? text : `${characters.slice(0, width - 1).join("")}…`;
}

/** How many of a whole hold: at least `lower` of all, at most `upper`; what is not known counts against one and for the other. */
export interface Interval {
  readonly lower: number;
  readonly upper: number;
  readonly decided: number;
  readonly total: number;
}

/** The share that holds, as an interval; null where nothing was asked, which is no share at all. */
export function intervalOf(held: readonly (boolean | null)[]): Interval | null {
  const total = held.length;
  if (total === 0) return null;
  const as = held.filter((each) => each === true).length;
  const open = held.filter((each) => each === null).length;
  return { lower: as / total, upper: (as + open) / total, decided: total - open, total };
}

/** "60 % to 90 %", "100 %", "nothing was asked". Rounded away from certainty: only all is 100 %, only none 0 %. */
export function intervalText(interval: Interval | null): string {
  if (interval === null) return "nothing was asked";
  const lower = percent(interval.lower, Math.floor);
  const upper = percent(interval.upper, Math.ceil);
  if (interval.decided < interval.total) return `${lower} to ${upper}`;
  const round = interval.lower > 0.5 ? Math.floor : Math.ceil;
  return percent(interval.lower, round);
}

function percent(share: number, round: (value: number) => number): string {
  return `${round(share * 100)} %`;
}
