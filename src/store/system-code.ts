/** The system's name for what went wrong, such as "ENOSPC", or else the error's message. */
export function systemCode(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  return "code" in error && typeof error.code === "string" ? error.code : error.message;
}
