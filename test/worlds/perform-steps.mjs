// Performs the steps of a case in the working directory: node perform-steps.mjs STEPS.json
import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { Client } from "pg";

const performers = {
  write(step) {
    mkdirSync(dirname(step.write), { recursive: true });
    writeFileSync(step.write, contentOf(step));
  },
  symlink: (step) => symlinkSync(step.to, step.symlink),
  mkdir: (step) => mkdirSync(step.mkdir, { recursive: true }),
  chmod: (step) => chmodSync(step.chmod, Number.parseInt(step.mode, 8)),
  fifo: (step) => execFileSync("mkfifo", [step.fifo]),
  utime: (step) => utimesSync(step.utime, new Date(step.to), new Date(step.to)),
  sh: (step) => execFileSync("sh", ["-c", step.sh], { stdio: "inherit" }),
  sql: (step) => execute(step.sql),
  call: (step) => appendFileSync(process.env.UPHELD_CALLS, `${JSON.stringify(step.call)}\n`),
  say: (step) => process.stdout.write(`${step.say}\n`),
};

/** One statement in the database that the environment names. */
async function execute(statement) {
  const client = new Client({ connectionString: process.env.CASE_DATABASE });
  await client.connect();
  await client.query(statement);
  await client.end();
}

function contentOf(step) {
  if (step.base64 !== undefined) return Buffer.from(step.base64, "base64");
  if (step.repeat !== undefined) return step.repeat[0].repeat(step.repeat[1]);
  return step.text;
}

for (const step of JSON.parse(readFileSync(process.argv[2], "utf8"))) {
  const kind = Object.keys(performers).find((name) => name in step);
  if (kind === undefined) throw new Error(`no performer for ${JSON.stringify(step)}`);
  await performers[kind](step);
}
