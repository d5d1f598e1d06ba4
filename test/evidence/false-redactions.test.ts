import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { redactorOf } from "../../src/evidence/redactor.ts";
import { findTokens } from "../../src/run/secret-rules.ts";

const PACKAGES = join(import.meta.dirname, "../../node_modules");

/** Text that people wrote, and that is on every machine with the project: what packages say of themselves. */
function corpus(): readonly { readonly name: string; readonly text: string }[] {
  return readdirSync(PACKAGES, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.(md|txt)$/i.test(name))
    .toSorted()
    .filter((name) => statSync(join(PACKAGES, name)).isFile())
    .map((name) => ({ name, text: readFileSync(join(PACKAGES, name), "utf8") }));
}

/** What examples of addresses and settings hold is a password in form: to remove it is right. */
const EXAMPLE = /:\/\/[^\s/]*:[^\s/]*@|PASSWORD=/;

test(
  "text that people wrote loses nothing but the passwords of its examples",
  { timeout: 300_000 },
  async () => {
    const redactor = redactorOf({ nameOf: () => "0123456789ab", findTokens });
    const pages = corpus();
    await redactor.study(pages.map(({ text }) => text));
    const changed = pages.flatMap(({ name, text }) => {
      const lines = text.split("\n");
      const masked = redactor.mask(text).split("\n");
      return masked.flatMap((line, at) =>
        line === lines[at] ? [] : [{ name, was: lines[at] ?? "" }],
      );
    });
    const bytes = pages.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
    expect(bytes).toBeGreaterThan(1_000_000);
    const wrong = changed.filter(({ was }) => !EXAMPLE.test(was));
    expect(wrong.slice(0, 5)).toHaveLength(Math.min(wrong.length, Math.floor(bytes / 1_000_000)));
    // The control: examples are there, and are found.
    expect(changed.length).toBeGreaterThan(wrong.length);
  },
);
