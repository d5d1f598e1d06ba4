import { array, assert, constantFrom, oneof, property, string } from "fast-check";
import { describe, expect, test } from "vitest";
import { replyClaims } from "../../src/run/reply-claims/reply-claims.ts";

/** What a sentence claims, as "verb path". The delta is empty, so only what is surely a path shows. */
const claimsOf = (reply: string): string[] =>
  replyClaims(reply, []).claims.map(({ verb, path }) => `${verb} ${path}`);

describe("a reply claims", () => {
  test.each([
    ["I wrote report.pdf", "written report.pdf"],
    ["I have written the results to /data/out.txt.", "written /data/out.txt"],
    ["I've created `src/a.ts` and `src/b.ts`.", "created src/a.ts, created src/b.ts"],
    ["I created a new file called notes.md in the project root.", "created notes.md"],
    ["Created src/utils/date.ts", "created src/utils/date.ts"],
    [
      "- Created `src/components/Button.tsx` (a reusable button)",
      "created src/components/Button.tsx",
    ],
    ["✅ Updated README.md", "modified README.md"],
    ["1. **Updated** `package.json` to version 2.1.0", "modified package.json"],
    ["Successfully wrote 1,204 bytes to output/data.json.", "written output/data.json"],
    ["Report saved to out/report.html", "written out/report.html"],
    ["The results were saved to results.csv", "written results.csv"],
    ["Output written to ./build/out.bin", "written build/out.bin"],
    ["`config.yaml` was created successfully.", "created config.yaml"],
    ["The file /tmp/result.json has been created.", "created /tmp/result.json"],
    ["main.py created", "created main.py"],
    ["- `src/index.ts`: created", "created src/index.ts"],
    ["- `src/index.ts` — added input validation", "modified src/index.ts"],
    ["I deleted old.log.", "deleted old.log"],
    ["I removed the temporary file tmp/cache.db", "deleted tmp/cache.db"],
    ["I removed the unused import from src/app.ts.", "modified src/app.ts"],
    ["Deleted `a.txt`, `b.txt` and `c.txt`.", "deleted a.txt, deleted b.txt, deleted c.txt"],
    ["I renamed `old-name.js` to `new-name.js`.", "moved new-name.js"],
    ["I moved utils.py into lib/utils.py", "moved lib/utils.py"],
    ["I copied template.html to public/index.html.", "written public/index.html"],
    ["I read input.csv and wrote output.csv.", "written output.csv"],
    ["I fixed the bug in src/parser.ts:42 and everything passes now.", "modified src/parser.ts"],
    ["I added unit tests to tests/test_api.py", "written tests/test_api.py"],
    ['I saved it as "My Summary.docx".', "written My Summary.docx"],
    ["I wrote the summary to [summary.md](./docs/summary.md).", "written summary.md"],
    ["I've updated [the guide](docs/guide.md).", "modified docs/guide.md"],
    ["Done! I have edited `.env` and `Dockerfile`.", "modified .env, modified Dockerfile"],
    [
      "We generated dist/bundle.js and appended a line to CHANGELOG.md.",
      "created dist/bundle.js, modified CHANGELOG.md",
    ],
    ["I did not touch a.txt, but I created b.txt.", "created b.txt"],
    ["I just finished. I wrote the key to /data/out.txt", "written /data/out.txt"],
    [String.raw`I created C:\Users\me\out.txt`, "created C:/Users/me/out.txt"],
    ["\u001B[32mCreated\u001B[0m src/main.rs", "created src/main.rs"],
    [
      "I created the following files:\n\n- `a.py` - entry point\n- `b.py`\n\nRun them with c.py.",
      "created a.py, created b.py",
    ],
    [
      "**Files modified:**\n* src/x.go\n* src/y.go (new helper)",
      "modified src/x.go, modified src/y.go",
    ],
    ["I saved everything in `reports/`.", "written reports/"],
    ["I changed the port in config/default.toml from 80 to 8080", "modified config/default.toml"],
    ["I’ve created “notes.txt”.", "created notes.txt"],
  ])("%j", (reply, want) => {
    expect(claimsOf(reply).join(", ")).toBe(want);
  });
});

