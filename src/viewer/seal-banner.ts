import { BUNDLE_FAULTS, type Fault } from "../evidence/faults.ts";
import type { CheckedSignature, SignatureState } from "../evidence/verify-signatures.ts";
import { element } from "./element.ts";
import { inlineText } from "./evidence-text.ts";
import type { Intact } from "./open-evidence.ts";

/** While the bytes are digested: nothing of the bundle itself is shown yet. */
export function waitingBanner(): HTMLElement {
  return element(
    "div",
    { class: "banner waiting", role: "status", id: "seal" },
    "Verifying every byte …",
  );
}

/** What the seal says, in words that claim no more than it does. */
export function intactBanner(intact: Intact): HTMLElement {
  const { digest, signature, signatures } = intact;
  const isSigned = signature === "verified";
  return element(
    "div",
    { class: `banner intact ${signature}`, role: "status", id: "seal" },
    element(
      "p",
      {},
      element("strong", {}, element("span", { "aria-hidden": "true" }, "✓ "), wordOf(signature)),
      " ",
      sentenceOf(signature),
    ),
    isSigned ? element("ul", {}, ...signatures.map(signatureLine)) : null,
    element("code", { class: "digest" }, digest),
    isSigned || signatures.length === 0
      ? null
      : element("ul", { class: "faint" }, ...signatures.map(signatureLine)),
  );
}

function wordOf(signature: SignatureState): string {
  switch (signature) {
    case "absent":
    case "unchecked":
      return "Intact, integrity only.";
    case "verified":
      return "Intact and signed.";
  }
}

function sentenceOf(signature: SignatureState): string {
  const bytes = "Every byte is as it was sealed.";
  switch (signature) {
    case "absent":
      return `${bytes} It is unsigned: nobody vouches for it but its digest.`;
    case "unchecked":
      return `${bytes} No key was given to check its signatures by, so nobody vouches for it but its digest.`;
    case "verified":
      return `${bytes} Every key that was given has signed it. Keys come from who wrote this page and from you, never from the bundle.`;
  }
}

function signatureLine({ keyId, by, isVerified }: CheckedSignature): HTMLElement {
  const who = by === "countersigner" ? "countersigned after the sealing" : `sealed by the ${by}`;
  return element(
    "li",
    {},
    isVerified ? `Signed, ${who}: ` : `Not checked, it says ${who}: `,
    element("code", {}, keyId),
  );
}

/** Nothing of evidence that is not intact is shown. */
export function refusedBanner({ reason, at }: Fault): HTMLElement {
  return element(
    "div",
    { class: "banner broken", role: "alert", id: "seal" },
    element(
      "p",
      {},
      element("strong", {}, element("span", { "aria-hidden": "true" }, "✗ "), "NOT intact."),
      " ",
      BUNDLE_FAULTS[reason],
    ),
    element("p", {}, element("code", {}, reason), " at ", element("code", {}, inlineText(at))),
    element("p", {}, "Nothing of it is shown: what was changed cannot be believed."),
  );
}

/** The file is no bundle, or this page cannot read it. */
export function failedBanner(message: string): HTMLElement {
  return element(
    "div",
    { class: "banner broken", role: "alert", id: "seal" },
    element("strong", {}, "This cannot be shown. "),
    inlineText(message),
  );
}
