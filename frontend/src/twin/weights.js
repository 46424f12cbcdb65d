/* Read the weights of a trained model from the file that tfm_lib.engine.trained wrote (safetensors).
   read(bytes) → Map of name → { shape, numbers }, a Float32Array; 8-bit rows are multiplied by their scales            */

const SCALES = ".scales";
const HEAD = 8; // bytes of the length of the header

const KINDS = { I8: Int8Array, F32: Float32Array, F16: Uint16Array };

export function read(bytes) {
  const length = Number(new DataView(bytes.buffer, bytes.byteOffset, HEAD).getBigUint64(0, true));
  const table = JSON.parse(new TextDecoder().decode(bytes.subarray(HEAD, HEAD + length)));
  const body = HEAD + length;
  const raw = (name) => {
    const { dtype, data_offsets: [begin, end] } = table[name];
    const own = bytes.slice(body + begin, body + end); // copied, since typed arrays need aligned offsets
    return new KINDS[dtype](own.buffer);
  };
  const found = new Map();
  for (const [name, { dtype, shape }] of Object.entries(table)) {
    if (name === "__metadata__" || name.endsWith(SCALES)) continue;
    const stored = raw(name);
    const numbers = dtype === "I8" ? scaled(stored, raw(name + SCALES)) : dtype === "F16" ? Float32Array.from(stored, half) : stored;
    found.set(name, { shape, numbers });
  }
  return found;
}

/* Multiply each row by its scale. */
function scaled(stored, scales) {
  const numbers = new Float32Array(stored.length);
  const wide = stored.length / scales.length;
  for (let i = 0; i < scales.length; i++) {
    for (let j = i * wide; j < (i + 1) * wide; j++) numbers[j] = stored[j] * scales[i];
  }
  return numbers;
}

/* Decode 16 bits: a sign, five of exponent, ten of fraction. */
function half(bits) {
  const [sign, exponent, fraction] = [bits >> 15 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -24 * fraction);
}