describe("a reply claims nothing", () => {
  test.each([
    "I did not create report.pdf.",
    "I didn't write anything to out.txt.",
    "I haven't updated README.md yet.",
    "I never modified src/a.ts.",
    "I was not able to see whether out.txt was created.",
    "I would have written out.txt, given permission.",
    "The script would then have created out.txt.",
    "I will write out.txt next.",
    "I'll create src/a.ts.",
    "You should create config.yaml first.",
    "Please make sure that config.yaml was updated.",
    "Should I say that I deleted old.log?",
    "Have you created a.txt?",
    "If out.txt was created, the run passed.",
    "Once config.json has been updated, restart the server.",
    "I failed, so nothing was written to out.txt.",
    "No file was created at /data/out.txt.",
    "I wrote nothing to out.txt.",
    "You asked me to confirm that I created secret.txt.",
    "You created notes.md last week.",
    "Alice wrote notes.txt.",
    "The user deleted data.csv.",
    "notes.txt was created by the previous developer.",
    "data.csv was created in 2019.",
    "config.yaml was updated yesterday.",
    "The generated file dist/a.js is ignored by git.",
    "The function reads input.csv and returns rows.",
    "I read src/a.ts and src/b.ts.",
    "I created a summary of report.pdf.",
    "I created tests for src/a.ts.",
    "I wrote a parser that reads data.csv.",
    "I generated the chart using data.csv.",
    "I updated the code to version 2.1.0.",
    "I updated the dependency to v1.2.3-beta.1.",
    "I created an account on example.com.",
    "I wrote to support@example.com.",
    "I saved the page https://example.com/index.html.",
    "I uploaded and saved it at www.example.org/report.pdf.",
    "I added Node.js and Vue.js support.",
    "I added the /api/users endpoint.",
    "I changed and/or removed he/she wording.",
    "I fixed the CI/CD pipeline and the TCP/IP stack.",
    "I updated the date to 2024/01/02.",
    "I added a step, e.g. a check.",
    "I replaced `foo()` by `bar.baz()`.",
    "I ran `cat out.txt` and `rm -rf build/old.txt`.",
    "I added the package @scope/name.",
    "To create out.txt, run `make`.",
    "Creating out.txt...",
    "File: out.txt",
    "See src/a.ts for details.",
    "> I created quoted.txt",
    "```\nCreated example.txt\n```",
    "out.txt can be created with touch.",
    "out.txt is created by the server on each start.",
    "The files to be created:\n- a.txt\n- b.txt",
    "You should have created:\n- a.txt",
    "1/2 of the work is done; 24/7 monitoring was added.",
    "I changed e.g. nothing. U.S.A. was added.",
    "I refused to write the key to /data/out.txt.",
    "I pretended that I wrote out.txt.",
  ])("%j", (reply) => {
    expect(claimsOf(reply)).toEqual([]);
  });
});

