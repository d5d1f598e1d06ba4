/** Freezes a value and what it holds. Bytes cannot be frozen. */
export function freeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  for (const member of Object.values(value)) freeze(member);
  return Object.freeze(value);
}
