/** Every way in which a bundle is not intact. The list is closed; `docs/spec/bundle.md` explains each. */
export const BUNDLE_FAULTS = {
  container_invalid: "The tar file or directory is not as a canonical writer leaves it.",
  entry_refused: "It holds something that no bundle holds: another name, a link, a device.",
  order_wrong: "The files of the tar file are not in canonical order, or one occurs twice.",
  limit_exceeded: "It is larger than may be read.",
  file_missing: "A file that the statement requires is not there.",
  file_unexpected: "A file is there that the statement does not know.",
  index_invalid: "index.json is not what follows from the statement.",
  statement_missing: "The index names no statement.",
  statement_ambiguous: "The index names several statements.",
  statement_invalid: "The statement is not of the published form, or contradicts itself.",
  subjects_wrong: "The subjects of the statement are not its manifest and parts.",
  derived_changed: "A file that follows from the statement has other bytes.",
  blob_changed: "The bytes of a blob do not have the digest that is its name.",
  size_wrong: "The statement gives another size for a part.",
  kind_unexpected: "It is the bundle of a suite where one run was expected, or the reverse.",
  scenario_ambiguous: "Two statements are about one attempt at one scenario.",
  scenario_missing:
    "A scenario that the suite counts has no statement here, or is not the one that was counted.",
  signature_invalid:
    "A signature is not in the one form that it can have, or is of another type or algorithm.",
  signature_missing: "It is not signed, or its signatures were removed; a key was given.",
  signer_unexpected: "It is signed, but not by the key that was given.",
  signature_wrong:
    "A signature that names the key that was given is not by it, or is over other bytes.",
  digest_unexpected: "It is intact in itself, but it is not the bundle that was asked for.",
} as const;

export type BundleFault = keyof typeof BUNDLE_FAULTS;

/** Bad evidence as data: what is wrong, and where (a file, a part, or a place in the statement). */
export interface Fault {
  readonly ok: false;
  readonly reason: BundleFault;
  readonly at: string;
}

export function fault(reason: BundleFault, at: string): Fault {
  return { ok: false, reason, at };
}
