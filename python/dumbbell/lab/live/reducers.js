// Reduction of a run by each form, by name; runs in the worker.
import { reduceBucket } from "./bucket_run.js";
import { reduceClimb } from "./climb_run.js";
import { reduceCrowd } from "./crowd_run.js";
import { reduceEllipse } from "./ellipse_run.js";
import { reduceTank } from "./tank_run.js";
import { won } from "./crossing.js";

/** @type {Record<string, (engine: import("./columns.js").Columns, described: any, order: import("./columns.js").Order) =>
 *   {numbers: Record<string, number>, series: Record<string, any>}>} */
export const REDUCERS = {
  climb: reduceClimb, tank: reduceTank, crowd: reduceCrowd, bucket: reduceBucket,
  ellipse: reduceEllipse,
};

/** Numbers of each arm computed from the complete runs of all, from their series.
 * @type {Record<string, (series: Record<string, any>[]) => Record<string, number>[]>} */
export const TOGETHER = { crowd: won };
