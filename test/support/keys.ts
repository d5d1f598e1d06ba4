import { generateKeyPairSync, sign, verify, createHash, type KeyObject } from "node:crypto";
import { Digest } from "../../src/core/ids.ts";
import type { Signer, VerifyingKey } from "../../src/evidence/signer.ts";

/** A pair of keys in memory. */
export interface Keys {
  readonly signer: Signer;
  readonly key: VerifyingKey;
  readonly publicPem: string;
}

export function newKeys(): Keys {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const spki: KeyObject = publicKey;
  const der = spki.export({ type: "spki", format: "der" });
  const keyId = Digest.parse(`sha256:${createHash("sha256").update(der).digest("hex")}`);
  const dsaEncoding = "ieee-p1363";
  return {
    signer: {
      keyId,
      sign: (message) => new Uint8Array(sign("sha256", message, { key: privateKey, dsaEncoding })),
    },
    key: {
      keyId,
      verify: (message, signature) =>
        verify("sha256", message, { key: publicKey, dsaEncoding }, signature),
    },
    publicPem: String(spki.export({ type: "spki", format: "pem" })),
  };
}
