/** Rows of mixed values, about 140 bytes of JSON each. */
export function tableOf(rows: number): unknown {
  return {
    rows: Array.from({ length: rows }, (_, id) => ({
      name: `row ${id}`,
      id,
      note: "x".repeat(80),
      ok: true,
      ratio: id / 7,
    })),
  };
}
