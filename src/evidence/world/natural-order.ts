/** Orders texts as people do: numbers in them by their value, all else by its characters. The same wherever it runs. */
export function compareNaturally(left: string, right: string): number {
  const [one, other] = [piecesOf(left), piecesOf(right)];
  for (let at = 0; at < Math.min(one.length, other.length); at += 1) {
    const order = comparePieces(one[at] ?? "", other[at] ?? "");
    if (order !== 0) return order;
  }
  return one.length - other.length || compareTexts(left, right);
}

function piecesOf(text: string): readonly string[] {
  return text.match(/\d+|\D+/g) ?? [];
}

function comparePieces(left: string, right: string): number {
  if (!/^\d/.test(left) || !/^\d/.test(right)) return compareTexts(left, right);
  const [one, other] = [left.replace(/^0+/, ""), right.replace(/^0+/, "")];
  return one.length - other.length || compareTexts(one, other);
}

function compareTexts(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}
