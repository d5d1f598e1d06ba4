import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import {
  chmod,
  link,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Digest } from "../../src/core/ids.ts";
import { blobName } from "../../src/evidence/layout.ts";
import { type Verification, verifyBundle } from "../../src/evidence/verify.ts";
import { sweepTemporary, writeBundle } from "../../src/store/bundle-file.ts";
import { BUNDLE_LIMITS } from "../../src/evidence/limits.ts";
import { nodeHasher } from "../../src/store/hasher.ts";
import { openBundle } from "../../src/store/open-bundle.ts";
import {
  answerOf,
  fullInput,
  type Json,
  seal,
  smallInput,
  tarOf,
} from "../support/sample-bundle.ts";

const FORMS = ["tar", "directory"] as const;
const bundle = await seal(fullInput);
const other = await seal(smallInput);
const isRoot = process.getuid?.() === 0;

let folder = "";
let target = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "upheld-bundle-"));
  target = join(folder, "run.upheld");
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function verifyAt(path: string, expectedDigest?: Digest): Promise<Verification> {
  await using reader = await openBundle(path);
  const expected = expectedDigest === undefined ? {} : { expectedDigest };
  return await verifyBundle(reader, { hasher: nodeHasher, ...expected });
}

function refusalOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => "none",
    (error: Json) => `${error.code}: ${error.message}`.replaceAll(folder, "DIR"),
  );
}

/** The name of a directory that an earlier writer moved aside. */
function aside(number: number): string {
  return `.upheld-old-${process.pid}-${String(number).repeat(16)}-run.upheld`;
}

const at = (name: string): string => join(target, name);

const sum = (inside: string): { code: number | null; out: string } => {
  const args = ["-c", "--ignore-missing", "manifest-sha256.txt"];
  const { status, stdout } = spawnSync("sha256sum", args, { cwd: inside, encoding: "utf8" });
  return { code: status, out: stdout };
};

