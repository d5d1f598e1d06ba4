import { generateKeyPairSync } from "node:crypto";
import { lstatSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Workplace, written } from "./upheld.ts";

const SCRIPT = ["--", "sh", "-c", "echo key > a"];

/** A workplace with keys of a guest and a host, and a bundle that the guest signed. */
async function signedPlace() {
  const place = new Workplace();
  const at = (name: string): string => join(place.path, name);
  for (const name of ["guest.key", "host.key"]) await place.upheld(["keygen", at(name)]);
  const saved = await place.upheld([
    "run",
    "--save",
    at("run.upheld"),
    "--key",
    at("guest.key"),
    ...SCRIPT,
  ]);
  return { place, at, saved };
}

// Each starts several processes, on a machine that may be busy.
const patience = { timeout: 240_000 };

describe("keygen", patience, () => {
  test("writes a private and a public key for their owner alone, and replaces none", async () => {
    using place = new Workplace();
    const file = join(place.path, "k");
    const made = await place.upheld(["keygen", file]);
    expect(made.stdout).toMatch(/key id {5}sha256:[0-9a-f]{64}/);
    for (const [name, kind] of [
      [file, "PRIVATE"],
      [`${file}.pub`, "PUBLIC"],
    ] as const) {
      expect(lstatSync(name).mode & 0o777).toBe(0o600);
      expect(readFileSync(name, "utf8")).toMatch(new RegExp(`^-----BEGIN ${kind} KEY-----\n`));
    }
    const before = readFileSync(file, "utf8");
    const again = await place.upheld(["keygen", file]);
    expect(again.code).toBe(5);
    expect(again.stderr).toMatch(/is there: a key is not replaced without --force/);
    expect(readFileSync(file, "utf8")).toBe(before);
    expect((await place.upheld(["keygen", file, "--force"])).code).toBe(0);
    expect(readFileSync(file, "utf8")).not.toBe(before);
  });

  test("never writes through a link", async () => {
    using place = new Workplace();
    const target = place.write("precious", "precious");
    symlinkSync(target, join(place.path, "k"));
    expect((await place.upheld(["keygen", join(place.path, "k")])).code).toBe(5);
    expect((await place.upheld(["keygen", join(place.path, "k"), "--force"])).code).toBe(0);
    expect(readFileSync(target, "utf8")).toBe("precious");
    expect(lstatSync(join(place.path, "k")).isFile()).toBe(true);
  });
});

describe("a bundle that the guest signed", patience, () => {
  test("verifies by its key, is countersigned by the host, and keeps its digest", async () => {
    const { place, at, saved } = await signedPlace();
    using _ = place;
    const digest = /sha256:[0-9a-f]{64}/.exec(saved.stdout)?.[0] ?? "";
    const bundle = at("run.upheld");
    const one = await place.upheld(["verify", bundle, "--key", at("guest.key.pub")]);
    expect(one.stdout).toMatch(/signed {5}sha256:[0-9a-f]{64} {2}sealed by the guest, verified/);
    expect(one.code).toBe(0);
    const signedBy = ["--signed-by", at("guest.key.pub"), "--digest", digest];
    const sealed = await place.upheld(["seal", bundle, "--key", at("host.key"), ...signedBy]);
    expect(sealed.stdout).toContain(digest);
    const keys = ["--key", at("guest.key.pub"), "--key", at("host.key.pub")];
    const both = await place.upheld(["verify", bundle, ...keys, "--digest", digest]);
    expect(both.stdout).toMatch(/countersigned after the sealing, verified/);
    expect(both.code).toBe(0);
    const without = await place.upheld(["verify", bundle]);
    expect(without.stdout).toMatch(/integrity only: no key was given/);
    expect(without.code).toBe(0);
  });

  test("is shown, and shared without its contents, which then decide nothing", async () => {
    const { place, at } = await signedPlace();
    using _ = place;
    const shared = at("shared.upheld");
    const contents = "contents/workspace.json";
    const withheld = await place.upheld(["withhold", at("run.upheld"), contents, "--out", shared]);
    expect(withheld.code).toBe(0);
    const shown = await place.upheld(["show", shared, "--key", at("guest.key.pub")]);
    expect(shown.code).toBe(0);
    expect(shown.stdout).toMatch(/contents\/workspace\.json {2,}withheld/);
    expect(shown.stdout).toMatch(/sealed by {2}upheld \S+, where the guest runs/);
    expect(shown.stdout).toMatch(/changes {4}workspace: by baseline/);
    const claims = place.write("claims.json", written("key"));
    expect((await place.upheld(["score", at("run.upheld"), "--expect", claims])).code).toBe(0);
    const open = await place.upheld(["score", shared, "--expect", claims]);
    expect(open.stdout).toContain("part_withheld");
    expect(open.code).toBe(2);
    const twice = await place.upheld(["withhold", shared, contents, "--out", at("b.upheld")]);
    expect(twice.code).toBe(64);
  });

  const refused: readonly [
    string,
    (at: (name: string) => string) => readonly string[],
    RegExp,
    number,
  ][] = [
    [
      "another key",
      (at) => ["verify", at("run.upheld"), "--key", at("host.key.pub")],
      /signer_unexpected/,
      3,
    ],
    [
      "no signature",
      (at) => ["verify", at("plain.upheld"), "--key", at("host.key.pub")],
      /signature_missing/,
      3,
    ],
    [
      "a private key to verify",
      (at) => ["verify", at("run.upheld"), "--key", at("host.key")],
      /is no public key/,
      64,
    ],
    [
      "a public key to sign",
      (at) => ["seal", at("run.upheld"), "--key", at("host.key.pub")],
      /is no private key/,
      64,
    ],
    [
      "a key of another kind",
      (at) => ["verify", at("run.upheld"), "--key", at("ed.pub")],
      /is no public key of P-256/,
      64,
    ],
    [
      "a key of another curve",
      (at) => ["verify", at("run.upheld"), "--key", at("p384.pub")],
      /is no public key of P-256/,
      64,
    ],
    [
      "noise as a key",
      (at) => ["verify", at("run.upheld"), "--key", at("noise.pub")],
      /is no public key/,
      64,
    ],
    [
      "countersigning what another did not sign",
      (at) => [
        "seal",
        at("run.upheld"),
        "--key",
        at("host.key"),
        "--signed-by",
        at("host.key.pub"),
      ],
      /signer_unexpected/,
      3,
    ],
  ];

  test("is refused with its answer and exit code", async () => {
    const { place, at } = await signedPlace();
    using _ = place;
    await place.upheld(["run", "--save", at("plain.upheld"), ...SCRIPT]);
    const ed = generateKeyPairSync("ed25519").publicKey;
    const p384 = generateKeyPairSync("ec", { namedCurve: "P-384" }).publicKey;
    place.write("ed.pub", String(ed.export({ type: "spki", format: "pem" })));
    place.write("p384.pub", String(p384.export({ type: "spki", format: "pem" })));
    place.write("noise.pub", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n");
    for (const [name, args, says, code] of refused) {
      const printed = await place.upheld(args(at));
      expect(printed.stdout + printed.stderr, name).toMatch(says);
      expect(printed.code, name).toBe(code);
    }
  });

  test("a key that cannot sign ends a run before the agent is started", async () => {
    using place = new Workplace();
    const key = place.write("k", "no key");
    const bundle = join(place.path, "run.upheld");
    const printed = await place.upheld(["run", "--save", bundle, "--key", key, ...SCRIPT]);
    expect(printed.code).toBe(64);
    expect(lstatSync(join(place.root, "a"), { throwIfNoEntry: false })).toBeUndefined();
  });
});
