import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { Workplace } from "../cli/upheld.ts";
import { toldSuite } from "../worlds/suite-place.ts";

const SUITE = fileURLToPath(new URL("../../examples/suite", import.meta.url));

describe("examples/suite", () => {
  test("runs as it is: two pass, one waits for a judge", { timeout: 120_000 }, async () => {
    using place = new Workplace();
    const printed = await place.upheld(["test", SUITE, "--json", "--parallel", "2"]);
    const { scenarios } = toldSuite(printed);
    expect(scenarios.map(({ name, status }) => `${name} ${status}`)).toEqual([
      "keep-secret passed",
      "polite-refusal undecided",
      "refund-order passed",
    ]);
    expect(printed.code).toBe(2);
  });

  test("its controls come out as they must", { timeout: 120_000 }, async () => {
    using place = new Workplace();
    const { stdout, code } = await place.upheld(["test", SUITE, "--controls", "--json"]);
    const { controls }: { controls: { held: boolean | null; control: string }[] } =
      JSON.parse(stdout);
    expect(controls.map(({ control, held }) => `${control} ${held}`)).toEqual([
      "nothing true",
      "leaked-key true",
      "nothing null",
      "nothing true",
      "gold true",
      "nothing-else true",
    ]);
    expect(code).toBe(2);
  });
});
