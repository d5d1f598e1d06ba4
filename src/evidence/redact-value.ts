import { isPasswordKey } from "./connection-secrets.ts";
import type { Redactor } from "./redactor.ts";

type Mask = (text: string) => string;

/** A value with every text in it masked, the keys of its objects too. The very same where there is nothing to remove. */
export function redactValue<T>(value: T, mask: Mask): T {
  // Texts become texts, and everything else keeps its form.
  return mapTexts(value, mask) as T;
}

function mapTexts(value: unknown, mask: Mask): unknown {
  if (typeof value === "string") return mask(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const each: readonly unknown[] = value;
    const mapped = each.map((member) => mapTexts(member, mask));
    return mapped.every((member, index) => member === each[index]) ? value : mapped;
  }
  let isSame = true;
  const mapped = Object.entries(value).map(([key, member]) => {
    const masked = [mask(key), mapTexts(member, mask)] as const;
    isSame &&= masked[0] === key && masked[1] === member;
    return masked;
  });
  return isSame ? value : Object.fromEntries(mapped);
}

/**
 * A parsed JSON value of the world: every text, every key, numbers whose digits are a secret, and what stands under the name
 * of a password.
 */
export function redactJson(value: unknown, redactor: Redactor): unknown {
  if (typeof value === "string") return redactor.mask(value);
  if (typeof value === "number") {
    const masked = redactor.mask(String(value));
    return masked === String(value) ? value : masked;
  }
  if (Array.isArray(value)) return value.map((each) => redactJson(each, redactor));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      redactor.mask(key),
      typeof member === "string" && member !== "" && isPasswordKey(key)
        ? redactor.maskWhole(member, "connection")
        : redactJson(member, redactor),
    ]),
  );
}
