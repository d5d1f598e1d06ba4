import { builtinModules } from "node:module";
import { posix } from "node:path";
import { parseSync } from "vite";

/** A file of the sources: its path below `src` with `/` between, and its text. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

export interface Project {
  readonly files: readonly SourceFile[];
  /** Paths of the files behind the package's `exports`. */
  readonly entries: ReadonlySet<string>;
  /** Which folders each folder may import, besides itself. */
  readonly mayImport: Readonly<Record<string, readonly string[] | "all">>;
}

/** Answers what is wrong with one file; nothing when all is well. */
export type Rule = (file: SourceFile, project: Project) => readonly string[];

interface Node {
  readonly type: string;
  readonly [field: string]: unknown;
}

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && typeof Reflect.get(value, "type") === "string";

/** The same answer for the same file, worked out once: every rule asks again for every file. */
function once<Answer>(answer: (file: SourceFile) => Answer): (file: SourceFile) => Answer {
  const known = new WeakMap<SourceFile, { answer: Answer }>();
  return (file) => {
    const held = known.get(file) ?? { answer: answer(file) };
    known.set(file, held);
    return held.answer;
  };
}

const parse = once((file) => {
  const parsed = parseSync(file.path, file.text);
  const [error] = parsed.errors;
  if (error !== undefined) throw new Error(`${file.path} does not parse: ${error.message}`);
  return parsed;
});

const nodesOf = once((file) => {
  const nodes: Node[] = [];
  const waiting: unknown[] = [parse(file).program];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (Array.isArray(next)) waiting.push(...next);
    if (!isNode(next)) continue;
    nodes.push(next);
    waiting.push(...Object.values(next).filter((value) => typeof value === "object"));
  }
  return nodes;
});

const importingNodes = new Set([
  "ImportDeclaration",
  "ExportNamedDeclaration",
  "ExportAllDeclaration",
  "ImportExpression",
  "TSImportType",
]);

/** What a file imports, in every form: static, type only, re-export, dynamic, `import("x").T`. */
export const importsOf = once((file) => {
  const requests = nodesOf(file)
    .filter((node) => importingNodes.has(node.type))
    .map((node) => node["source"])
    .filter((source) => isNode(source))
    .map((source) => source["value"])
    .filter((value) => typeof value === "string");
  return [...new Set(requests)].toSorted();
});

const isRelative = (request: string): boolean => request.startsWith(".");
const resolveFrom = (file: SourceFile, request: string): string =>
  posix.join(posix.dirname(file.path), request);

/** The folder right below `src`, or "" for a file that lies in `src` itself. */
export const folderOf = (path: string): string =>
  path.includes("/") ? path.slice(0, path.indexOf("/")) : "";

const importsExistingFiles: Rule = (file, { files }) =>
  importsOf(file)
    .filter((request) => isRelative(request))
    .map((request) => resolveFrom(file, request))
    .filter((target) => !files.some(({ path }) => path === target))
    .map((target) => `imports ${target}, which is no file of src`);

const importsPointDown: Rule = (file, { mayImport }) => {
  const folder = folderOf(file.path);
  if (folder === "") return file.path === "index.ts" ? [] : ["only index.ts may lie in src itself"];
  const allowed = mayImport[folder];
  if (allowed === undefined) return [`folder ${folder} is not in the table of imports`];
  if (allowed === "all") return [];
  return importsOf(file)
    .filter((request) => isRelative(request))
    .map((request) => resolveFrom(file, request))
    .filter((target) => folderOf(target) !== folder && !allowed.includes(folderOf(target)))
    .map((target) => `imports ${target}: ${folder} may import ${[folder, ...allowed].join(", ")}`);
};

const importsPackageByPath: Rule = (file) =>
  importsOf(file)
    .filter((request) => request === "upheld" || request.startsWith("upheld/"))
    .map((request) => `imports ${request}: inside src, import the file`);

/** The shortest way from a file back to itself along relative imports, types included. */
const hasNoCycle: Rule = (file, { files }) => {
  const byPath = new Map(files.map((other) => [other.path, other]));
  const cameFrom = new Map<string, string>();
  const waiting = [file.path];
  for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
    const current = byPath.get(path);
    if (current === undefined) continue;
    for (const request of importsOf(current).filter((one) => isRelative(one))) {
      const target = resolveFrom(current, request);
      if (target === file.path) return [`import cycle: ${wayBack(file.path, path, cameFrom)}`];
      if (cameFrom.has(target)) continue;
      cameFrom.set(target, path);
      waiting.push(target);
    }
  }
  return [];
};

