import { array, assert, constantFrom, property, string } from "fast-check";
import picomatch from "picomatch/posix.js";
import { describe, expect, test } from "vitest";
import { exactGlob, MAX_ALTERNATIVES, parseGlob } from "../../src/core/glob.ts";
import { parseLocator } from "../../src/core/locator.ts";

const rows: readonly { pattern: string; yes: readonly string[]; no: readonly string[] }[] = [
  { pattern: "/a.txt", yes: ["/a.txt"], no: ["/a_txt", "/b/a.txt", "/a.txt/b"] },
  { pattern: "/*", yes: ["/a", "/.hidden", "/a b", "/-"], no: ["/a/b"] },
  {
    pattern: "/data/*.txt",
    yes: ["/data/a.txt", "/data/.txt"],
    no: ["/data/a.md", "/data/b/a.txt"],
  },
  { pattern: "/**", yes: ["/a", "/a/b", "/.a/.b"], no: [] },
  { pattern: "/data/**", yes: ["/data/a", "/data/.github/ci.yml"], no: ["/data", "/database"] },
  { pattern: "/**/a", yes: ["/a", "/x/a", "/x/y/a"], no: ["/a/b", "/xa"] },
  { pattern: "/a/**/b", yes: ["/a/b", "/a/x/b", "/a/x/y/b"], no: ["/a/x", "/b"] },
  { pattern: "/**/a/**", yes: ["/a/x", "/y/a/x"], no: ["/a", "/y/a"] },
  { pattern: "/**/**", yes: ["/a", "/a/b"], no: [] },
  { pattern: "/a**b", yes: ["/ab", "/axxb"], no: ["/a/b"] },
  { pattern: "/?", yes: ["/a", "/\u00FC", "/u\u0308", "/\u{1F600}"], no: ["/ab"] },
  { pattern: "/[a-c]x", yes: ["/ax", "/cx"], no: ["/dx", "/-x"] },
  { pattern: "/[!a-c]x", yes: ["/dx"], no: ["/ax"] },
  { pattern: "/[^a]", yes: ["/b"], no: ["/a"] },
  { pattern: "/[]a]", yes: ["/]", "/a"], no: ["/b"] },
  { pattern: "/[a-]", yes: ["/a", "/-"], no: ["/b"] },
  { pattern: "/[*]", yes: ["/*"], no: ["/a"] },
  { pattern: "/a]", yes: ["/a]"], no: [] },
  { pattern: "/my-*.log", yes: ["/my-1.log"], no: ["/my1.log"] },
  { pattern: "/a+(b)*", yes: ["/a+(b)"], no: ["/abb"] },
  { pattern: "/{a,b}/*.{md,txt}", yes: ["/a/x.md", "/b/x.txt"], no: ["/c/x.md"] },
  { pattern: "/{a,b/c}/x", yes: ["/a/x", "/b/c/x"], no: ["/b/x"] },
  { pattern: "/{a,{b,c}}", yes: ["/a", "/b", "/c"], no: [] },
  { pattern: "/{a}", yes: ["/{a}"], no: ["/a"] },
  { pattern: "/{a", yes: ["/{a"], no: [] },
  { pattern: "/x{,.bak}", yes: ["/x", "/x.bak"], no: [] },
  { pattern: "/\u00FC*", yes: ["/\u00FCb", "/u\u0308b"], no: ["/ub"] },
  { pattern: "/u\u0308", yes: ["/\u00FC"], no: ["/u"] },
  { pattern: "/A", yes: ["/A"], no: ["/a"] },
  { pattern: "/a\nb*", yes: ["/a\nbc"], no: [] },
];

