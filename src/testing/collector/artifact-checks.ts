import { digestOf } from "../../core/fingerprint.ts";
import { owes, type CollectorCheck } from "./collector-check.ts";
import { evidenceOf } from "./probe.ts";

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

/** What a collector owes of artifacts. */
export const artifactChecks: readonly CollectorCheck[] = [
  {
    name: "an artifact is stored once: sent again it is a duplicate",
    run: async (probe) => {
      const bytes = await evidenceOf(probe.attempt);
      await owes(probe.put(bytes), "201 stored", "the first time");
      await owes(probe.put(bytes), "200 duplicate", "the second time");
    },
  },
  {
    name: "an artifact that is sent many times at once is stored once",
    run: async (probe) => {
      const bytes = await evidenceOf(probe.attempt);
      const answers = await Promise.all(Array.from({ length: 8 }, () => probe.put(bytes)));
      const stored = answers.filter((answer) => answer === "201 stored").length;
      await owes(
        `${stored} stored of ${answers.toSorted().join(", ")}`,
        `1 stored of ${[...Array.from({ length: 7 }, () => "200 duplicate"), "201 stored"].join(", ")}`,
        "all at once",
      );
    },
  },
  {
    name: "equal bytes of two scenarios are taken for both",
    run: async (probe) => {
      const bytes = bytesOf(`log ${probe.attempt.jobId}`);
      const other = { ...probe.attempt, scenarioKey: "cancel" };
      await owes(probe.put(bytes, { kind: "log" }), "201 stored", "for the first");
      await owes(probe.put(bytes, { kind: "log", attempt: other }), "201 stored", "for the second");
      await owes(probe.put(bytes, { kind: "log", attempt: other }), "200 duplicate", "again");
    },
  },
  {
    name: "equal bytes of another kind are a conflict",
    run: async (probe) => {
      const bytes = bytesOf(`log ${probe.attempt.jobId}`);
      await owes(probe.put(bytes, { kind: "log" }), "201 stored", "as a log");
      await owes(probe.put(bytes, { kind: "trace" }), "409 artifact_conflict", "as a trace");
    },
  },
  {
    name: "bytes that do not have the digest of their name are not kept",
    run: async (probe) => {
      const evidence = await evidenceOf(probe.attempt);
      const digest = digestOf(evidence);
      const changed = Uint8Array.from(evidence, (byte, at) => (at === 700 ? byte ^ 1 : byte));
      await owes(probe.put(changed, { digest }), "422 digest_mismatch", "one changed byte");
      await owes(probe.postReceipt({ evidence: digest }), "422 evidence_missing", "its receipt");
      await owes(probe.put(evidence), "201 stored", "the right bytes");
    },
  },
  {
    name: "an unknown kind is refused",
    run: async (probe) => {
      await owes(probe.put(bytesOf("x"), { kind: "screenshot" }), "422 kind_unknown", "screenshot");
      await owes(probe.put(bytesOf("x"), { kind: "toString" }), "422 kind_unknown", "toString");
    },
  },
  {
    name: "a kind that the level does not let out is refused",
    policy: { level: "metadata-only" },
    run: async (probe) => {
      const evidence = await evidenceOf(probe.attempt);
      await owes(probe.put(evidence), "422 level_forbids", "evidence");
      await owes(
        probe.put(bytesOf("x"), { kind: "transcript" }),
        "422 level_forbids",
        "a transcript",
      );
      await owes(probe.put(bytesOf("x"), { kind: "log" }), "201 stored", "a log");
    },
  },
  {
    name: "beyond the budget reserved kinds are taken, up to the cap",
    policy: { budgetBytes: 100, hardCapBytes: 150 },
    run: async (probe) => {
      const [first, second, third] = ["a", "b", "c"].map((letter) => bytesOf(letter.repeat(60)));
      if (first === undefined || second === undefined || third === undefined) return;
      await owes(probe.put(first, { kind: "log" }), "201 stored", "within the budget");
      await owes(probe.put(second, { kind: "log" }), "413 budget_spent", "beyond it");
      await owes(probe.put(first, { kind: "log" }), "200 duplicate", "what is there already");
      await owes(probe.put(second, { kind: "transcript" }), "201 stored", "beyond it, reserved");
      await owes(
        probe.put(third, { kind: "transcript" }),
        "413 hard_cap_reached",
        "beyond the cap",
      );
    },
  },
  {
    name: "an artifact larger than may be sent is refused",
    policy: { maxArtifactBytes: 100 },
    run: async (probe) => {
      const large = bytesOf("a".repeat(101));
      await owes(probe.put(large, { kind: "log" }), "413 artifact_too_large", "101 bytes");
      await owes(probe.put(large.subarray(1), { kind: "log" }), "201 stored", "100 bytes");
    },
  },
  {
    name: "evidence of another attempt than its headers say is refused",
    run: async (probe) => {
      const evidence = await evidenceOf(probe.attempt);
      const fields = [
        { scenarioAttempt: 2 },
        { scenarioKey: "cancel" },
        { jobId: `${probe.attempt.jobId} 2` },
      ];
      for (const each of fields) {
        const attempt = { ...probe.attempt, ...each };
        const what = Object.keys(each).join();
        await owes(probe.put(evidence, { attempt }), "422 origin_mismatch", what);
      }
    },
  },
  {
    name: "evidence that is no intact bundle is refused",
    run: async (probe) => {
      const evidence = await evidenceOf(probe.attempt);
      await owes(probe.put(bytesOf("evidence")), "422 origin_mismatch", "some text");
      await owes(probe.put(evidence.subarray(0, -512)), "422 origin_mismatch", "a cut bundle");
    },
  },
  {
    name: "an upload without its headers is refused",
    run: async (probe) => {
      const evidence = await evidenceOf(probe.attempt);
      for (const header of ["upheld-job", "upheld-scenario-attempt", "upheld-artifact-kind"]) {
        const headers = { [header]: undefined };
        await owes(probe.put(evidence, { headers }), "400 header_invalid", header);
      }
      const headers = { "upheld-scenario-attempt": "0" };
      await owes(probe.put(evidence, { headers }), "400 header_invalid", "attempt 0");
    },
  },
  {
    name: "nothing is taken without the right token",
    run: async (probe) => {
      const evidence = await evidenceOf(probe.attempt);
      await owes(probe.put(evidence, { token: "wrong" }), "401 unauthorized", "an artifact");
      await owes(probe.put(evidence), "201 stored", "with the token");
    },
  },
];
