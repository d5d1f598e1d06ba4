import { expect, test } from "vitest";
import { failureOf } from "../../src/cli/failure.ts";
import { Interrupted } from "../../src/cli/interrupt.ts";
import { NonReplayableObservationError, UpheldError } from "../../src/core/errors.ts";

test("an error that we foresaw is one message, and advice on options only where it is about them", () => {
  expect(failureOf(new UpheldError("argument_invalid", "--root is twice"), "1.0.0")).toEqual({
    exitCode: 64,
    message: "upheld: --root is twice\n  (upheld help COMMAND shows what can be said)\n",
  });
  expect(failureOf(new NonReplayableObservationError("x is not stored"), "1.0.0")).toEqual({
    exitCode: 64,
    message: "upheld: x is not stored\n",
  });
});

test("what an error quotes cannot act on the terminal", () => {
  const { message } = failureOf(new UpheldError("file_unreadable", "no \u001b[2J here\nbut"), "1");
  expect(message).toBe("upheld: no \\u001b[2J here\n  but\n");
});

test("what we did not foresee is a bug report without paths of the host", () => {
  const cause = new Error(
    `at ${process.cwd()}/src/a.ts, open '/home/ann b/key.pem', /root/x/y.txt`,
  );
  const error = new TypeError("x is undefined", { cause });
  const { exitCode, message } = failureOf(error, "1.2.3");
  expect(exitCode).toBe(70);
  expect(message).toContain("Please report this");
  expect(message).toContain("upheld 1.2.3, Node v");
  expect(message).toContain("TypeError: x is undefined");
  expect(message).toContain("caused by Error: at src/a.ts, open '.../key.pem', .../y.txt");
  expect(message).not.toContain(process.cwd());
  expect(message).not.toMatch(/ann|\/root/);
});

test("a signal is no error of ours", () => {
  expect(failureOf(new Interrupted("SIGTERM"), "1").exitCode).toBe(143);
});

test("what the machine lacks is no error of ours", () => {
  const cause = Object.assign(new Error("too many open files"), { code: "EMFILE" });
  const { exitCode, message } = failureOf(new UpheldError("internal", "x", { cause }), "1");
  expect([exitCode, message]).toEqual([5, expect.stringContaining("ulimit -n")]);
});
