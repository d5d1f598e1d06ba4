import { existsSync } from "node:fs";
import { chromium, type Browser } from "playwright-core";

/** Where systems install Chromium. */
const PLACES = [
  process.env["CHROMIUM"] ?? "",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
];

const executablePath = PLACES.find((path) => path !== "" && existsSync(path));

export const NO_BROWSER =
  "no Chromium is installed (apt install chromium, or name one in CHROMIUM)";
export const hasBrowser = executablePath !== undefined;

/** A browser without a window. Its sandbox needs rights that a container seldom has. */
export function startBrowser(): Promise<Browser> {
  return chromium.launch({
    ...(executablePath === undefined ? {} : { executablePath }),
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
    timeout: 120_000,
  });
}
