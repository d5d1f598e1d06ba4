/** The order of the group of P-256. */
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

/** Bytes of one number of a P-256 signature. */
const NUMBER_BYTES = 32;

/**
 * The one DER form of a P-256 signature that was made as r and s, 32 bytes each. Of the two values of s that verify, it has the
 * lower one, so that nobody can turn a signature into another. Returns null for numbers that no signature has.
 */
export function derOfSignature(raw: Uint8Array): Uint8Array | null {
  if (raw.length !== 2 * NUMBER_BYTES) return null;
  const [r, s] = [numberOf(raw.subarray(0, NUMBER_BYTES)), numberOf(raw.subarray(NUMBER_BYTES))];
  if (!isInGroup(r) || !isInGroup(s)) return null;
  const low = isLow(s) ? s : ORDER - s;
  const body = [...derNumber(r), ...derNumber(low)];
  return Uint8Array.from([0x30, body.length, ...body]);
}

/** r and s of a signature in its one DER form; null for any other bytes, and for the higher value of s. */
export function rawOfSignature(der: Uint8Array): Uint8Array | null {
  const first = derBody(der, 2);
  if (first === null) return null;
  const second = derBody(der, 2 + 2 + first.length);
  if (second === null) return null;
  const [r, s] = [numberOf(first), numberOf(second)];
  if (!isInGroup(r) || !isInGroup(s) || !isLow(s)) return null;
  const raw = new Uint8Array(2 * NUMBER_BYTES);
  raw.set(bytesOf(r));
  raw.set(bytesOf(s), NUMBER_BYTES);
  // Whatever else could be written differently shows in what we would have written.
  const again = derOfSignature(raw);
  const isSame = again?.length === der.length && again.every((byte, at) => byte === der[at]);
  return isSame ? raw : null;
}

/** The bytes of the number that starts here. */
function derBody(der: Uint8Array, at: number): Uint8Array | null {
  const length = der[at + 1];
  if (der[at] !== 0x02 || length === undefined || length > NUMBER_BYTES + 1) return null;
  return der.subarray(at + 2, at + 2 + length);
}

function derNumber(value: bigint): readonly number[] {
  const bytes = [...bytesOf(value)];
  const start = bytes.findIndex((byte) => byte !== 0);
  const digits = bytes.slice(start);
  // A first bit that is set would make it negative.
  if ((digits[0] ?? 0) >= 0x80) digits.unshift(0);
  return [0x02, digits.length, ...digits];
}

function numberOf(bytes: Uint8Array): bigint {
  return bytes.reduce((value, byte) => value * 256n + BigInt(byte), 0n);
}

function bytesOf(value: bigint): Uint8Array {
  return Uint8Array.from({ length: NUMBER_BYTES }, (_, at) =>
    Number((value >> BigInt(8 * (NUMBER_BYTES - 1 - at))) & 0xffn),
  );
}

function isInGroup(value: bigint): boolean {
  return value > 0n && value < ORDER;
}

function isLow(s: bigint): boolean {
  return s <= ORDER / 2n;
}
