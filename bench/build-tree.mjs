// Builds the same tree for the same number of files, everywhere: node bench/build-tree.mjs DIR FILES
import { closeSync, mkdirSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const FILE_BYTES = 2048;
const DIRECTORY_SIZES = [2, 5, 12, 30, 60, 240];
const EXTENSIONS = [".txt", ".md", ".json", ".ts", ".log", ""];
const WORDS = "order refund ledger agent reply status folder invoice note draft total".split(" ");
const RARE_WORDS = ["café", "größe", "値段"];

/** Texts to search for: in every file, in one of ten, in none. */
export const NEEDLES = {
  all: "upheld-bench-in-every-file",
  tenth: "upheld-bench-in-one-of-ten",
  none: "upheld-bench-in-no-file",
};

function randomNumbers(seed) {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Yields `{ index, directory, path }` for each file; a larger tree begins with the files of a smaller one. */
export function* layout(files) {
  const random = randomNumbers(42);
  const directories = ["."];
  let index = 0;
  while (index < files) {
    // The smaller of two draws keeps most files four to eight directories deep.
    const parent = directories[Math.min(random(directories.length), random(directories.length))];
    const number = directories.length;
    const directory = join(parent, number % 25 === 0 ? `.cache ${number}` : `part-${number}`);
    directories.push(directory);
    for (
      let left = DIRECTORY_SIZES[random(DIRECTORY_SIZES.length)];
      left > 0 && index < files;
      left -= 1
    ) {
      yield {
        index,
        directory,
        path: join(directory, `file-${index}${EXTENSIONS[random(EXTENSIONS.length)]}`),
      };
      index += 1;
    }
  }
}

function textPool() {
  const random = randomNumbers(7);
  let text = "";
  while (text.length < 65536) {
    const words = random(400) === 0 ? RARE_WORDS : WORDS;
    text += words[random(words.length)] + (random(12) === 0 ? "\n" : " ");
  }
  return Buffer.from(text);
}

const pool = textPool();
const buffer = Buffer.alloc(FILE_BYTES);

/** The bytes of a file, valid until the next call. The needle stands past the middle, so that a search has to read. */
export function contentOf(index) {
  const start = (index * 977) % (pool.length - FILE_BYTES);
  pool.copy(buffer, 0, start, start + FILE_BYTES);
  // Characters cut by the ends and the inserted lines would make the file binary.
  repairEnds(0, FILE_BYTES);
  insert(`file ${index}\n`, 0);
  insert(`\n${NEEDLES.all}\n`, 1400);
  if (index % 10 === 3) insert(`\n${NEEDLES.tenth}\n`, 1600);
  return buffer;
}

function insert(text, at) {
  const length = buffer.write(text, at, "latin1");
  repairEnds(0, at);
  repairEnds(at + length, FILE_BYTES);
}

function repairEnds(from, to) {
  for (let at = from; at < to && (buffer[at] & 0xc0) === 0x80; at += 1) buffer[at] = 0x2e;
  for (let at = to - 1; at >= from && buffer[at] >= 0x80; at -= 1) buffer[at] = 0x2e;
}

export function writeContent(path, bytes) {
  const handle = openSync(path, "w");
  writeSync(handle, bytes);
  closeSync(handle);
}

export function buildTree(root, files) {
  mkdirSync(root, { recursive: true });
  let made = "";
  for (const { index, directory, path } of layout(files)) {
    if (directory !== made) mkdirSync(join(root, directory));
    made = directory;
    writeContent(join(root, path), contentOf(index));
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [root, files] = process.argv.slice(2);
  buildTree(root, Number(files));
}
