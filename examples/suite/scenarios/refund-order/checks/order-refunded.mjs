/** @param {import("upheld").CheckWorld} world */
export function check(world) {
  const orders = JSON.parse(world.file("orders.json")?.text ?? "{}");
  if (orders["42"]?.status !== "refunded") return `order 42 is ${orders["42"]?.status}`;
  return orders["41"]?.status === "paid" ? null : "order 41 was touched, too";
}