describe("a pattern", () => {
  test.each(
    rows.flatMap(({ pattern, yes, no }) => [
      ...yes.map((path) => [pattern, "names", path] as const),
      ...no.map((path) => [pattern, "does not name", path] as const),
    ]),
  )("%j %s %j", (pattern, verb, path) => {
    expect(parseGlob(pattern).matches(`workspace:${path}`)).toBe(verb === "names");
  });

  test.each(["/[", "/[z-a]", "/a[b", "/../a", "/a/", ""])("%j is refused", (pattern) => {
    expect(() => parseGlob(pattern)).toThrow(
      expect.objectContaining({ code: expect.stringMatching(/glob_invalid|locator_invalid/) }),
    );
  });

  test("names nothing of another root", () => {
    expect(parseGlob("data:/**").matches("workspace:/a")).toBe(false);
  });

  test("may expand to so many alternatives and no more", () => {
    const two = "{a,b}".repeat(8);
    expect(2 ** 8).toBe(MAX_ALTERNATIVES);
    expect(parseGlob(`/${two}`).matches("workspace:/abababab")).toBe(true);
    expect(() => parseGlob(`/${two}{a,b}`)).toThrow(
      expect.objectContaining({ code: "glob_invalid" }),
    );
  });

  test("with many stars does not take long over a name made for it", () => {
    const glob = parseGlob(`/${"*a".repeat(12)}b`);
    // Backtracking over this name would outlast the time that a test has.
    expect(glob.matches(`workspace:/${"a".repeat(255)}`)).toBe(false);
  });

  test("agrees with picomatch on whole paths", () => {
    const name = string({
      unit: constantFrom("a", "b", ".", "-", "x"),
      minLength: 1,
      maxLength: 4,
    }).filter((text) => !/^\.+$/.test(text));
    const part = array(constantFrom("a", "b", ".", "-", "x", "*", "?", "[ab]", "[^a]", "[a-x]"), {
      minLength: 1,
      maxLength: 4,
    })
      .map((parts) => parts.join(""))
      // Two stars within a name and a name of dots mean something else there; `[!a]` does not negate.
      .filter((text) => !text.includes("**") && !/^\.+$/.test(text));
    const pattern = array(constantFrom("**", "part"), { minLength: 1, maxLength: 4 }).chain(
      (kinds) =>
        array(part, { minLength: kinds.length, maxLength: kinds.length }).map((parts) =>
          kinds.map((kind, index) => (kind === "**" ? "**" : (parts[index] ?? "a"))).join("/"),
        ),
    );
    const path = array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join("/"));
    let matched = 0;
    assert(
      property(pattern, path, (pattern, path) => {
        // A last `**` is everything beneath, and not the directory itself.
        const strict = pattern
          .replace(/(?:^|\/)\*\*$/, (end) => `${end}/*`)
          .replaceAll(/(\*\*\/)+/g, "**/");
        const theirs = picomatch(strict, {
          dot: true,
          strictSlashes: true,
          noextglob: true,
          nonegate: true,
          nobrace: true,
        })(path);
        const ours = parseGlob(`/${pattern}`).matches(`workspace:/${path}`);
        if (ours) matched += 1;
        expect(ours, `${pattern} over ${path}`).toBe(theirs);
      }),
      { numRuns: 5_000 },
    );
    expect(matched).toBeGreaterThan(300);
  });
});

describe("a walk", () => {
  test("knows where it may lead on, and where all beneath is named", () => {
    const glob = parseGlob("/data/**/x/*");
    const at = (...names: string[]) => glob.reach(names);
    expect(
      [at(), at("data"), at("data", "a"), at("other"), at("data", "x", "y")].map((progress) =>
        glob.leadsOn(progress),
      ),
    ).toEqual([true, true, true, false, true]);
    expect(glob.coversBeneath(at("data", "x"))).toBe(false);
    const whole = parseGlob("/{data/**,out/*}");
    expect(
      [["data"], ["data", "a"], ["out"], ["x"]].map((names) =>
        whole.coversBeneath(whole.reach(names)),
      ),
    ).toEqual([true, true, false, false]);
  });

  test("may match beneath exactly where it leads on", () => {
    const names = array(constantFrom("a", "b", "c"), { maxLength: 4 });
    const patterns = constantFrom(
      "/a/*",
      "/a/**",
      "/**/b",
      "/a/**/c/*",
      "/{a/b,b/*}",
      "/*/b",
      "/a",
    );
    assert(
      property(
        patterns,
        names,
        array(constantFrom("a", "b", "c"), { minLength: 1, maxLength: 3 }),
        (pattern, above, beneath) => {
          const glob = parseGlob(pattern);
          if (glob.matches(`workspace:/${[...above, ...beneath].join("/")}`))
            expect(glob.leadsOn(glob.reach(above))).toBe(true);
          if (glob.coversBeneath(glob.reach(above)))
            expect(glob.matches(`workspace:/${[...above, ...beneath].join("/")}`)).toBe(true);
        },
      ),
      { numRuns: 3_000 },
    );
  });
});

describe("an exact location", () => {
  test.each(["/a*b", "/[a]", "/{a,b}", "/**/x", "/a?"])("%j stands for itself", (path) => {
    expect(exactGlob(path).matches(`workspace:${path}`)).toBe(true);
    expect(exactGlob(path).matches("workspace:/a")).toBe(false);
  });
});

describe("a locator", () => {
  test.each([
    ["/a", "workspace:/a"],
    ["a", "workspace:/a"],
    ["workspace:/a", "workspace:/a"],
    ["data:a/b", "data:/a/b"],
    ["data://a//./b", "data:/a/b"],
    ["./a", "workspace:/a"],
    ["/a:b", "workspace:/a:b"],
    ["/...", "workspace:/..."],
  ])("%j is spelled %j", (text, want) => {
    expect(parseLocator(text).text).toBe(want);
    expect(parseLocator(want).text).toBe(want);
  });

  test.each([
    "",
    "/",
    "workspace:/",
    "/..",
    "/a/../b",
    "a\0b",
    "a\\b",
    "C:/a",
    "c:a",
    "1x:/a",
    "/a/",
    "/a/.",
    ".",
    ":/a/..",
  ])("%j is refused", (text) => {
    expect(() => parseLocator(text)).toThrow(expect.objectContaining({ code: "locator_invalid" }));
  });
});
