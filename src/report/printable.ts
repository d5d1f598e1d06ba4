/**
 * Characters that would act on a terminal or mislead a reader: controls, line separators, direction overrides and marks,
 * zero-width characters, and halves of surrogate pairs.
 */
const UNSAFE =
  // oxlint-disable-next-line no-control-regex -- these are the ones to catch
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** A text from the world, or one of ours that quotes it, in one safe line: what would act on the terminal is an escape. */
export function printable(text: string): string {
  return text.replaceAll(
    UNSAFE,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
