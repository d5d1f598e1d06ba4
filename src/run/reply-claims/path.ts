/** A path as a reply names it. `certain` is false where only a change that fits can tell that it is one. */
export interface PathMention {
  readonly path: string;
  readonly certain: boolean;
}

/** Whether a piece stands in running text, in quotes or in backticks. */
type Written = "bare" | "quote" | "code";

const words = (text: string): ReadonlySet<string> => new Set(text.split(" "));

/** Endings of files that are named without a folder in running text. */
const EXTENSIONS = words(
  "txt md mdx rst adoc pdf doc docx odt rtf tex csv tsv xls xlsx ods ppt pptx json jsonl ndjson json5 yaml yml toml ini cfg conf config env properties xml html htm xhtml css scss sass less svg png jpg jpeg gif webp bmp ico tif tiff mp3 wav ogg flac mp4 mov avi mkv webm js mjs cjs jsx ts mts cts tsx vue svelte py pyi ipynb rb go rs java kt kts scala swift c h cc cpp cxx hpp cs fs php pl lua r jl ex exs erl hs clj sql sh bash zsh fish ps1 bat cmd dockerfile tf hcl proto graphql gql wasm lock log out err dat bin db sqlite sqlite3 parquet arrow feather avro pkl npy npz pt onnx zip tar gz tgz bz2 xz zst 7z rar jar war whl deb rpm pem crt key csr pub gpg asc patch diff bak tmp old orig map snap eml ics vcf srt vtt ttf otf woff woff2 eot psd ai sketch fig drawio dot plist gradle cmake mk make lst tpl tmpl j2 ejs hbs",
);

/** Names with such an ending that are programs, projects or sites. */
const PRODUCTS = words(
  "node.js vue.js next.js nuxt.js react.js express.js three.js d3.js chart.js ember.js backbone.js angular.js nest.js socket.io p5.js alpine.js solid.js discord.js docs.rs lib.rs bun.sh transfer.sh nvm.sh asp.net vb.net",
);

/** Endings that stand for a site, not a file. */
const DOMAINS = words(
  "com org net io ai dev app co edu gov mil info biz me us uk de fr eu ch at nl jp cn in br ru ca au land cloud tech online site xyz test example localhost local internal",
);

/** Files that are known by their whole name. */
const NAMES = words(
  "makefile dockerfile jenkinsfile vagrantfile procfile gemfile rakefile brewfile justfile containerfile",
);

/** First folders of absolute paths that are no routes of a service. */
const SYSTEM_FOLDERS = words(
  "etc tmp home var usr opt root mnt srv workspace workspaces users private data bin lib dev proc media volumes",
);

/** Characters that stand in code, patterns and commands, not in paths that someone names. */
const FOREIGN = /[<>|$={}*?"`;&,\p{Cc}]|\(\)|:\/\//u;
const NO_PATH = /^[@-]|^www[.]|^\s|\s$|^[^/]*@[^/]*$/;
const ANCHORED = /^(?:\.\/|~\/|[A-Za-z]:\/)/;
const VERSION = /^v?\d+(?:\.\d+)+(?:[-+][\w.]+)?$/i;
const EXTENSION = /[^./\\]\.(?<ending>[A-Za-z0-9]{1,10})$/;
const LINE_NUMBER = /(?::\d{1,7}){1,2}$|#L\d{1,7}(?:-L?\d{1,7})?$/;

/** Tells whether a piece of a reply names a path. Bare words need more to show for it than quoted ones and code. */
export function classifyPath(text: string, written: Written): PathMention | undefined {
  const path = text.replace(LINE_NUMBER, "");
  if (!couldBePath(path, written)) return undefined;
  const unix = path.includes("/") ? path : path.replaceAll("\\", "/");
  const mention = unix.startsWith("./") ? unix.slice(2) : unix;
  if (mention === "") return undefined;
  const certainty = certaintyOf(unix, written);
  return certainty === undefined ? undefined : { path: mention, certain: certainty };
}

function couldBePath(path: string, written: Written): boolean {
  if (path === "" || FOREIGN.test(path) || VERSION.test(path) || NO_PATH.test(path)) return false;
  if (written === "bare" && /[\s[\]()]/.test(path)) return false;
  const segments = segmentsOf(path);
  return segments.some((segment) => /\p{L}/u.test(segment)) && !startsWithSite(path, segments);
}

function segmentsOf(path: string): readonly string[] {
  return path.split(/[/\\]/).filter((segment) => segment !== "" && segment !== ".");
}

/** "example.com", "docs.example.org/a.html" */
function startsWithSite(path: string, [first = ""]: readonly string[]): boolean {
  if (path.startsWith("/") || path.startsWith(".") || path.startsWith("~")) return false;
  const ending = /\.(?<ending>[a-z]{2,8})(?::\d+)?$/i.exec(first)?.groups?.["ending"];
  if (ending === undefined || !DOMAINS.has(ending.toLowerCase())) return false;
  return first !== path || !EXTENSIONS.has(ending.toLowerCase());
}

/** Undefined where it is no path after all. */
function certaintyOf(path: string, written: Written): boolean | undefined {
  const segments = segmentsOf(path);
  const last = segments.at(-1) ?? "";
  if (segments.includes("..")) return false;
  if (/\s/.test(path)) return spacedCertainty(last, written);
  if (ANCHORED.test(path) || isSystemPath(path, segments) || isKnownName(last)) return true;
  const ending = endingOf(last);
  if (ending !== undefined) return certaintyOfEnding(path, ending, written);
  return certaintyOfFolder(path, written);
}

function certaintyOfFolder(path: string, written: Written): boolean | undefined {
  if (written !== "bare") return path.endsWith("/");
  return path.endsWith("/") ? false : undefined;
}

function endingOf(name: string): string | undefined {
  return EXTENSION.exec(name)?.groups?.["ending"]?.toLowerCase();
}

function isKnownName(name: string): boolean {
  return NAMES.has(name.toLowerCase()) || /^\.[a-z][\w.-]+$/i.test(name);
}

function isSystemPath(path: string, segments: readonly string[]): boolean {
  return (
    path.startsWith("/") &&
    segments.length > 1 &&
    SYSTEM_FOLDERS.has((segments[0] ?? "").toLowerCase())
  );
}

function certaintyOfEnding(path: string, ending: string, written: Written): boolean | undefined {
  if (PRODUCTS.has(path.toLowerCase())) return false;
  if (EXTENSIONS.has(ending)) return true;
  if (path.includes("/")) return written !== "bare" || path.startsWith("/");
  return written === "bare" ? undefined : false;
}

/** `cat out.txt` is a command; "my report.pdf" is a file. */
function spacedCertainty(last: string, written: Written): boolean | undefined {
  const ending = endingOf(last);
  if (ending === undefined || !EXTENSIONS.has(ending)) return undefined;
  if (last.split(/\s+/).length > 8) return undefined;
  return written === "quote";
}
