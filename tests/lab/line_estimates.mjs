// node line_estimates.mjs < GROUPS > ESTIMATES
// GROUPS is a list of lists of paths; each list is read as files that are dropped together, and answered by
// the estimate of their line, or {"unread": SENTENCE}. ESTIMATES is the list of answers, in JSON.
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { estimated } from "../../python/dumbbell/lab/page/line_estimate.js";
import { UnreadFile, readLine, textOf } from "../../python/dumbbell/lab/page/line_files.js";
import { linesOf } from "../../python/dumbbell/lab/page/own_line.js";

const template = JSON.parse(process.argv[2]);

async function answered(paths) {
  const files = paths.map((path) => new File([readFileSync(path)], basename(path)));
  try {
    const lines = await linesOf(files, { resolved: template, controllers: ["cubic", "bbr", "reno"] });
    const scenes = await Promise.all(files.map(async (file) => readLine(file.name, await textOf(file))));
    return { lines, estimate: scenes.some((each) => "twin" in each) ? null : estimated(scenes) };
  } catch (error) {
    if (!(error instanceof UnreadFile)) throw error;
    return { unread: error.message };
  }
}

const answers = [];
for (const paths of JSON.parse(readFileSync(0, "utf8"))) answers.push(await answered(paths));
process.stdout.write(JSON.stringify(answers));
