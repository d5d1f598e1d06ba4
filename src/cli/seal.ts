import { statSync } from "node:fs";
import { countersign } from "../evidence/amend.ts";
import { printable } from "../report/printable.ts";
import { writeBundle } from "../store/bundle-file.ts";
import { nodeHasher } from "../store/hasher.ts";
import { readSigner, readVerifyingKey } from "../store/key-file.ts";
import { openBundle } from "../store/open-bundle.ts";
import type { Command } from "./command.ts";
import { EXIT } from "./exit.ts";
import { onlyArgument, parseOptions, usage } from "./options.ts";
import { KEY_OPTION, requireIntact } from "./verified-bundle.ts";
import { digestOf } from "./verify.ts";

const OPTIONS = {
  key: { value: "FILE", help: "the private key (PEM) to sign with; upheld keygen makes one" },
  digest: { value: "sha256:...", help: "sign only the bundle that has this digest" },
  "signed-by": { ...KEY_OPTION, help: "a public key that must have signed it before" },
  out: { value: "FILE", help: "write the signed bundle here; by default it is signed in place" },
  json: { help: "print one JSON object" },
};

export const sealCommand: Command = {
  name: "seal",
  summary: "Sign a bundle that is intact: one that is unsigned, or another's beside its signature.",
  usage: ["upheld seal FILE --key PRIVATE [--digest sha256:...] [--signed-by PUB]... [--out FILE]"],
  options: OPTIONS,
  examples: [
    ["sign what a run saved", "upheld seal run.upheld --key host.key"],
    [
      "countersign what the guest signed",
      "upheld seal run.upheld --key host.key --signed-by guest.key.pub",
    ],
  ],
  async run(args, { terminal, interruption }) {
    const parsed = parseOptions(OPTIONS, args);
    const file = onlyArgument(parsed, "a bundle");
    const key = parsed.one("key");
    if (key === undefined) throw usage("--key FILE is missing: with which key is it to be signed?");
    const signer = readSigner(key);
    const { signal } = interruption;
    const expected = digestOf(parsed.one("digest"));
    await using bundle = await openBundle(file);
    const intact = await requireIntact(file, bundle, {
      signal,
      keys: parsed.many("signed-by").map(readVerifyingKey),
      ...(expected === undefined ? {} : { expectedDigest: expected }),
    });
    const signed = await countersign(bundle, signer, {
      hasher: nodeHasher,
      expectedDigest: intact.digest,
    });
    const out = parsed.one("out") ?? file;
    await writeBundle(out, signed, { as: formOf(file), signal });
    const { digest } = signed;
    const text = `  signed     ${printable(out)}  ${digest}\n  by         ${signer.keyId}\n`;
    const json = { path: out, digest, keyId: signer.keyId };
    terminal.out(parsed.flag("json") ? `${JSON.stringify(json)}\n` : text);
    return EXIT.asExpected;
  },
};

/** A bundle stays a directory or one file. */
export function formOf(file: string): "tar" | "directory" {
  return statSync(file).isDirectory() ? "directory" : "tar";
}
