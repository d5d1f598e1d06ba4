// A judge on standard input and output, for tests: node judge-program.mjs ANSWER [WAIT_MS]
// ANSWER: yes (cites the first message), no, open, broken, or fail. Adds a line to JUDGE_LOG for each question.
import { appendFileSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const [answer, wait = "0"] = process.argv.slice(2);
const { claims, evidence, attempt } = JSON.parse(readFileSync(0, "utf8"));
if (process.env.JUDGE_LOG !== undefined)
  appendFileSync(process.env.JUDGE_LOG, `${attempt} ${claims.map(({ id }) => id).join(",")}\n`);
await sleep(Number(wait));
if (answer === "fail") process.exit(3);
const first = evidence.find(({ kind }) => kind === "transcript");
const cites =
  answer === "yes" ? [{ evidence: first.evidence, quote: first.value.text.trim() }] : [];
const held = { yes: true, no: false, open: null, broken: "yes" }[answer];
const verdicts = claims.map(({ id }) => ({ id, held, reason: `it is ${answer}`, cites }));
process.stdout.write(`${JSON.stringify({ verdicts })}\n`);