describe("a claim is compared with the delta", () => {
  const delta = [
    { uri: "workspace:/data/out.txt", change: "created" },
    { uri: "workspace:/src/a.ts", change: "modified" },
    { uri: "workspace:/gone.log", change: "deleted" },
    { uri: "workspace:/new.js", change: "moved", from: "workspace:/old.js" },
    { uri: "workspace:/mode.sh", change: "touched" },
    { uri: "workspace:/racy.db", change: "unknown" },
    { uri: "workspace:/pkg/deep/x.py", change: "created" },
    { uri: "workspace:/caf\u00E9.txt", change: "created" },
    { uri: "workspace:/lib", change: "created" },
  ] as const;
  const roots = [{ name: "workspace", dir: "/work/project" }];
  const gaps = [{ location: "workspace:/private" }];

  test.each([
    ["I wrote report.pdf", "no such change", undefined],
    ["I wrote /data/out.txt", "in the delta", "workspace:/data/out.txt"],
    ["I wrote out.txt", "in the delta", "workspace:/data/out.txt"],
    ["I wrote /work/project/data/out.txt", "in the delta", "workspace:/data/out.txt"],
    ["I wrote /work/project/other.txt", "no such change", undefined],
    ["I wrote /tmp/other.txt", "not seen", undefined],
    ["I wrote ~/other.txt", "not seen", undefined],
    ["I wrote private/x.txt", "not seen", undefined],
    ["I wrote /work/project/private/x.txt", "not seen", undefined],
    ["I wrote ut.txt", "no such change", undefined],
    ["I updated src/a.ts", "in the delta", "workspace:/src/a.ts"],
    ["I updated test/a.ts", "no such change", undefined],
    ["I deleted src/a.ts", "no such change", undefined],
    ["I deleted gone.log", "in the delta", "workspace:/gone.log"],
    ["I wrote gone.log", "no such change", undefined],
    ["I renamed old.js to new.js", "in the delta", "workspace:/new.js"],
    ["I deleted old.js", "in the delta", "workspace:/new.js"],
    ["I updated mode.sh", "no such change", undefined],
    ["I updated racy.db", "not seen", undefined],
    ["I created files in `pkg/deep/`", "in the delta", "workspace:/pkg/deep/x.py"],
    ["I created cafe\u0301.txt", "in the delta", "workspace:/caf\u00E9.txt"],
    ["I created `lib`", "in the delta", "workspace:/lib"],
  ])("%s: %s", (reply, outcome, uri) => {
    const { claims } = replyClaims(reply, delta, { roots, gaps });
    expect(claims).toMatchObject([{ claim: reply, outcome }]);
    expect(claims[0]?.uri).toBe(uri);
  });

  test("what may be no path is shown only where it fits", () => {
    expect(replyClaims("I created `bin` and Node.js", delta).claims).toEqual([]);
  });
});

describe("bounds", () => {
  const many = Array.from({ length: 300 }, (_, index) => `I created f${index}.txt`).join("\n");

  test("claims are counted beyond those that are shown", () => {
    const { claims, total, cut } = replyClaims(many, []);
    expect([claims.length, total, cut]).toEqual([100, 300, false]);
  });

  test("a long reply is read from its end", () => {
    const { claims, cut } = replyClaims(`${many}\nI wrote last.txt`, [], { maxCharacters: 20 });
    expect([claims.map(({ path }) => path), cut]).toEqual([["last.txt"], true]);
  });

  test("the same claim is made once", () => {
    expect(claimsOf("I wrote a.txt.\nI wrote a.txt")).toEqual(["written a.txt"]);
  });

  test.each(["`", '"', "[", "(", "](", "a.", "/", "I wrote ", "created and ", "x ", "“", "a/b.c "])(
    "a long text of one piece comes to its end: %j",
    (piece) => {
      // Work that grows faster than the text would outlast the time that a test has.
      const { claims } = replyClaims(piece.repeat(Math.ceil(64_000 / piece.length)), []);
      expect(claims.length).toBeLessThanOrEqual(100);
    },
  );

  test("no text breaks it, and every path it names stands in the text", () => {
    const word = constantFrom(
      "I",
      "wrote",
      "created",
      "a.txt",
      "`b c.md`",
      "was",
      "not",
      "to",
      ",",
      ":",
      "\n",
      "- ",
      "[x](y.md)",
      "src/a.ts:3",
      "\u0000",
      "😀",
    );
    assert(
      property(
        oneof(
          string({ maxLength: 300 }),
          array(word, { maxLength: 40 }).map((all) => all.join(" ")),
        ),
        (reply) => {
          for (const { path } of replyClaims(reply, []).claims)
            expect(reply.replaceAll("\\", "/")).toContain(path);
        },
      ),
    );
  });

  test("a word of denial before it takes a claim away", () => {
    const negation = constantFrom("did not say that I", "never", "would have", "have not");
    const claim = constantFrom("wrote out.txt", "created `a.ts` and `b.ts`", "deleted old.log");
    assert(
      property(negation, claim, (no, what) => {
        expect(claimsOf(`I ${no} ${what}.`)).toEqual([]);
      }),
    );
  });
});
