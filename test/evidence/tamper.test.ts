import { describe, expect, test } from "vitest";
import { seal, smallInput, tarOf, verifyTar } from "../support/sample-bundle.ts";
import type { Verification } from "../../src/evidence/verify.ts";

const bundle = await seal(smallInput);
const tar = tarOf(bundle.files);

/** Where a changed bundle was called intact, with and without the digest that it should have. */
async function notNoticed(
  changed: (place: number) => Uint8Array,
  places: number,
): Promise<{ readonly unnoticed: readonly number[]; readonly reasons: ReadonlySet<string> }> {
  const unnoticed: number[] = [];
  const reasons = new Set<string>();
  const record = (place: number, answer: Verification): void => {
    if (answer.ok) unnoticed.push(place);
    else reasons.add(answer.reason);
  };
  for (let place = 0; place < places; place += 1) {
    record(place, await verifyTar(changed(place)));
    // Looking at each place both ways would only repeat the same comparisons.
    if (place % 16 === 0) record(place, await verifyTar(changed(place), bundle.digest));
  }
  return { unnoticed, reasons };
}

describe("a small tar bundle", () => {
  test("is intact", async () => {
    expect(await verifyTar(tar)).toEqual({
      ok: true,
      digest: bundle.digest,
      statement: bundle.statement,
      signature: "absent",
      signatures: [],
      withheld: [],
    });
    expect((await verifyTar(tar, bundle.digest)).ok).toBe(true);
  });

  test("never verifies with one bit changed", { timeout: 120_000 }, async () => {
    const flipped = (bit: number): Uint8Array => {
      const copy = tar.slice();
      copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      return copy;
    };
    const { unnoticed, reasons } = await notNoticed(flipped, tar.length * 8);
    expect(unnoticed).toEqual([]);
    expect([...reasons].toSorted()).toMatchInlineSnapshot(`
      [
        "blob_changed",
        "container_invalid",
        "derived_changed",
        "entry_refused",
        "file_missing",
        "index_invalid",
        "statement_missing",
      ]
    `);
  });

  test("never verifies when cut at any length", async () => {
    const { unnoticed, reasons } = await notNoticed(
      (length) => tar.subarray(0, length),
      tar.length,
    );
    expect(unnoticed).toEqual([]);
    expect([...reasons]).toEqual(["container_invalid"]);
  });

  test.each([1, 511, 512, 9216])("never verifies with %i bytes behind its end", async (extra) => {
    const longer = new Uint8Array(tar.length + extra);
    longer.set(tar);
    expect(await verifyTar(longer)).toMatchObject({ ok: false, reason: "container_invalid" });
  });
});
