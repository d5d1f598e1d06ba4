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

/** The shortest of five runs in milliseconds. */
export function bestTimeOf(action: () => unknown): number {
  const times = Array.from({ length: 5 }, () => {
    const from = performance.now();
    action();
    return performance.now() - from;
  });
  return Math.min(...times);
}
