import { isUpheldError } from "../core/errors.ts";
import type { BundleReader } from "../evidence/reader.ts";
import type { SuiteScenario } from "../evidence/suite-statement.ts";
import type { IntactScenario, IntactSuite } from "../evidence/verify-suite.ts";
import { counted, intervalOf, intervalText } from "../report/bounds.ts";
import { button, element } from "./element.ts";
import { inlineText } from "./evidence-text.ts";
import { openRun } from "./open-evidence.ts";
import { runPage } from "./run-page.ts";

/** A scenario as a row of the table tells of it: `held` per sub-goal, none where it has no evidence. */
interface ScenarioRow {
  readonly scenario: SuiteScenario;
  readonly intact: IntactScenario | undefined;
}

/** The scenarios of a suite with bounds of their scores, and the run of one that a reader asks for. */
export function suitePage(suite: IntactSuite, reader: BundleReader): HTMLElement {
  const { scenarios, run } = suite.statement.predicate;
  const rows = scenarios.map((scenario) => ({
    scenario,
    intact: suite.scenarios.find((each) => each.scenario === scenario),
  }));
  const total = element("p", { class: "lead", role: "status" }, "Reading the scenarios …");
  const body = element("tbody");
  const place = element("div", { id: "scenario" });
  const page = element(
    "div",
    {},
    element("h1", {}, "Suite ", inlineText(run.suite ?? "without a name")),
    total,
    element(
      "div",
      { class: "scroll", tabindex: 0, role: "group", "aria-label": "scenarios" },
      element(
        "table",
        { class: "suite" },
        element(
          "thead",
          {},
          element(
            "tr",
            {},
            ...["Scenario", "Score, from and to", "As expected", "Not", "Open", "Evidence"].map(
              (name) => element("th", { scope: "col" }, name),
            ),
          ),
        ),
        body,
      ),
    ),
    place,
  );
  void fill(rows, { reader, total, body, place });
  return page;
}

interface Places {
  readonly reader: BundleReader;
  readonly total: HTMLElement;
  readonly body: HTMLElement;
  readonly place: HTMLElement;
}

/** Reads a scenario after the other, so that the first rows are there at once. */
async function fill(rows: readonly ScenarioRow[], places: Places): Promise<void> {
  const all: (boolean | null)[] = [];
  for (const row of rows) {
    const held = await heldOf(row, places.reader);
    // A scenario without evidence is open, whatever it would have asked.
    all.push(...(held.length === 0 ? [null] : held));
    places.body.append(rowElement(row, held, places));
  }
  places.total.textContent =
    `${counted(rows.length, "scenario")}. Of all that was asked ` +
    `${intervalText(intervalOf(all))} came out as expected; what is open counts against the first and for the second.`;
}

async function heldOf({ intact }: ScenarioRow, reader: BundleReader): Promise<(boolean | null)[]> {
  if (intact === undefined) return [];
  try {
    const { report } = await openRun(reader, intact.statement);
    return report.subGoals.map(({ held }) => held);
  } catch (error) {
    if (isUpheldError(error)) return [];
    throw error;
  }
}

function rowElement(
  { scenario, intact }: ScenarioRow,
  held: readonly (boolean | null)[],
  { reader, place }: Places,
): HTMLElement {
  const interval = intervalOf(held);
  const of = (value: boolean | null): string =>
    String(held.filter((each) => each === value).length);
  const name = inlineText(`${scenario.scenarioKey} #${scenario.scenarioAttempt}`);
  return element(
    "tr",
    {},
    element("th", { scope: "row" }, name),
    element("td", {}, intervalBar(interval), ` ${intervalText(interval)}`),
    element("td", { class: "good" }, of(true)),
    element("td", { class: "bad" }, of(false)),
    element("td", { class: "open" }, of(null)),
    element(
      "td",
      {},
      scenario.state === "absent"
        ? inlineText(`none: ${scenario.reason}`)
        : button("Show", () => void showScenario(intact, reader, place)),
    ),
  );
}

/** The bounds of a share as a bar: what is sure is full, what is open is half. The words stand beside it. */
function intervalBar(interval: ReturnType<typeof intervalOf>): HTMLElement {
  const { lower = 0, upper = 1 } = interval ?? {};
  const bar = element("span", { class: "bar", "aria-hidden": "true" });
  bar.style.setProperty("--lower", `${lower * 100}%`);
  bar.style.setProperty("--upper", `${upper * 100}%`);
  return bar;
}

async function showScenario(
  intact: IntactScenario | undefined,
  reader: BundleReader,
  place: HTMLElement,
): Promise<void> {
  if (intact === undefined) return;
  try {
    place.replaceChildren(...runPage(await openRun(reader, intact.statement)));
  } catch (error) {
    if (!isUpheldError(error)) throw error;
    place.replaceChildren(element("p", { role: "alert" }, inlineText(error.message)));
  }
  place.scrollIntoView();
}