function wayBack(start: string, end: string, cameFrom: ReadonlyMap<string, string>): string {
  const way = [start];
  for (let path: string | undefined = end; path !== undefined && path !== start;) {
    way.unshift(path);
    path = cameFrom.get(path);
  }
  return [start, ...way].join(" -> ");
}

const pureFolders = new Set(["core", "scorers", "evidence", "report"]);
const builtins = new Set(builtinModules);

const importsNoNodeModule: Rule = (file) =>
  pureFolders.has(folderOf(file.path))
    ? importsOf(file)
        .filter((request) => request.startsWith("node:") || builtins.has(request))
        .map((request) => `imports ${request}: ${folderOf(file.path)} runs outside Node too`)
    : [];

/** Names of the runtime that give time, chance or Node; `*` stands for every member. */
const impureMembers: Readonly<Record<string, readonly string[]>> = {
  Date: ["now"],
  Math: ["random"],
  performance: ["*"],
  process: ["*"],
  crypto: ["getRandomValues", "randomUUID"],
  AbortSignal: ["timeout"],
  Temporal: ["Now"],
  Buffer: ["*"],
};
const impureCalls = new Set(["Date", "setTimeout", "setInterval", "setImmediate", "require"]);

const nameOf = (node: unknown): string | undefined =>
  isNode(node) && node.type === "Identifier" && typeof node["name"] === "string"
    ? node["name"]
    : undefined;

function impureMember(node: Node): string | undefined {
  const inner = isNode(node["object"]) ? node["object"] : undefined;
  // globalThis.process.env: the object is itself a member of globalThis.
  const viaGlobal =
    inner?.type === "MemberExpression" && nameOf(inner["object"]) === "globalThis"
      ? nameOf(inner["property"])
      : undefined;
  const object = nameOf(inner) ?? viaGlobal ?? "";
  const members = Object.hasOwn(impureMembers, object) ? impureMembers[object] : undefined;
  const member = memberName(node);
  if (members === undefined) return undefined;
  return members.includes("*") || members.includes(member) ? `${object}.${member}` : undefined;
}

/** The name after the dot, or the text in the brackets. */
function memberName(node: Node): string {
  const property = node["property"];
  if (isNode(property) && typeof property["value"] === "string") return property["value"];
  return nameOf(property) ?? "";
}

function impureUse(node: Node): string | undefined {
  if (node.type === "MemberExpression") return impureMember(node);
  if (node.type === "CallExpression") {
    const name = nameOf(node["callee"]);
    return name !== undefined && impureCalls.has(name) ? `${name}()` : undefined;
  }
  if (node.type === "NewExpression" && nameOf(node["callee"]) === "Date") {
    const given = node["arguments"];
    return Array.isArray(given) && given.length === 0 ? "new Date()" : undefined;
  }
  if (node.type === "TSTypeReference") {
    return nameOf(node["typeName"]) === "Buffer" ? "the type Buffer" : undefined;
  }
  return undefined;
}

const usesNoClockOrChance: Rule = (file) =>
  pureFolders.has(folderOf(file.path))
    ? nodesOf(file)
        .map((node) => impureUse(node))
        .filter((use) => use !== undefined)
        .map((use) => `uses ${use}: time, chance and Node arrive as arguments`)
    : [];

const reExportsNothing: Rule = (file, { entries }) => {
  if (entries.has(file.path)) return [];
  const { staticImports, staticExports } = parse(file).module;
  const imported = new Set(
    staticImports.flatMap(({ entries: names }) => names.map(({ localName }) => localName.value)),
  );
  return staticExports
    .flatMap(({ entries: names }) => names)
    .filter(
      ({ moduleRequest, localName }) =>
        moduleRequest !== null || (localName.name !== null && imported.has(localName.name)),
    )
    .map(({ exportName }) => `re-exports ${exportName.name ?? "*"}: only exports entries may`);
};

const hasNoDefaultExport: Rule = (file) =>
  parse(file)
    .module.staticExports.flatMap(({ entries }) => entries)
    .filter(({ exportName }) => exportName.kind === "Default" || exportName.name === "default")
    .map(() => "has a default export");

