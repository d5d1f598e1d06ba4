import type { BundleFile } from "./bundle.ts";

/** The unit of a tar file in bytes. */
export const TAR_BLOCK = 512;

/** Two empty blocks end a tar file. */
export const TAR_END_BYTES = 2 * TAR_BLOCK;

/** What one field of a header holds: where it starts, and its text. */
type Field = readonly [at: number, text: string];

/**
 * The one header that a canonical tar file gives a regular file: ustar, mode 0644, no owner, no time.
 * `name` has at most 100 ASCII characters and `sizeBytes` is below 8 GiB: both hold for every file of a bundle.
 */
export function tarHeader(name: string, sizeBytes: number): Uint8Array {
  const fields: readonly Field[] = [
    [0, name],
    [100, "0000644\0"],
    [108, "0000000\0"],
    [116, "0000000\0"],
    [124, `${octal(sizeBytes, 11)}\0`],
    [136, "00000000000\0"],
    [148, "        "],
    [156, "0"],
    [257, "ustar\0"],
    [263, "00"],
    [329, "0000000\0"],
    [337, "0000000\0"],
  ];
  const header = new Uint8Array(TAR_BLOCK);
  for (const [at, text] of fields) put(header, at, text);
  let sum = 0;
  for (const byte of header) sum += byte;
  put(header, 148, `${octal(sum, 6)}\0 `);
  return header;
}

/** The zero bytes that follow a content of this size. */
export function tarPaddingBytes(sizeBytes: number): number {
  return (TAR_BLOCK - (sizeBytes % TAR_BLOCK)) % TAR_BLOCK;
}

/** A canonical tar file, piece by piece: equal files give equal bytes. */
export function* tarPieces(files: readonly BundleFile[]): Generator<Uint8Array> {
  for (const { name, bytes } of files) {
    yield tarHeader(name, bytes.length);
    yield bytes;
    yield new Uint8Array(tarPaddingBytes(bytes.length));
  }
  yield new Uint8Array(TAR_END_BYTES);
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, "0");
}

/** Every text of a header is ASCII. */
function put(header: Uint8Array, at: number, text: string): void {
  for (let index = 0; index < text.length; index += 1) header[at + index] = text.charCodeAt(index);
}
