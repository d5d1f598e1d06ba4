import { lintSource } from "@secretlint/core";
import { creator } from "@secretlint/secretlint-rule-preset-recommend";
import type { SecretSpan } from "../evidence/secret-span.ts";

const PRESET = {
  rules: [{ id: "@secretlint/secretlint-rule-preset-recommend", rule: creator, options: {} }],
};

/** Addresses are masked by rules of our own, which leave the host readable. */
const OWN = /-(?:basicauth|database-connection-string)$/;

/** What a token goes on with: some rules end their finding before the token ends. */
const REST = /[\w+/=.~-]*/y;

/** Finds the tokens of well-known services, by the rules that the secretlint project keeps. */
export async function findTokens(content: string): Promise<readonly SecretSpan[]> {
  const { messages } = await lintSource({
    source: { filePath: "evidence.txt", content, ext: ".txt", contentType: "text" },
    options: { config: PRESET, maskSecrets: false },
  });
  return messages
    .filter(({ ruleId }) => !OWN.test(ruleId))
    .map(({ range: [start, end], ruleId }) => {
      REST.lastIndex = end;
      REST.test(content);
      return { start, end: Math.max(end, REST.lastIndex), rule: nameOf(ruleId) };
    });
}

/** "@secretlint/secretlint-rule-github" is "github". */
function nameOf(ruleId: string): string {
  return ruleId.replace(/^.*secretlint-rule-/, "").replaceAll(/[^\w.-]/g, "-");
}
