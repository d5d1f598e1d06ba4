import { UpheldError } from "../core/errors.ts";
import { BUNDLE_FAULTS, type Fault } from "../evidence/faults.ts";
import type { BundleReader } from "../evidence/reader.ts";
import type { VerifyingKey } from "../evidence/signer.ts";
import { verifyBundle, type IntactBundle, type VerifyOptions } from "../evidence/verify.ts";
import type { CheckedSignature, SignatureState } from "../evidence/verify-signatures.ts";
import { verifySuite, type IntactSuite } from "../evidence/verify-suite.ts";
import { printable } from "../report/printable.ts";
import { nodeHasher } from "../store/hasher.ts";
import { readVerifyingKey } from "../store/key-file.ts";
import type { Parsed } from "./options.ts";

/** The bundle of a run or of a suite run, intact. */
export type VerifiedBundle = IntactBundle | IntactSuite;

export const KEY_OPTION = {
  value: "FILE",
  multiple: true,
  help: "a public key (PEM) that must have signed; give each that must",
};

/** The keys that are trusted because the command line names them. Throws "file_unreadable" and "key_invalid". */
export function trustedKeys(parsed: Parsed): readonly VerifyingKey[] {
  return parsed.many("key").map(readVerifyingKey);
}

/** Verifies a bundle of either kind. */
export async function verifyEither(
  bundle: BundleReader,
  options: Omit<VerifyOptions, "hasher">,
): Promise<VerifiedBundle | Fault> {
  const answer = await verifyBundle(bundle, { ...options, hasher: nodeHasher });
  if (answer.ok || answer.reason !== "kind_unexpected") return answer;
  return verifySuite(bundle, { ...options, hasher: nodeHasher });
}

export function isSuite(bundle: VerifiedBundle): bundle is IntactSuite {
  return "scenarios" in bundle;
}

/** Verifies a bundle that is going to be used. Throws "bundle_invalid" with the fault where it is not intact. */
export async function requireIntact(
  file: string,
  bundle: BundleReader,
  options: Omit<VerifyOptions, "hasher">,
): Promise<VerifiedBundle> {
  const answer = await verifyEither(bundle, options);
  if (answer.ok) return answer;
  throw new UpheldError(
    "bundle_invalid",
    `${file} is not intact: ${answer.reason} at ${answer.at}. ${BUNDLE_FAULTS[answer.reason]}`,
  );
}

/** Lines that say which bundle it is and who vouches for it. */
export function trustLines(
  file: string,
  { digest, signature, signatures }: VerifiedBundle,
): readonly string[] {
  return [
    `  intact     ${printable(file)}  ${digest}`,
    ...signatures.map(signatureLine),
    ...integrityLines(signature),
  ];
}

function signatureLine({ keyId, by, isVerified }: CheckedSignature): string {
  const who = by === "countersigner" ? "countersigned after the sealing" : `sealed by the ${by}`;
  return isVerified
    ? `  signed     ${keyId}  ${who}, verified`
    : `  unchecked  ${keyId}  ${who}: give its public key with --key`;
}

function integrityLines(signature: SignatureState): readonly string[] {
  switch (signature) {
    case "absent":
      return ["  integrity only: it is unsigned, so nobody vouches for it but the digest"];
    case "unchecked":
      return ["  integrity only: no key was given, so nobody vouches for it but the digest"];
    case "verified":
      return [];
  }
}
