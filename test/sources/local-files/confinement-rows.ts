import { linkSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execFileSync } from "node:child_process";
import type { GapCode } from "../../../src/core/gap.ts";
import type { VerdictValue } from "../../../src/core/verdict.ts";
import type { Question } from "../../worlds/observe-tree.ts";
import { NEEDLE, OUTSIDE, type TreeWorld } from "../../worlds/tree.ts";

// The list of confinement questions, lines 1-14, 18, 20, 28, 33-40, 45-49: "does any file under the root hold NEEDLE?"
// Outside always holds it; inside does not, unless said. The world is made by the run, after the baseline.

export interface ConfinementRow {
  readonly id: string;
  readonly world: string;
  readonly make: (world: TreeWorld) => void;
  readonly ask?: Question;
  readonly want: VerdictValue;
  readonly gaps?: readonly GapCode[];
  /** The locations of the witnesses. */
  readonly at?: readonly string[];
  /** Outside data is the file's own content here: the link is a hard one. */
  readonly mayHoldOutside?: boolean;
}

export const NFC = "caf\u00e9";
export const NFD = "cafe\u0301";

/** A path as bytes, for names that are not UTF-8. */
export const bytesAt = (world: TreeWorld, name: string): Buffer =>
  Buffer.concat([Buffer.from(`${world.root}/`), Buffer.from(name, "latin1")]);

const utf16le = (text: string): Buffer => Buffer.from(text, "utf16le");

