/* What a page loads on its reader's wish, as globalThis.tfmPlayground: course(heard) starts a worker; see course.js. */

import code from "playground-worker"; // worker.js as text: a page from a folder may start a worker only from that
import { Course } from "./course.js";

const start = () => new Worker(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));

export const course = (heard) => new Course(start(), heard);
