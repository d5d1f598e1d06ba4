import { type Arbitrary, jsonValue } from "fast-check";
import { UpheldError } from "../../src/core/errors.ts";

/** Any JSON value with well-formed text. */
export const anyJson: Arbitrary<unknown> = jsonValue({ maxDepth: 6 }).filter(
  (value) => !/\\ud[89a-f]/.test(JSON.stringify(value)),
);

/** The UpheldError that an action throws; any other outcome fails the test. */
export function thrownBy(action: () => unknown): UpheldError {
  try {
    action();
  } catch (error) {
    if (error instanceof UpheldError) {
      return error;
    }
    throw error;
  }
  throw new Error("nothing was thrown");
}

/** A value with this many levels of arrays and objects. */
export function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level += 1) {
    value = level % 2 === 0 ? [value] : { a: value };
  }
  return value;
}