const maxLines = 300;
const isShort: Rule = (file) => {
  const lines = file.text.split("\n").length - (file.text.endsWith("\n") ? 1 : 0);
  return lines > maxLines ? [`has ${lines} lines: name the second noun in it and split`] : [];
};

const kebabCase = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const emptyNames = /(?:^|-)(?:utils?|helpers?|manager|service)$|^(?:types|base|common|misc)$/;

const isWellNamed: Rule = (file, { entries }) => {
  const parts = file.path.replace(/\.(?:ts|mjs)$/, "").split("/");
  const name = parts.at(-1) ?? "";
  const odd = parts.filter((part) => !kebabCase.test(part));
  return [
    ...odd.map((part) => `${part} is not kebab-case`),
    ...(emptyNames.test(name) ? [`${name} names no thing: use the noun or verb inside`] : []),
    ...(name === "index" && !entries.has(file.path) ? ["index.ts is for exports entries"] : []),
  ];
};

/** A source stands alone: what two of them need lies in `sources/` itself or in `core`. */
const importsNoSiblingSource: Rule = (file) => {
  const own = sourceOf(file.path);
  if (own === undefined) return [];
  return importsOf(file)
    .filter((request) => isRelative(request))
    .map((request) => resolveFrom(file, request))
    .filter((target) => ![undefined, own].includes(sourceOf(target)))
    .map((target) => `imports ${target}: one source may not import another`);
};

const sourceOf = (path: string): string | undefined => /^sources\/([^/]+)\//.exec(path)?.[1];

const comparisons = new Set(["===", "!==", "==", "!="]);

/** What a file compares or switches on, as `owner.member`, or just the name. */
function decidesOn(file: SourceFile): { owner: string | undefined; name: string }[] {
  return nodesOf(file)
    .flatMap((node) => {
      if (node.type === "SwitchStatement") return [node["discriminant"]];
      const compared =
        node.type === "BinaryExpression" && comparisons.has(String(node["operator"]));
      return compared ? literalComparison(node["left"], node["right"]) : [];
    })
    .filter((node) => isNode(node))
    .map((node) =>
      node.type === "MemberExpression"
        ? { owner: ownerName(node["object"]), name: memberName(node) }
        : { owner: undefined, name: nameOf(node) ?? "" },
    );
}

const isText = (node: unknown): boolean => isNode(node) && typeof node["value"] === "string";

/** The side that is compared with a fixed text; two values compared with each other are no branch on a kind. */
function literalComparison(left: unknown, right: unknown): unknown[] {
  if (isText(right)) return [left];
  return isText(left) ? [right] : [];
}

function ownerName(node: unknown): string | undefined {
  return isNode(node) && node.type === "MemberExpression" ? memberName(node) : nameOf(node);
}

const branchesOnNoSurface: Rule = (file) =>
  folderOf(file.path) === "sources"
    ? []
    : decidesOn(file)
        .filter(({ name }) => name === "surface")
        .map(() => "branches on a surface: make what it needs a declared property");

const branchesOnNoCondition: Rule = (file) =>
  folderOf(file.path) === "scorers" || file.path === "core/condition.ts"
    ? []
    : decidesOn(file)
        .filter(({ owner, name }) => owner === "condition" && name === "kind")
        .map(() => "branches on a condition outside its scorer: make it a declared property");

/** Every rule by the claim it makes. */
export const rules = {
  "imports only files that exist": importsExistingFiles,
  "imports point down the table": importsPointDown,
  "imports its own package by path": importsPackageByPath,
  "is in no import cycle": hasNoCycle,
  "imports no Node module where it must run anywhere": importsNoNodeModule,
  "reads no clock and no chance where it must be pure": usesNoClockOrChance,
  "re-exports nothing unless it is an exports entry": reExportsNothing,
  "has no default export": hasNoDefaultExport,
  "has at most 300 lines": isShort,
  "is named by its noun or verb": isWellNamed,
  "imports no sibling source": importsNoSiblingSource,
  "branches on no surface outside sources": branchesOnNoSurface,
  "branches on no condition outside scorers": branchesOnNoCondition,
} satisfies Record<string, Rule>;

export type RuleName = keyof typeof rules;

/** All that is wrong with a file, each fault with the rule it breaks. */
export function faultsOf(file: SourceFile, project: Project): string[] {
  return Object.entries(rules).flatMap(([claim, rule]) =>
    rule(file, project).map((fault) => `${claim}: ${fault}`),
  );
}
