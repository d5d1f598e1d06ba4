import type { Said } from "../core/condition.ts";
import type { Conversation, Message } from "../core/conversation.ts";
import { NonReplayableObservationError } from "../core/errors.ts";
import { digestOf } from "../core/fingerprint.ts";
import { gap, nonEmpty, type Gap } from "../core/gap.ts";
import { matchContent, type Finding } from "../core/match-content.ts";
import { describeMatcher, type Matcher } from "../core/matcher.ts";
import type { Observation } from "../core/observation.ts";
import type { Decision, Scorer } from "../core/scorer.ts";
import { refuted, undetermined, upheld, type EntryRef } from "../core/verdict.ts";
import { counted, decided } from "./rationale.ts";

/** Decides whether a message of the conversation matches. Where none was recorded, nothing is known. */
export const said: Scorer<Said> = {
  kind: "said",
  identifier: () => ({ name: "said", version: "1", parameters: {}, children: [] }),
  needs: (_, context) =>
    context.conversation === undefined ? [] : [{ scorable: context.conversation }],
  decide: (condition, [observation]) => decide(condition, observation),
};

function decide(condition: Said, observation: Observation | undefined): Decision {
  const who = condition.role ?? "anyone";
  const asked = `said by ${who}: ${describeMatcher(condition.matcher)}`;
  if (observation === undefined)
    return decided(
      undetermined([
        gap("evidence_kind_missing", "conversation", { detail: "no conversation was recorded" }),
      ]),
      [asked],
    );
  const { payload } = observation;
  if (payload.kind !== "conversation")
    throw new NonReplayableObservationError(
      `the observation is of ${payload.scope.uri}, asked was a conversation`,
    );
  const messages = payload.conversation.messages.filter(
    (each) => condition.role === undefined || each.role === condition.role,
  );
  const witnesses: EntryRef[] = [];
  const gaps: Gap[] = [...payload.gaps];
  for (const message of messages) {
    const finding = matchMessage(condition.matcher, message);
    const uri = locationOf(payload.conversation, message);
    if (finding.value === "present")
      witnesses.push({ uri, observation: observation.id, detail: message.role });
    else if (finding.value === "unknown") gaps.push(gap(finding.reason, uri));
  }
  const open = nonEmpty(gaps);
  const looked = `Looked at: ${counted(messages.length, "message")} of ${payload.conversation.messages.length}`;
  if (witnesses.length > 0)
    return decided(upheld(witnesses), [
      `Found in ${counted(witnesses.length, "message")}`,
      asked,
      looked,
    ]);
  if (open !== undefined)
    return decided(undetermined(open), ["No message is known to match", asked, looked]);
  return decided(refuted(), ["Every message was read, and none matches", asked, looked]);
}

function matchMessage(matcher: Matcher, message: Message): Finding {
  const { text, textTruncated, textRedacted: redacted = false } = message;
  const bytes = new TextEncoder().encode(text);
  const isPart = textTruncated || redacted;
  const sha256 = isPart || matcher.kind !== "digest" ? undefined : digestOf(bytes);
  return matchContent(
    matcher,
    { sizeBytes: bytes.length, sha256 },
    { encoding: "utf-8", text, whole: !textTruncated, redacted },
  );
}

function locationOf(conversation: Conversation, message: Message): string {
  return `conversation:/${conversation.id}/${message.sequence}`;
}
