// The forms of picture by name; views.js defines a form.
import { bucket } from "./bucket_view.js";
import { climb } from "./climb_view.js";
import { crowd } from "./crowd_view.js";
import { ellipse } from "./ellipse_view.js";
import { tank } from "./tank_view.js";

/** @type {Record<string, import("./views.js").View>} */
export const FORMS = { climb, tank, crowd, bucket, ellipse };
