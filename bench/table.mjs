const COLUMNS = [
  "row",
  "measures",
  "files",
  "first",
  "seconds",
  "second",
  "seconds",
  "ratio",
  "CPU ratio",
  "peak MB",
  "aim",
  "met",
];

/** One Markdown table, padded so that it reads on a terminal too. */
export function formatTable(results) {
  const lines = [COLUMNS, ...results.map(cells)];
  const widths = COLUMNS.map((_, column) => Math.max(...lines.map((line) => line[column].length)));
  const format = (line) =>
    `| ${line.map((cell, column) => cell.padEnd(widths[column])).join(" | ")} |`;
  const rule = `|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`;
  const notes = results.flatMap((result) =>
    result.notes.map((note) => `- ${result.id}, ${result.name}: ${note}`),
  );
  return [
    format(lines[0]),
    rule,
    ...lines.slice(1).map(format),
    ...(notes.length > 0 ? [""] : []),
    ...notes,
  ].join("\n");
}

function cells({ id, title, name, files, first, second, ratio, cpuRatio, aim, met }) {
  return [
    id,
    `${title}: ${name}`,
    files === undefined ? "" : files.toLocaleString("en"),
    first?.name ?? "-",
    spread(first?.seconds),
    second?.name ?? "-",
    spread(second?.seconds),
    spread(ratio),
    spread(cpuRatio),
    [first, second].map((side) => side?.peakMb?.max.toFixed(0) ?? "-").join(" / "),
    aim.ratioAtMost === undefined
      ? `peak <= ${aim.peakMbAtMost} MB`
      : `ratio <= ${aim.ratioAtMost}`,
    met === undefined ? "-" : met ? "yes" : "no",
  ];
}

function spread(summary) {
  if (summary === undefined) return "-";
  const [median, min, max] = [summary.median, summary.min, summary.max].map((value) =>
    value.toFixed(2),
  );
  return `${median} (${min}..${max})`;
}
