import { describe } from "vitest";
import { conversation, file, gapAt, observe } from "../worlds/observations.ts";
import { claims, key } from "./claims.ts";

const saysKey = { kind: "said", matcher: key };

describe("said", () => {
  claims([
    {
      claim: "a message with the text is a witness",
      condition: saysKey,
      world: conversation([{ text: "hello" }, { text: "a key" }]),
      want: "upheld",
      refs: ["conversation:/c1/1"],
    },
    {
      claim: "no message with it refutes",
      condition: saysKey,
      world: conversation([{ text: "hello" }]),
      want: "refuted",
    },
    {
      claim: "another role does not count",
      condition: { ...saysKey, role: "assistant" },
      world: conversation([{ role: "user", text: "key" }, { text: "no" }]),
      want: "refuted",
    },
    {
      claim: "a message that was cut stays open",
      condition: saysKey,
      world: conversation([{ text: "hello", textTruncated: true }]),
      want: "undetermined",
      gaps: ["text_not_retained"],
    },
    {
      claim: "a cut message that holds it is a witness",
      condition: saysKey,
      world: conversation([{ text: "a key is here", textTruncated: true }]),
      want: "upheld",
    },
    {
      claim: "a recording with holes stays open",
      condition: saysKey,
      world: conversation([{ text: "hello" }], [gapAt("trace_incomplete", "conversation:/c1")]),
      want: "undetermined",
      gaps: ["trace_incomplete"],
    },
    {
      claim: "no conversation is not known",
      condition: saysKey,
      world: observe(),
      want: "undetermined",
      gaps: ["evidence_kind_missing"],
    },
    {
      claim: "the digest of a message is that of its UTF-8",
      condition: { kind: "said", matcher: { kind: "digest", sha256: file("key").sha256 } },
      world: conversation([{ text: "key" }]),
      want: "upheld",
    },
  ]);
});
