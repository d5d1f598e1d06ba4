/**
 * Names are bytes. Inside this source a name is a text of one character a byte, so that none is lost and equal
 * bytes are equal texts; outside it is printable text.
 */
export type ByteName = string;

// oxlint-disable-next-line no-control-regex -- a byte above 0x7f is what is looked for
const ASCII = /^[\x00-\x7f]*$/;
const PLAIN = /^[\x20-\x5b\x5d-\x7e]*$/;

/** A path for the file system that ends in this name. Only one component is ever given to an open. */
export function pathTo(prefix: string, name: ByteName): string | Buffer {
  const path = `${prefix}/${name}`;
  return ASCII.test(name) ? path : Buffer.from(path, "latin1");
}

/** The name as text: UTF-8 where it is; a byte that is not, and a backslash, as \xHH. No two names have one text. */
export function printableName(name: ByteName): string {
  if (PLAIN.test(name)) return name;
  const text = Buffer.from(name, "latin1")
    .toString("utf8")
    .replaceAll("\\", String.raw`\x5c`);
  if (!text.includes("\uFFFD")) return text;
  return escapeInvalid(Buffer.from(name, "latin1"));
}

/** True where the name is not UTF-8, so that its text alone does not give the bytes back. */
export function isUtf8Name(name: ByteName): boolean {
  return (
    PLAIN.test(name) ||
    !printableName(name).includes(String.raw`\x`) ||
    Buffer.from(Buffer.from(name, "latin1").toString("utf8"), "utf8").toString("latin1") === name
  );
}

/** Why a name could not be one component of a path; undefined where it can. */
export function nameRefusal(name: ByteName): string | undefined {
  if (name === "" || name === "." || name === "..") return "not a name of an entry";
  return name.includes("/") || name.includes("\0") ? "more than one component" : undefined;
}

function escapeInvalid(bytes: Buffer): string {
  let text = "";
  for (let at = 0; at < bytes.length;) {
    const length = sequenceLength(bytes, at);
    if (length === 0) {
      text += `\\x${(bytes[at] ?? 0).toString(16).padStart(2, "0")}`;
      at += 1;
    } else {
      text += bytes.toString("utf8", at, at + length).replaceAll("\\", String.raw`\x5c`);
      at += length;
    }
  }
  return text;
}

/** How many bytes the valid UTF-8 sequence at this place has; 0 where there is none. */
function sequenceLength(bytes: Buffer, at: number): number {
  const first = bytes[at] ?? 0;
  const length = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  if (length === 0 || at + length > bytes.length) return 0;
  return bytes.toString("utf8", at, at + length).includes("\uFFFD") ? 0 : length;
}
