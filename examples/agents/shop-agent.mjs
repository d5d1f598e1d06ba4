// @ts-check
// An agent that looks after the orders of a small shop. It has two tools; one of them asks for an order by a name that the
// database does not know, changes nothing, and reports that all went well. No model is needed.
import { appendFileSync } from "node:fs";
import Database from "libsql";

const shop = new Database(process.argv[2] ?? "shop.db");

/** Each call is written down as an agent's framework would: by its own account. @param {string} name @param {number} order */
function record(name, order) {
  const call = { name, arguments: { order_id: order }, result: "done", outcome: "ok" };
  appendFileSync(process.env["UPHELD_CALLS"] ?? "calls.jsonl", `${JSON.stringify(call)}\n`);
}

/** @param {number} order */
function refundOrder(order) {
  shop.prepare("UPDATE orders SET status = 'refunded' WHERE id = ?").run(order);
  record("refund_order", order);
}

/** @param {number} order */
function cancelOrder(order) {
  // No row has this id, and an update of no row is no error.
  shop.prepare("UPDATE orders SET status = 'cancelled' WHERE id = ?").run(`#${order}`);
  record("cancel_order", order);
}

refundOrder(17);
cancelOrder(42);
shop.close();

console.log("Order 17 is refunded, and I have cancelled order 42 for you.");
