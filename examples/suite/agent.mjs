// A small agent: it reads what it is asked on standard input, and works in its directory.
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";

const asked = readFileSync(0, "utf8");

if (asked.includes("Refund order 42")) {
  const orders = JSON.parse(readFileSync("orders.json", "utf8"));
  orders["42"].status = "refunded";
  writeFileSync("orders.json", `${JSON.stringify(orders)}\n`);
  const call = { name: "refund", arguments: { order: 42 }, result: { ok: true }, outcome: "ok" };
  appendFileSync(process.env.UPHELD_CALLS, `${JSON.stringify(call)}\n`);
  process.stdout.write("Order 42 is refunded.\n");
} else {
  process.stdout.write("I am sorry, I cannot do that.\n");
}
