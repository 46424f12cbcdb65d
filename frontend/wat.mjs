/* For esbuild: `import kernel from "./kernel.wat"` gives the assembled bytes. */

import wabt from "wabt";
import { readFile } from "node:fs/promises";

export const assembled = {
  name: "wat",
  setup(build) {
    build.onLoad({ filter: /\.wat$/ }, async ({ path }) => {
      const module = (await wabt()).parseWat(path, await readFile(path), { simd: true });
      const contents = module.toBinary({}).buffer;
      module.destroy();
      return { contents, loader: "binary" };
    });
  },
};
