// @ts-check
// Runs one check function in a process of its own: the question on standard input, the answer on standard output. Whatever the
// function prints goes to standard error.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const question = JSON.parse(readFileSync(0, "utf8"));
const answer = process.stdout.write.bind(process.stdout);
process.stdout.write = process.stderr.write.bind(process.stderr);

/** What the function looked at: its answer is worth no more than this evidence. */
const read = new Set();

/**
 * @param {string} kind
 * @param {unknown} value
 */
function noted(kind, value) {
  return {
    enumerable: true,
    get() {
      read.add(kind);
      return value;
    },
  };
}

/** @param {readonly unknown[]} calls */
function notedCalls(calls) {
  return new Proxy(calls, {
    get(target, key, receiver) {
      read.add("calls");
      return Reflect.get(target, key, receiver);
    },
  });
}

/** @param {any} world */
function viewOf(world) {
  const view = {
    /** @param {string} path */
    file(path) {
      read.add("files");
      return world.files[path.includes(":/") ? path : `workspace:/${path.replace(/^\/+/, "")}`];
    },
    /** @param {string} [name] */
    state(name) {
      read.add("tables");
      return name === undefined ? world.state : world.state[name];
    },
  };
  for (const kind of ["files", "tables", "changes", "reply"])
    Object.defineProperty(view, kind, noted(kind, world[kind]));
  return view;
}

async function run() {
  const module = await import(pathToFileURL(question.file).href);
  const check = module.check ?? module.default;
  if (typeof check !== "function")
    return { value: "broken", reason: "it exports no function check, and none as its default" };
  const said = await check(viewOf(question.world), notedCalls(question.calls));
  if (said === null || said === true) return { value: "held" };
  if (said === false)
    return { value: "not_held", reason: "the check returned false and gave no reason" };
  if (typeof said === "string")
    return said.trim() === "" ? { value: "held" } : { value: "not_held", reason: said };
  const what = said === undefined ? "nothing" : Array.isArray(said) ? "a list" : typeof said;
  return {
    value: "broken",
    reason: `it returned ${what}; expected null where it holds, or a text that says why not`,
  };
}

/** @param {unknown} error */
function broken(error) {
  const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return { value: "broken", reason };
}

const result = await run().catch(broken);
answer(`${JSON.stringify({ ...result, read: [...read], nonce: question.nonce })}\n`, () =>
  process.exit(0),
);
