import { createHash } from "node:crypto";
import { array, assert, constantFrom, property, string, tuple } from "fast-check";
import { describe, expect, test } from "vitest";
import { holdsMask, masksIn } from "../../src/core/mask.ts";
import { redactorOf, type Redactor } from "../../src/evidence/redactor.ts";
import { findTokens } from "../../src/run/secret-rules.ts";

const nameOf = (text: string): string =>
  createHash("sha256").update(text).digest("hex").slice(0, 12);

const redactor = (value?: string): Redactor =>
  redactorOf({
    nameOf,
    findTokens,
    secrets: value === undefined ? [] : [{ name: "API_KEY", value }],
  });

async function mask(text: string, value?: string): Promise<string> {
  const own = redactor(value);
  await own.study([text]);
  return own.mask(text);
}

/** What stands in for each mask: the rule alone. */
const told = (text: string): string =>
  text.replaceAll(/<redacted:([\w.-]+):[0-9a-f]{12}>/g, (_, rule: string) => `<${rule}>`);

const CONNECTIONS: readonly (readonly [text: string, want: string])[] = [
  [
    "dial postgres://app:p@ssw0rd-1@db.example:5432/shop failed",
    "dial postgres://app:<connection>@db.example:5432/shop failed",
  ],
  ["postgres://u:pa/ss@h/db", "postgres://u:<connection>@h/db"],
  ["postgres://u:pa#ss@h", "postgres://u:<connection>@h"],
  ["postgres://u:pa?ss@h/db", "postgres://u:<connection>@h/db"],
  ["postgres://u:sec ret@h/db", "postgres://u:<connection>@h/db"],
  ["postgres://u:p@ss word@h/db", "postgres://u:<connection>@h/db"],
  [
    "mongodb+srv://u:p@h1,h2/db?mail=a@b.example",
    "mongodb+srv://u:<connection>@h1,h2/db?mail=a@b.example",
  ],
  ["redis://:only-a-password@cache:6379", "redis://:<connection>@cache:6379"],
  ["postgres://me@corp:secret@host/db", "postgres://me@corp:<connection>@host/db"],
  ["https://user:pass@example.com/x", "https://user:<connection>@example.com/x"],
  [
    "postgresql://h/db?password=secret&sslmode=require",
    "postgresql://h/db?password=<connection>&sslmode=require",
  ],
  [
    "jdbc:postgresql://h/db?user=a&password=s3cr3t",
    "jdbc:postgresql://h/db?user=a&password=<connection>",
  ],
  [
    "jdbc:sqlserver://h;user=a;password=s3cr3t;encrypt=true",
    "jdbc:sqlserver://h;user=a;password=<connection>;encrypt=true",
  ],
  ["jdbc:oracle:thin:scott/tiger@host:1521:x", "jdbc:oracle:thin:scott/<connection>@host:1521:x"],
  [
    "host=db user=app password=hunter2 dbname=shop",
    "host=db user=app password=<connection> dbname=shop",
  ],
  ["host=db password = 'two words' dbname=shop", "host=db password = '<connection>' dbname=shop"],
  ["Server=h;Uid=a;Pwd=s3cr3t;", "Server=h;Uid=a;Pwd=<connection>;"],
  ["DB_PASSWORD=abc123 npm start", "DB_PASSWORD=<connection> npm start"],
  ['{"user":"app","password":"left\\"right"}', '{"user":"app","password":"<connection>"}'],
  [
    JSON.stringify(JSON.stringify({ password: 'le"ft\\x', user: "app" })),
    String.raw`"{\"password\":\"<connection>\",\"user\":\"app\"}"`,
  ],
  [
    '{"cause":"postgres:\\/\\/u:secret@h\\/db"}',
    '{"cause":"postgres:\\/\\/u:<connection>@h\\/db"}',
  ],
];

describe("passwords in addresses and connection strings", () => {
  test.each(CONNECTIONS)("%s", async (text, want) => {
    expect(told(await mask(text))).toBe(want);
  });
});

const PROSE: readonly string[] = [
  "The password field is required. Mail ops@example.com at 10:30, or see postgres://localhost/shop and 3@2x.png.",
  "postgres://localhost:5432/shop, then mail ops@example.com",
  "http://localhost:8080/@scope/package and https://example.com:443/a@b",
  "git@github.com:owner/name.git, user@host:/path, std::string, 10:30@noon",
  "password=process.env.PASSWORD, password=os.environ['X'], password=${PASSWORD}, PWD=/home/app",
  '{"password": null, "passwordHint": "the usual", "type": "password"}',
  "-----BEGIN PUBLIC KEY----- and the words PRIVATE KEY in a sentence",
  `sha256:${"0f".repeat(32)} ${"a".repeat(64)} 3f9a2c1e-77aa-4c1e-9a55-0123456789ab 20261130-191200-3f9a2c`,
];