describe.each(FORMS)("as a %s", (as) => {
  test("what is written verifies, privately, with nothing beside it", async () => {
    await writeBundle(target, bundle, { as });
    expect(await verifyAt(target, bundle.digest)).toMatchObject({
      ok: true,
      digest: bundle.digest,
    });
    expect(await readdir(folder)).toEqual(["run.upheld"]);
    expect((await stat(target)).mode & 0o077).toBe(0);
  });

  test("another bundle is replaced, whatever its form, and nothing is left of it", async () => {
    for (const before of FORMS) {
      await writeBundle(target, other, { as: before, overwrite: true });
      await writeBundle(target, bundle, { as });
      expect((await verifyAt(target, bundle.digest)).ok).toBe(true);
      expect(await readdir(folder)).toEqual(["run.upheld"]);
    }
  });

  test.each([
    ["a text file", () => writeFile(target, "precious")],
    ["an empty file", () => writeFile(target, "")],
    ["a folder with a file", () => mkdir(target).then(() => writeFile(join(target, "a"), "b"))],
    ["an empty folder", () => mkdir(target)],
    ["a link to nothing", () => symlink("nowhere", target)],
    ["a damaged bundle", () => writeFile(target, tarOf(bundle.files).subarray(0, 2000))],
  ])("%s is not replaced unless asked", async (_name, make) => {
    await make();
    expect(await refusalOf(writeBundle(target, bundle, { as }))).toBe(
      "file_unwritable: DIR/run.upheld is there and is no evidence bundle; it is not replaced unless asked",
    );
    await writeBundle(target, bundle, { as, overwrite: true });
    expect((await verifyAt(target, bundle.digest)).ok).toBe(true);
    expect(await readdir(folder)).toEqual(["run.upheld"]);
  });

  test("a missing folder is named, and nothing is made", async () => {
    const refusal = await refusalOf(writeBundle(join(folder, "no/run.upheld"), bundle, { as }));
    expect(refusal).toBe("file_unwritable: cannot write run.upheld: ENOENT");
    expect(await readdir(folder)).toEqual([]);
  });

  test("an abort rejects with its reason and leaves nothing", async () => {
    const reason = new Error("enough");
    const writing = writeBundle(target, bundle, { as, signal: AbortSignal.abort(reason) });
    await expect(writing).rejects.toBe(reason);
    const controller = new AbortController();
    const later = writeBundle(target, bundle, { as, signal: controller.signal });
    controller.abort(reason);
    await expect(later).rejects.toBe(reason);
    expect(await readdir(folder)).toEqual([]);
  });

  test("a full disk fails by name and leaves the old bundle whole", async (context) => {
    const disk = join(folder, "disk");
    await mkdir(disk);
    const options = ["-t", "tmpfs", "-o", "size=2m", "tmpfs", disk];
    const canMount = isRoot && spawnSync("mount", options).status === 0;
    context.skip(!canMount, "mounting a small disk needs root");
    try {
      const onDisk = join(disk, "run.upheld");
      await writeBundle(onDisk, other, { as });
      const bytes = new Uint8Array(6 * 1024 * 1024).fill(1);
      const [part] = smallInput.parts;
      const large = await seal({
        ...smallInput,
        parts: [{ ...part, content: { bytes } } as typeof part & object],
      });
      const refusal = await refusalOf(writeBundle(onDisk, large, { as }));
      expect(refusal).toBe("file_unwritable: cannot write run.upheld: ENOSPC");
      expect((await verifyAt(onDisk, other.digest)).ok).toBe(true);
      expect(await readdir(disk)).toEqual(["run.upheld"]);
    } finally {
      spawnSync("umount", [disk]);
    }
  });

  test("a read-only folder fails by name", async (context) => {
    const mounted = isRoot && spawnSync("mount", ["-t", "tmpfs", "-o", "ro", "tmpfs", folder]);
    context.skip(
      mounted !== false && mounted.status !== 0,
      "root may write everywhere, and cannot mount here",
    );
    if (mounted === false) await chmod(folder, 0o500);
    try {
      const refusal = await refusalOf(writeBundle(target, bundle, { as }));
      expect(refusal).toMatch(/^file_unwritable: cannot write run\.upheld: E(ROFS|ACCES)$/);
    } finally {
      if (mounted === false) await chmod(folder, 0o700);
      else spawnSync("umount", [folder]);
    }
  });

  test("two writers of one name both end, with one of the two bundles", async () => {
    await Promise.allSettled(
      [bundle, other, bundle, other].map((each) => writeBundle(target, each, { as })),
    );
    expect((await verifyAt(target)).ok).toBe(true);
    expect(await readdir(folder)).toEqual(["run.upheld"]);
  });

  test(
    "killed at random moments, the name holds a whole bundle or nothing",
    { timeout: 120_000 },
    async () => {
      const rounds = process.env["UPHELD_SOAK"] === "1" ? 200 : 10;
      let swept = 0;
      for (let round = 0; round < rounds; round += 1) {
        const inside = join(folder, `${round}`);
        await mkdir(inside);
        const digests = await writeAndKill(join(inside, "run.upheld"), as);
        const { removed, kept } = await sweepTemporary(inside);
        swept += removed.length;
        expect(kept).toEqual([]);
        await expectWholeOrNothing(inside, digests);
      }
      // Most of the time goes into writing, so most kills leave something to sweep.
      expect(swept).toBeGreaterThan(0);
    },
  );
});