export const confinementRows: readonly ConfinementRow[] = [
  {
    id: "L01",
    world: "a file link that leads out",
    make: (world) => {
      symlinkSync(world.secret("s.txt"), world.at("link"));
    },
    want: "undetermined",
    gaps: ["link_outside_root"],
  },
  {
    id: "L01",
    world: "a relative file link that leads out",
    make: (world) => {
      world.secret("s.txt");
      symlinkSync("../outside/s.txt", world.at("link"));
    },
    want: "undetermined",
    gaps: ["link_outside_root"],
  },
  {
    id: "L01",
    world: "a link that leads out to what is not there",
    make: (world) => {
      symlinkSync("../outside/none", world.at("link"));
    },
    want: "undetermined",
    gaps: ["link_outside_root"],
  },
  {
    id: "L02",
    world: "a file link to a file inside that holds it",
    make: (world) => {
      world.write("real.txt", NEEDLE);
      symlinkSync("real.txt", world.at("link"));
    },
    want: "upheld",
    at: ["workspace:/link", "workspace:/real.txt"],
  },
  {
    id: "L03",
    world: "a file link to a clean file inside",
    make: (world) => {
      world.write("real.txt");
      symlinkSync("real.txt", world.at("link"));
    },
    want: "refuted",
  },
  {
    id: "L04",
    world: "a directory link that leads out",
    make: (world) => {
      world.secret("d/s.txt");
      symlinkSync(join(world.outside, "d"), world.at("link"));
    },
    want: "undetermined",
    gaps: ["link_outside_root"],
  },
  {
    id: "L04",
    world: "a file behind a directory link that leads out, by a pattern",
    make: (world) => {
      world.secret("d/s.txt");
      symlinkSync(join(world.outside, "d"), world.at("link"));
    },
    ask: { uri: "workspace:/link/*.txt" },
    want: "undetermined",
    gaps: ["link_outside_root"],
  },
  {
    id: "L05",
    world: "a directory link to a directory inside",
    make: (world) => {
      world.write("d/a.txt");
      symlinkSync("d", world.at("link"));
    },
    want: "refuted",
  },
  {
    id: "L05",
    world: "a directory link to a directory inside that the pattern does not cover",
    make: (world) => {
      world.write("d/a.txt", NEEDLE);
      world.directory("asked");
      symlinkSync("../d", world.at("asked", "link"));
    },
    ask: { uri: "workspace:/asked/**" },
    want: "undetermined",
    gaps: ["link_not_followed"],
  },
  {
    id: "L06",
    world: "a link to its own directory",
    make: (world) => {
      world.write("a.txt");
      symlinkSync(".", world.at("loop"));
    },
    want: "refuted",
  },
  {
    id: "L07",
    world: "a link to itself",
    make: (world) => {
      symlinkSync("self", world.at("self"));
    },
    want: "undetermined",
    gaps: ["dangling_link"],
  },
  {
    id: "L07",
    world: "a link to nothing",
    make: (world) => {
      symlinkSync("none", world.at("link"));
    },
    want: "undetermined",
    gaps: ["dangling_link"],
  },
  {
    id: "L08",
    world: "a chain of 41 links",
    make: (world) => {
      world.write("end", NEEDLE);
      for (let at = 0; at < 41; at += 1)
        symlinkSync(at === 40 ? "end" : `l${at + 1}`, world.at(`l${at}`));
    },
    ask: { uri: "workspace:/l0", match: "exact" },
    want: "undetermined",
    gaps: ["dangling_link"],
  },
  {
    id: "L08",
    world: "a chain of 40 links",
    make: (world) => {
      world.write("end", NEEDLE);
      for (let at = 0; at < 40; at += 1)
        symlinkSync(at === 39 ? "end" : `l${at + 1}`, world.at(`l${at}`));
    },
    ask: { uri: "workspace:/l0", match: "exact" },
    want: "upheld",
    at: ["workspace:/l0"],
  },
  {
    id: "L09",
    world: "an exact location behind a linked parent that leads out",
    make: (world) => {
      world.secret("d/s.txt");
      symlinkSync(join(world.outside, "d"), world.at("parent"));
    },
    ask: { uri: "workspace:/parent/s.txt", match: "exact" },
    want: "undetermined",
    gaps: ["link_outside_root"],
  },
  {
    id: "L09",
    world: "an exact location behind a linked parent inside",
    make: (world) => {
      world.write("d/s.txt", NEEDLE);
      symlinkSync("d", world.at("parent"));
    },
    ask: { uri: "workspace:/parent/s.txt", match: "exact" },
    want: "undetermined",
    gaps: ["link_not_followed"],
  },
  {
    id: "L11",
    world: "a link with a slash behind its target",
    make: (world) => {
      world.secret("d/s.txt");
      symlinkSync("../outside/d/", world.at("link"));
    },
    want: "undetermined",
    gaps: ["link_outside_root"],
  },
  {
    id: "L13",
    world: "an absolute locator",
    make: (world) => {
      world.write("data/x", NEEDLE);
    },
    ask: { uri: "/data/x", match: "exact" },
    want: "upheld",
    at: ["workspace:/data/x"],
  },
  {
    id: "L14",
    world: "a link into a sibling whose name starts like the root's",
    make: (world) => {
      mkdirSync(`${world.root}-evil`);
      writeFileSync(`${world.root}-evil/s.txt`, `${NEEDLE} ${OUTSIDE}`);
      symlinkSync(`${world.root}-evil/s.txt`, world.at("link"));
    },
    want: "undetermined",
    gaps: ["link_outside_root"],
  },
  {
    id: "L28",
    world: "a hard link to an outside file",
    make: (world) => {
      linkSync(world.secret("s.txt"), world.at("hard"));
    },
    want: "upheld",
    at: ["workspace:/hard"],
    mayHoldOutside: true,
  },
  {
    id: "L33",
    world: "a directory whose name is not UTF-8, with the needle inside",
    make: (world) => {
      mkdirSync(bytesAt(world, "d\xff"));
      writeFileSync(bytesAt(world, "d\xff/f\xfe"), NEEDLE);
    },
    want: "upheld",
    at: [String.raw`workspace:/d\xff/f\xfe`],
  },
  {
    id: "L34",
    world: "a directory whose name is not UTF-8, clean",
    make: (world) => {
      mkdirSync(bytesAt(world, "d\xff"));
      writeFileSync(bytesAt(world, "d\xff/f\xfe"), "clean");
    },
    want: "refuted",
  },
  {
    id: "L35",
    world: "composed and decomposed twins",
    make: (world) => {
      world.write(NFC, NEEDLE);
      world.write(NFD, NEEDLE);
    },
    want: "upheld",
    at: [`workspace:/${NFD}`, `workspace:/${NFC}`],
  },
  {
    id: "L36",
    world: "upper and lower case, asked in the other case",
    make: (world) => {
      world.write("A.TXT", NEEDLE);
    },
    ask: { uri: "workspace:/a.txt", match: "exact" },
    want: "refuted",
  },
  {
    id: "L36",
    world: "upper and lower case twins",
    make: (world) => {
      world.write("A.TXT", NEEDLE);
      world.write("a.txt");
    },
    want: "upheld",
    at: ["workspace:/A.TXT"],
  },
  {
    id: "L37",
    world: "a name of 255 bytes",
    make: (world) => {
      world.write("n".repeat(255), NEEDLE);
    },
    want: "upheld",
    at: [`workspace:/${"n".repeat(255)}`],
  },
  {
    id: "L38",
    world: "newline, backslash, quote, ESC and a mark of right-to-left in names",
    make: (world) => {
      world.write('a\nb\\c"d\u001b[31m\u202e', NEEDLE);
    },
    want: "upheld",
    at: [`workspace:/a\nb\\x5cc"d\u001b[31m\u202e`],
  },
  ...["...", "..x", " ", "dot.", "space "].map((name): ConfinementRow => ({
    id: "L39",
    world: `the name ${JSON.stringify(name)}`,
    make: (world) => {
      world.write(name, NEEDLE);
    },
    ask: { uri: `workspace:/${name}`, match: "exact" },
    want: "upheld",
    at: [`workspace:/${name}`],
  })),
  {
    id: "L40",
    world: "characters of patterns in an exact location",
    make: (world) => {
      world.write("a*[b]{c,d}?", NEEDLE);
      world.write("axb", "clean");
    },
    ask: { uri: "workspace:/a*[b]{c,d}?", match: "exact" },
    want: "upheld",
    at: ["workspace:/a*[b]{c,d}?"],
  },
  {
    id: "L40",
    world: "an exact location with a star, where only what the star would match is there",
    make: (world) => {
      world.write("axb", NEEDLE);
    },
    ask: { uri: "workspace:/a*", match: "exact" },
    want: "refuted",
  },
  {
    id: "L45",
    world: "the needle across the border of a chunk",
    make: (world) => {
      const content = Buffer.alloc(3 << 20, "x");
      content.write(NEEDLE, (1 << 20) - 3);
      world.write("large.txt", content);
    },
    want: "upheld",
    at: ["workspace:/large.txt"],
  },
  {
    id: "L45",
    world: "the needle across the cut of what is kept",
    make: (world) => {
      const content = Buffer.alloc(1_500_000, "x");
      content.write(NEEDLE, 999_997);
      world.write("large.txt", content);
    },
    want: "upheld",
    at: ["workspace:/large.txt"],
  },
  ...(["utf-16le", "utf-16be"] as const).flatMap((encoding) =>
    [true, false].map((marked): ConfinementRow => ({
      id: "L46",
      world: `${encoding} ${marked ? "with" : "without"} a mark`,
      make: (world) => {
        const bytes = utf16le(`${marked ? "\ufeff" : ""}some text, ${NEEDLE}, more text`);
        world.write("text.txt", encoding === "utf-16be" ? bytes.swap16() : bytes);
      },
      want: "upheld",
      at: ["workspace:/text.txt"],
    })),
  ),
  {
    id: "L47",
    world: "the needle in binary content",
    make: (world) => {
      world.write("data.bin", Buffer.concat([Buffer.of(0, 255, 1, 0, 2), Buffer.from(NEEDLE)]));
    },
    want: "upheld",
    at: ["workspace:/data.bin"],
  },
  {
    id: "L48",
    world: "the needle inside a compressed file",
    make: (world) => {
      world.write("a.txt", NEEDLE);
      execFileSync("gzip", [world.at("a.txt")]);
    },
    want: "undetermined",
    gaps: ["not_text"],
  },
  {
    id: "L49",
    world: "an empty file",
    make: (world) => {
      world.write("empty", "");
    },
    want: "refuted",
  },
];