describe("text without a secret stays as it is", () => {
  test.each(PROSE)("%s", async (text) => {
    expect(await mask(text, "a-declared-secret")).toBe(text);
  });
});

const ODD = 'p"a\\ss/wörd 1\nx+é';
const utf16be = (text: string): Buffer => Buffer.from(text, "utf16le").swap16();

const SPELLINGS: readonly (readonly [string, (secret: string) => string])[] = [
  ["plain", (text) => text],
  ["JSON", (text) => JSON.stringify(text)],
  ["JSON in JSON in JSON", (text) => JSON.stringify(JSON.stringify(JSON.stringify(text)))],
  [
    "JSON in ASCII",
    (text) =>
      JSON.stringify(text).replaceAll(
        /[^\0-\x7f]/g,
        (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
      ),
  ],
  ["URL", (text) => encodeURIComponent(text)],
  [
    "URL, every byte",
    (text) =>
      [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join(""),
  ],
  ["URL, twice", (text) => encodeURIComponent(encodeURIComponent(text))],
  ["a form", (text) => encodeURIComponent(text).replaceAll("%20", "+")],
  ["hex", (text) => Buffer.from(text).toString("hex")],
  ["upper hex of UTF-16", (text) => Buffer.from(text, "utf16le").toString("hex").toUpperCase()],
  ["UTF-16 little end first, as bytes", (text) => Buffer.from(text, "utf16le").toString("latin1")],
  ["UTF-16 big end first, as bytes", (text) => utf16be(text).toString("latin1")],
  ["UTF-8 as bytes", (text) => Buffer.from(text).toString("latin1")],
  ...[0, 1, 2].flatMap(
    (before) =>
      [
        [
          `base64 after ${before} bytes`,
          (text) => Buffer.from(`${"q".repeat(before)}${text}tail`).toString("base64"),
        ],
        [
          `base64url after ${before} bytes`,
          (text) => Buffer.from(`${"q".repeat(before)}${text}tail`).toString("base64url"),
        ],
        [
          `base64 of UTF-16 after ${before} bytes`,
          (text) =>
            Buffer.concat([Buffer.from("q".repeat(before)), utf16be(text)]).toString("base64"),
        ],
      ] as const satisfies readonly (readonly [string, (secret: string) => string])[],
  ),
  [
    "base64 in lines",
    (text) =>
      (
        Buffer.from(`head ${text}`)
          .toString("base64")
          .match(/.{1,16}/g) ?? []
      ).join("\r\n"),
  ],
];

describe("a declared secret, however it is spelled", () => {
  for (const secret of [ODD, "tok-AAAABBBBCCCCDDDD", "1234567890", "ключ-доступа"])
    test.each(SPELLINGS)(`${JSON.stringify(secret)} as %s`, async (_, spell) => {
      // ASCII bytes that are read as text are the text.
      const text = spell(secret);
      const masked = await mask(`before ${text} after`, secret);
      expect(masksIn(masked).length).toBeGreaterThan(0);
      expect(masked.startsWith("before ")).toBe(true);
      expect(masked.endsWith(" after")).toBe(true);
      // Of base64 a few letters may stay that hold bits of what stands before and behind.
      expect(masked.length - masksIn(masked).join("").length).toBeLessThan(14 + 14);
    });
});

describe("tokens of services, by the kept rules", () => {
  const letters = "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1eF3hJ5";
  // In pieces, so that no scanner of this repository takes them for real.
  test.each([
    ["github", ["gh", "p_", letters].join("")],
    ["slack", ["xo", "xb-123456789012-1234567890123-", letters.slice(0, 24)].join("")],
    ["npm", ["np", "m_", letters].join("")],
    ["sendgrid", ["S", "G.", letters.slice(0, 22), ".", letters, letters.slice(0, 7)].join("")],
  ])("%s", async (rule, token) => {
    const text = `the token is ${token}, and more`;
    expect(told(await mask(text))).toBe(`the token is <${rule}>, and more`);
  });

  test("one that its rule finds in part goes whole", async () => {
    const text = `aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/${letters.slice(0, 18)} # key`;
    expect(told(await mask(text))).toBe("<aws> # key");
  });

  test("in one text of many, and never across two", async () => {
    const own = redactor();
    const begin = "-----BEGIN PRIVATE KEY-----";
    const token = ["gh", "p_", letters].join("");
    const texts = [
      token.slice(0, 20),
      token.slice(20),
      `${begin} is how a key begins`,
      "-----END PRIVATE KEY-----",
      `x ${token}`,
    ];
    await own.study(texts);
    expect(texts.map((text) => told(own.mask(text)))).toEqual([...texts.slice(0, 4), "x <github>"]);
  });
});

describe("private keys", () => {
  const body = `MIIEpAIBAAKCAQEA${"b".repeat(48)}`;
  const begin = "-----BEGIN RSA PRIVATE KEY-----";
  const end = "-----END RSA PRIVATE KEY-----";
  test.each([
    [`a ${begin}\n${body}\n${body}\n${end} z`, "a <private-key> z"],
    [`a ${JSON.stringify(`${begin}\n${body}\n${end}`)} z`, 'a "<private-key>" z'],
    [`a ${begin}\n${body}\n${body.slice(0, 20)}`, "a <private-key>"],
    [
      `a ${begin}\n${body}\n${end} and ${begin}\n${body}\n${end}`,
      "a <private-key> and <private-key>",
    ],
  ])("%j", async (text, want) => {
    expect(told(await mask(text))).toBe(want);
  });
});

describe("the head of a text that was cut", () => {
  const secret = "tok-AAAABBBBCCCCDDDD";
  test.each([
    ["its first letters at the cut", `${"x".repeat(990)}${secret.slice(0, 10)}`, "tok-"],
    [
      "its first letters in base64",
      `${"x ".repeat(99)}${Buffer.from(secret).toString("base64").slice(0, 9)}`,
      Buffer.from("tok-A").toString("base64").slice(0, 6),
    ],
    [
      "an address up to the middle of its password",
      `${"x ".repeat(99)}postgres://app:p@ssw0r`,
      "ssw0r",
    ],
    [
      "a token up to its middle",
      ["x ".repeat(99), "gh", "p_", "aB3dE5gH7jK9mN1p"].join(""),
      "aB3dE5",
    ],
  ])("%s", (_, text, part) => {
    const masked = redactor(secret).maskHead(text);
    expect(masked).not.toContain(part);
    expect(holdsMask(masked)).toBe(true);
    expect(Buffer.byteLength(masked)).toBeLessThanOrEqual(Buffer.byteLength(text));
  });

  test("prose that was cut stays as it is", () => {
    const text = "The agent wrote three files and then it stop";
    expect(redactor(secret).maskHead(text)).toBe(text);
  });
});

const SECRET = 'tok-"AB/CD\\ef';
const pieces = constantFrom(
  SECRET,
  JSON.stringify(SECRET),
  encodeURIComponent(SECRET),
  Buffer.from(SECRET).toString("hex"),
  Buffer.from(`a${SECRET}`).toString("base64"),
  "postgres://u:p@ss@h/db ",
  "password=",
  "?password=x&y",
  "host=h ",
  '"password": "',
  '"',
  "@",
  ":",
  "//",
  " ",
  "<redacted:",
  "<redacted:API_KEY:0123456789ab>",
  "-----BEGIN PRIVATE KEY-----\n",
  "-----END PRIVATE KEY-----",
  ["gh", "p_", "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1eF3hJ5"].join(""),
);
const anyText = array(
  pieces.chain((piece) => tuple(constantFrom(piece), string({ maxLength: 3 }))),
  {
    maxLength: 8,
  },
).map((all) => all.flat().join(""));

test("redacting twice is redacting once", async () => {
  const texts: string[] = [];
  assert(
    property(anyText, (text) => {
      texts.push(text);
    }),
    { numRuns: 3_000 },
  );
  const once = redactor(SECRET);
  await once.study(texts);
  const masked = texts.map((text) => once.mask(text));
  const twice = redactor(SECRET);
  await twice.study(masked);
  expect(masked.filter((text) => twice.mask(text) !== text)).toEqual([]);
  expect(masked.filter((text) => text.includes(SECRET))).toEqual([]);
  expect(masked.some((text, index) => text !== texts[index])).toBe(true);
});

test("hostile texts are read in time", () => {
  const own = redactor(SECRET);
  const long = 300_000;
  for (const text of [
    "\\",
    "-----BEGIN PRIVATE KEY-----",
    "password=",
    '"password":"',
    "a://b:",
    "%25",
    "t\n",
    "MIIE\\n",
    "host=",
    "jdbc:a:b:c/",
  ])
    expect(typeof own.mask(text.repeat(Math.ceil(long / text.length)))).toBe("string");
}, 60_000);