/** Lets a program write bundles until it is killed at a random moment; the digests that it may have written. */
async function writeAndKill(path: string, as: string): Promise<readonly string[]> {
  const program = fileURLToPath(new URL("../worlds/bundle-writer.mjs", import.meta.url));
  const child = spawn(process.execPath, [program, path, as], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = await once(child.stdout.setEncoding("utf8"), "data");
  await pause(Math.random() * 60);
  child.kill("SIGKILL");
  await once(child, "exit");
  return String(line).trim().split(" ");
}

async function expectWholeOrNothing(inside: string, digests: readonly string[]): Promise<void> {
  for (const name of await readdir(inside)) {
    expect(name).toBe("run.upheld");
    const answer = await verifyAt(join(inside, name));
    expect(answerOf(answer)).toBe("intact");
    expect(digests).toContain(answer.ok ? answer.digest : "");
  }
}

describe("sweepTemporary", () => {
  test("removes what is left, names it, and touches nothing else", async () => {
    const dead = spawnSync(process.execPath, ["-e", ""]).pid;
    const left = `.upheld-tmp-${dead}-0123456789abcdef`;
    const ofOwnNumber = `.upheld-tmp-${process.pid}-0123456789abcdef`;
    const ofLiving = `.upheld-tmp-${process.ppid}-0123456789abcdef`;
    await mkdir(join(folder, left, "blobs/sha256"), { recursive: true });
    await writeFile(join(folder, left, "oci-layout"), "{");
    for (const name of [ofOwnNumber, ofLiving, ".upheld-tmp-1-x", "run.upheld"]) {
      await writeFile(join(folder, name), "");
    }
    expect(await sweepTemporary(folder)).toEqual({
      removed: [left, ofOwnNumber].toSorted(),
      restored: [],
      kept: [ofLiving],
    });
    expect((await readdir(folder)).toSorted()).toEqual(
      [ofLiving, ".upheld-tmp-1-x", "run.upheld"].toSorted(),
    );
  });

  test("puts a directory back that was moved aside, unless another took its place", async () => {
    await writeBundle(join(folder, aside(1)), bundle, { as: "directory" });
    expect(await sweepTemporary(folder)).toEqual({
      removed: [],
      restored: ["run.upheld"],
      kept: [],
    });
    await writeBundle(join(folder, aside(2)), other, { as: "directory" });
    expect(await sweepTemporary(folder)).toEqual({ removed: [aside(2)], restored: [], kept: [] });
    expect((await verifyAt(target, bundle.digest)).ok).toBe(true);
  });

  test("leaves alone what this process is writing", async () => {
    const writing = writeBundle(target, bundle, { as: "directory" });
    const sweeps = [];
    while (!existsSync(target)) sweeps.push(await sweepTemporary(folder));
    await writing;
    expect(sweeps.flatMap(({ removed }) => removed)).toEqual([]);
    expect((await verifyAt(target)).ok).toBe(true);
  });
});

describe("tools that know nothing of this package", () => {
  const hasTools = ["tar", "sha256sum"].every(
    (tool) => spawnSync(tool, ["--version"]).status === 0,
  );

  test("tar unpacks the file into a directory that verifies, and lists it plainly", async (context) => {
    context.skip(!hasTools, "tar or sha256sum is not installed");
    await writeBundle(target, bundle, { as: "tar" });
    const inside = join(folder, "unpacked");
    await mkdir(inside);
    execFileSync("tar", ["-xf", target, "-C", inside]);
    expect((await verifyAt(inside, bundle.digest)).ok).toBe(true);
    const listed = execFileSync("tar", ["-tf", target], { encoding: "utf8" }).trim().split("\n");
    expect(listed).toEqual(bundle.files.map(({ name }) => name));
  });

  test("sha256sum checks the parts, tolerates a withheld one, and names a changed one", async (context) => {
    context.skip(!hasTools, "tar or sha256sum is not installed");
    await writeBundle(target, bundle, { as: "directory" });
    const intact = sum(target);
    expect(intact.code).toBe(0);
    expect(intact.out.trim().split("\n")).toHaveLength(5);
    expect(intact.out).toContain(`${blobName(bundle.digest)}: OK`);
    await writeFile(join(target, blobName(bundle.digest)), "{}");
    expect(sum(target)).toMatchObject({ code: 1 });
    expect(sum(target).out).toContain(`${blobName(bundle.digest)}: FAILED`);
  });
});

describe("hostile things on the disk", () => {
  const blob = `blobs/sha256/${"0".repeat(64)}`;
  const make = async (): Promise<void> => writeBundle(target, bundle, { as: "directory" });
  const cases: readonly [string, () => Promise<unknown>, string][] = [
    ["a stray file", () => writeFile(at(".DS_Store"), ""), "entry_refused at .DS_Store"],
    [
      "a temporary file",
      () => writeFile(at(".upheld-tmp-1-0123456789abcdef"), ""),
      "entry_refused at .upheld-tmp-1-0123456789abcdef",
    ],
    ["a stray folder", () => mkdir(at("blobs/sha512")), "entry_refused at blobs/sha512"],
    ["a folder named as a blob", () => mkdir(at(blob)), `entry_refused at ${blob}`],
    [
      "a link to a file outside",
      () => symlink("/etc/passwd", at(blob)),
      `entry_refused at ${blob}`,
    ],
    ["a link to a folder", () => symlink("/", at("blobs/x")), "entry_refused at blobs/x"],
    ["a blob that is a link to itself", () => symlink(blob, at(blob)), `entry_refused at ${blob}`],
    ["a pipe", async () => execFileSync("mkfifo", [at(blob)]), `entry_refused at ${blob}`],
    ["a stray blob", () => writeFile(at(blob), ""), `file_unexpected at ${blob}`],
    [
      "a stray blob by hard link",
      () => link(at("index.json"), at(blob)),
      `file_unexpected at ${blob}`,
    ],
    ["no index", () => rm(at("index.json")), "file_missing at index.json"],
    [
      "no folder of blobs",
      () => rm(at("blobs"), { recursive: true }),
      `file_missing at ${blobName(bundle.digest)}`,
    ],
    [
      "nothing at all",
      () => rm(target, { recursive: true }).then(() => mkdir(target)),
      "file_missing at index.json",
    ],
    [
      "an index of 10 GB",
      () => truncate(at("index.json"), 10 * 1024 ** 3),
      "limit_exceeded at index.json",
    ],
    [
      "a statement of 10 GB",
      () => truncate(at(blobName(bundle.digest)), 10 * 1024 ** 3),
      `limit_exceeded at ${blobName(bundle.digest)}`,
    ],
    [
      "a part of 10 GB",
      () => truncate(at(firstPart()), 10 * 1024 ** 3),
      `limit_exceeded at ${firstPart()}`,
    ],
    ["a name with a line break", () => writeFile(at("a\nb"), ""), "entry_refused at a?b"],
  ];

  test.each(cases)("a directory with %s", async (_name, spoil, want) => {
    await make();
    await spoil();
    expect(answerOf(await verifyAt(target))).toBe(want);
  });

  test("a tar file that claims a part of 8 GB is refused at once", async () => {
    const tar = Buffer.from(tarOf(bundle.files));
    await writeFile(target, tar);
    await using file = await open(target, "r+");
    await file.write("77777777777\0", 124);
    expect(answerOf(await verifyAt(target))).toBe("container_invalid at the header of oci-layout");
  });

  test("more files than may be read are not even listed", async () => {
    await make();
    const limits = { ...BUNDLE_LIMITS, maxFiles: 3 };
    await using reader = await openBundle(target, { limits });
    expect(await reader.list()).toMatchObject({ ok: false, reason: "limit_exceeded" });
  });

  test("what is no file or directory, or is not there, is an error", async () => {
    execFileSync("mkfifo", [target]);
    expect(await refusalOf(openBundle(target))).toBe(
      "bundle_invalid: DIR/run.upheld is neither a file nor a directory",
    );
    expect(await refusalOf(openBundle(join(folder, "none")))).toBe(
      "file_unreadable: cannot read DIR/none: ENOENT",
    );
  });

  function firstPart(): string {
    const [part] = bundle.statement.predicate.parts;
    return part !== undefined && "digest" in part ? blobName(part.digest) : "";
  }
});

test("a tar file written is byte for byte the canonical one", async () => {
  await writeBundle(target, bundle, { as: "tar" });
  expect(Buffer.from(tarOf(bundle.files)).equals(await readFile(target))).toBe(true);
});
